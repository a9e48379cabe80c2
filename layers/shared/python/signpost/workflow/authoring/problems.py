"""Errors and warnings about a manifest."""

from collections.abc import Sequence
from typing import Literal

from signpost.errors import WarningCode
from signpost.records import dataclass
from signpost.spelling import suggest_name
from signpost.workflow.authoring.source_tree import SourcePlace
from signpost.workflow.definition import Pointer

type Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """An error or warning at a place in a file. An error keeps a manifest from being published, a warning does not."""

    severity: Severity
    place: SourcePlace
    message: str
    path: tuple[str, ...] = ()
    """The states on a shortest path to the problem; for a loop, the states of one round."""
    code: WarningCode | None = None
    """The code of a warning that a strict publication refuses by any way, also by an invocation of the registry."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """A warning at a pointer into the document of a definition, before it has a place in a file."""

    at: Pointer
    message: str
    path: tuple[str, ...] = ()
    code: WarningCode | None = None


def error(place: SourcePlace, message: str) -> Problem:
    return Problem("error", place, message)


def warning(place: SourcePlace, message: str, code: WarningCode | None = None) -> Problem:
    return Problem("warning", place, message, code=code)


def suggestion_for(name: str, names: Sequence[str]) -> str:
    """Return a question for the most similar of the names, as the end of a sentence; empty if none is similar."""
    similar = suggest_name(name, names)
    return f"; did you mean {similar!r}?" if similar else ""
