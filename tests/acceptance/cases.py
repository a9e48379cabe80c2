"""A file of cases: what is given, what is done step by step, and what is expected of each step."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEFAULT = Path(__file__).parent / "registry-cases.json"


@dataclass(frozen=True, slots=True)
class Step:
    op: str
    input: Any
    expect: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    title: str
    given: Sequence[Mapping[str, Any]]
    steps: Sequence[Step] = field(repr=False)

    def gives(self, kind: str) -> Sequence[Mapping[str, Any]]:
        return [entry for entry in self.given if kind in entry]

    def expects(self, what: str) -> bool:
        return any(what in step.expect for step in self.steps)

    @property
    def is_pure(self) -> bool:
        """It says something of a function of the product, not of a deployment."""
        return all(step.op.startswith("pure.") or step.op in ("config.load", "handshake.plan") for step in self.steps)

    @property
    def breaks_storage(self) -> bool:
        return bool(self.gives("storage"))


def load(path: Path) -> Sequence[Case]:
    """Raises ValueError for what is no such file."""
    try:
        cases = [_case(row) for row in json.loads(path.read_text("utf-8"), object_hook=expand_text)]
    except (AttributeError, KeyError, TypeError) as fault:
        raise ValueError(f"these are no cases of the registry: {fault!r}") from fault
    if len({case.id for case in cases}) < len(cases):
        raise ValueError("two cases have the same id.")
    return cases


def expand_text(member: dict[str, Any]) -> Any:
    """The string that the file writes as `$repeat` or `$concat`; the inner ones come first."""
    match member:
        case {"$repeat": [text, times]}:
            return text * times
        case {"$concat": parts}:
            return "".join(parts)
        case _:
            return member


def _case(row: Mapping[str, Any]) -> Case:
    return Case(
        row["id"], row.get("title", ""), row.get("given", []), [_step(step) for step in row.get("steps", [row])]
    )


def _step(row: Mapping[str, Any]) -> Step:
    return Step(row["op"], row.get("input", {}), row.get("expect", {}))
