"""What is wrong with a manifest, or looks wrong."""

from collections.abc import Sequence
from typing import Literal

from signpost.records import dataclass
from signpost.spelling import meant
from signpost.workflow.definition import Pointer
from signpost.workflow.written import Place

type Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """An error keeps a manifest from being published, a warning does not."""

    severity: Severity
    place: Place
    message: str
    path: Sequence[str] = ()
    """The states that lead there, by the shortest way."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A warning that knows its place in a document, and not yet in a file."""

    at: Pointer
    message: str
    path: Sequence[str] = ()


def error(place: Place, message: str) -> Problem:
    return Problem("error", place, message)


def warning(place: Place, message: str) -> Problem:
    return Problem("warning", place, message)


def or_rather(name: str, names: Sequence[str]) -> str:
    """What was probably meant, as the end of a sentence; nothing if there is nothing like it."""
    close = meant(name, names)
    return f"; did you mean {close!r}?" if close else ""
