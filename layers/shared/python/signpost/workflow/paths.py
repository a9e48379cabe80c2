"""Paths into the values of an instance, as guards and mappings use them."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, cast

from signpost.model import Json, JsonObject
from signpost.records import dataclass

type Scope = Literal["context", "arguments", "input", "output"]

_SCOPES: Mapping[str, Scope] = {
    "context": "context",
    "arguments": "arguments",
    "workflow.input": "input",
    "output": "output",
}
SCOPE_NAMES = tuple(_SCOPES)
"""The names with which paths begin, behind `$.`."""
_PATH = re.compile(r"\$\.(context|arguments|workflow\.input|output)((?:\.[^.\[\]\s]+|\[\d+\])*)")
_STEP = re.compile(r"\.([^.\[\]\s]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class ValueSources:
    """The values that paths lead into."""

    context: JsonObject
    arguments: JsonObject
    input: JsonObject
    output: Json = None
    """The answer of the executor."""


@dataclass(frozen=True, slots=True)
class Path:
    scope: Scope
    steps: Sequence[str]

    def resolve(self, sources: ValueSources) -> Json:
        """Return the value at the path; null if there is none."""
        value: Json = getattr(sources, self.scope)
        for step in self.steps:
            value = _value_at(value, step)
        return value


def path_of(text: str) -> Path | None:
    """Parse a path; None if the text is no path."""
    if text == "$":
        return Path("output", ())
    matched = _PATH.fullmatch(text)
    if matched is None:
        return None
    steps = [name or index for name, index in cast("list[tuple[str, str]]", _STEP.findall(matched[2]))]
    return Path(_SCOPES[matched[1]], tuple(steps))


def _value_at(value: Json, step: str) -> Json:
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, list | tuple) and step.isascii() and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return None
