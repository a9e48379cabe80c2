"""A file of workflow cases: definitions, callers, steps, and what is expected of each step."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from signpost.model import Principal

DEFAULT = Path(__file__).parent / "workflow-cases.json"
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
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


def load(path: Path = DEFAULT) -> Sequence[Case]:
    return [_case(row) for row in json.loads(path.read_text("utf-8"))]


def _case(row: Mapping[str, Any]) -> Case:
    return Case(
        id=row["id"],
        title=row.get("title", ""),
        requires=frozenset(row.get("requires") or ()),
        definition_id=row.get("definitionId"),
        definition=row.get("definition"),
        config=row.get("config") or {},
        steps=[_step(step) for step in row["steps"]],
    )


def _step(row: Mapping[str, Any]) -> Step:
    return Step(
        tool=row["tool"],
        args=row.get("args", {}),
        caller=row.get("as", "agent"),
        expect=row.get("expect"),
        error=row.get("expectError"),
        save=row.get("save", {}),
    )


def principals(tenant: str) -> Mapping[str, Principal]:
    """The seven callers."""

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
    }


def substituted(value: Any, saved: Mapping[str, Any]) -> Any:
    """With what earlier steps saved in the place of `{{name}}`; a whole text becomes the value itself."""
    if isinstance(value, Mapping):
        return {name: substituted(member, saved) for name, member in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    if isinstance(value, list):
        return [substituted(member, saved) for member in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(value, str):
        return value
    whole = _VARIABLE.fullmatch(value)
    if whole:
        return _valued(whole, saved)
    return _VARIABLE.sub(lambda found: str(_valued(found, saved)), value)


def _valued(found: re.Match[str], saved: Mapping[str, Any]) -> Any:
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
