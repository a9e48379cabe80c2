"""The values of warnings: a hazard in one text, and the warning about it in a publication."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from signpost.errors import WarningCode
from signpost.model import JsonObject
from signpost.records import dataclass

type EntryKind = Literal[
    "skill", "file", "prompt", "trigger", "webhook", "workflow", "capability", "connection", "function", "policy"
]
"""The kinds of entries of a publication that a warning can be about."""

MOST_WARNINGS = 200
"""The warnings that one answer lists: more would hardly be read, and might not fit."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """A hazardous part of one text, before it is known to which entry of a publication the text belongs."""

    code: WarningCode
    message: str
    line: int = 0
    """The line in the text, from 1; 0 if the text is a name or one value."""


@dataclass(frozen=True, slots=True)
class PublicationWarning:
    """A hazard of one entry of a publication. It keeps a strict publication from being published."""

    code: WarningCode
    kind: EntryKind
    id: str
    message: str
    line: int = 0

    def to_json(self) -> JsonObject:
        line: JsonObject = {"line": self.line} if self.line else {}
        return {"code": self.code, "kind": self.kind, "id": self.id, "message": self.message, **line}


def warn_about(kind: EntryKind, entry_id: str, hazards: Iterable[Hazard]) -> Iterator[PublicationWarning]:
    for hazard in hazards:
        yield PublicationWarning(hazard.code, kind, entry_id, hazard.message, hazard.line)


def describe_warning(warning: PublicationWarning) -> str:
    """Write the message of a warning with its line and code."""
    line = f"line {warning.line}: " if warning.line else ""
    return f"{line}{warning.message} [{warning.code}]"


def warnings_field(warnings: Sequence[PublicationWarning]) -> JsonObject:
    """Build the field `warnings` of an answer; empty without warnings."""
    listed = [warning.to_json() for warning in warnings[:MOST_WARNINGS]]
    return {"warnings": list[JsonObject](listed)} if listed else {}
