"""Paths into what an instance knows, in guards and in mappings alike."""

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
_PATH = re.compile(r"\$\.(context|arguments|workflow\.input|output)((?:\.[^.\[\]\s]+|\[\d+\])*)")
_STEP = re.compile(r"\.([^.\[\]\s]+)|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Known:
    """What values are taken from."""

    context: JsonObject
    arguments: JsonObject
    input: JsonObject
    output: Json = None
    """What the executor answered."""


@dataclass(frozen=True, slots=True)
class Path:
    scope: Scope
    steps: Sequence[str]

    def of(self, known: Known) -> Json:
        """What is there; null where nothing is."""
        found: Json = getattr(known, self.scope)
        for step in self.steps:
            found = _within(found, step)
        return found


def path_of(text: str) -> Path | None:
    """None if the text is no path."""
    if text == "$":
        return Path("output", ())
    found = _PATH.fullmatch(text)
    if found is None:
        return None
    steps = [name or index for name, index in cast("list[tuple[str, str]]", _STEP.findall(found[2]))]
    return Path(_SCOPES[found[1]], tuple(steps))


def _within(value: Json, step: str) -> Json:
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, list | tuple) and step.isascii() and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return None
