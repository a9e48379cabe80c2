"""What is wrong with a manifest, or looks wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
    # Every command imports this; only somebody's mistake needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
