"""A file of workflow cases: definitions, callers, steps, and what is expected of each step."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from signpost.calling.wire_fields import WIRE_VERSION
from signpost.contract import HostedFunction
from signpost.directory.manifest import parse_manifest
from signpost.model import Principal

DEFAULT = Path(__file__).parent / "workflow-cases.json"
TIMES = ("timeoutMs", "delayMs", "initialDelayMs", "maxDelayMs", "expiresMs")
"""Members that are times wherever they stand: of definitions (timeouts, pauses of retries, expiry) and of stubs."""
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_VARIABLE = re.compile(r"\{\{(\w+)(?:([+-])(\d+))?\}\}")


@dataclass(frozen=True, slots=True)
class Step:
    tool: str
    """One of the seven, or something the player does (`$sleep`, `$stub`, …)."""
    args: Mapping[str, Any]
    caller: str = "agent"
    expect: Any = None
    error: str | None = None
    """What an error has to say, as a regular expression."""
    milliseconds: Any = None
    """What is expected of the time it takes."""
    save: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    title: str
    requires: frozenset[str]
    definition_id: str | None
    definition: Mapping[str, Any] | None
    config: Mapping[str, Any]
    steps: Sequence[Step] = field(repr=False)
    callers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Of its own, beside the seven."""
    hosts: Sequence[Mapping[str, Any]] = ()
    """The functions that an executor hosts, as its manifest describes them, each with the script that it plays."""
    documents: Mapping[str, str] = field(default_factory=dict[str, str])
    """The skill documents that are registered, by their ids."""

    @property
    def hosted(self) -> Sequence[HostedFunction]:
        functions = [{name: value for name, value in entry.items() if name != "script"} for entry in self.hosts]
        offered = {"signpost": WIRE_VERSION, "manifest": {"functions": functions}}
        return parse_manifest(json.dumps(offered).encode()).functions if functions else ()

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What an author would publish. The format leaves the version out wherever a case is not about it."""
        if self.definition is None:
            return {"version": 1, **self.config}
        workflows = {**self.config.get("workflows", {}), self.definition_id: self.definition}
        return {"version": 1, **self.config, "workflows": workflows}

    def with_other(self, args: Mapping[str, Any]) -> "Case":
        """With what the arguments of a `$check` or a `$reload` say in the place of its own."""
        return replace(
            self,
            definition_id=args.get("definitionId", self.definition_id),
            definition=args.get("definition", self.definition),
            config=args.get("config", self.config),
        )

    @property
    def sleeps(self) -> float:
        """Seconds."""
        return sum(step.args["ms"] for step in self.steps if step.tool == "$sleep") / 1000


def load(path: Path = DEFAULT, factor: float = 1) -> Sequence[Case]:
    """With all times multiplied by the factor. Raises ValueError for what is no such file."""
    try:
        cases = [_case(_multiply_times(row, factor)) for row in json.loads(path.read_text("utf-8"))]
    except (AttributeError, KeyError, TypeError) as fault:
        raise ValueError(f"these are no cases of workflows: {fault!r}") from fault
    if len({case.id for case in cases}) < len(cases):
        raise ValueError("two cases have the same id.")
    return cases


def _case(row: Mapping[str, Any]) -> Case:
    return Case(
        id=row["id"],
        title=row.get("title", ""),
        requires=frozenset(row.get("requires") or ()),
        definition_id=row.get("definitionId"),
        definition=row.get("definition"),
        config=row.get("config") or {},
        steps=[_step(step) for step in row["steps"]],
        callers=row.get("principals", {}),
        hosts=row.get("hosts", ()),
        documents=row.get("documents", {}),
    )


def _step(row: Mapping[str, Any]) -> Step:
    return Step(
        tool=row["tool"],
        args=row.get("args", {}),
        caller=row.get("as", "agent"),
        expect=row.get("expect"),
        error=row.get("expectError"),
        milliseconds=row.get("expectMs"),
        save=row.get("save", {}),
    )


def _multiply_times(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_multiply_times(one, factor) for one in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(value, dict):
        return value
    members: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType] - JSON
    slowed = {name: _multiply_member(name, member, factor) for name, member in members.items()}
    if members.get("tool") == "$sleep":
        slowed["args"] = _multiply_numbers(members["args"], factor)
    return slowed


def _multiply_member(name: str, value: Any, factor: float) -> Any:
    if name == "expectMs" or (name in TIMES and _is_number(value)):
        return _multiply_numbers(value, factor)
    return _multiply_times(value, factor)


def _multiply_numbers(value: Any, factor: float) -> Any:
    """Every number in it, whole ones to whole ones: a time in a manifest has no fractions."""
    if isinstance(value, list):
        return [_multiply_numbers(one, factor) for one in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    if isinstance(value, dict):
        return {name: _multiply_numbers(one, factor) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
    return round(value * factor) if _is_number(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def principals(case: Case, tenant: str) -> Mapping[str, Principal]:
    """The seven callers, and those of the case."""

    def caller(subject: str, *, roles: Sequence[str] = (), permissions: Sequence[str] = ()) -> Principal:
        human = "human" in roles
        return Principal(subject, tenant, "cases", frozenset(roles), frozenset(permissions), human=human)

    return {
        "agent": caller("agent-1"),
        "human": caller("alice", roles=["human"]),
        "human2": caller("bob", roles=["human"]),
        "approver": caller("carol", roles=["human"], permissions=["workflow.approve"]),
        "admin": caller("root", roles=["admin"], permissions=["write", "read"]),
        "user": caller("ursula", roles=["user"], permissions=["read"]),
        "writer": caller("walt", permissions=["write"]),
        **{name: caller(**own) for name, own in case.callers.items()},
    }


def substitute(value: Any, saved: Mapping[str, Any]) -> Any:
    """With what earlier steps saved in the place of `{{name}}`; a whole text becomes the value itself."""
    if isinstance(value, Mapping):
        return {str(substitute(name, saved)): substitute(member, saved) for name, member in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    if isinstance(value, list):
        return [substitute(member, saved) for member in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(value, str):
        return value
    whole = _VARIABLE.fullmatch(value)
    if whole:
        return _variable_value(whole, saved)
    return _VARIABLE.sub(lambda found: str(_variable_value(found, saved)), value)


def _variable_value(found: re.Match[str], saved: Mapping[str, Any]) -> Any:
    name, sign, number = found.groups()
    value = saved[name]
    return value if sign is None else value + (int(number) if sign == "+" else -int(number))


def at_path(answer: Any, path: str) -> Any:
    """What is at `$.a.b[0].c`; None if there is nothing."""
    for name, place in _STEP.findall(path):
        try:
            answer = answer[name] if name else answer[int(place)]
        except (KeyError, IndexError, TypeError):
            return None
    return answer
