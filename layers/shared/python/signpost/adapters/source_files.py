"""Reads YAML and JSON files of authors, with the source place of every value."""

from pathlib import Path
from typing import Any

from signpost.adapters.regular_files import read_regular_file
from signpost.records import dataclass
from signpost.workflow.authoring.source_tree import NOWHERE, SourceNode, SourcePlace, to_json

SUFFIXES = (".yaml", ".yml", ".json")
LARGEST_SOURCE = 64 * 1024 * 1024
"""Bytes of one file."""
DEEPEST = 100
"""Levels of nested values. No manifest needs as many, and the functions that walk the values recurse."""
MOST_VALUES = 1_000_000
"""Values of one file: a few lines of YAML with aliases of aliases could expand to gigabytes."""


class UnreadableFile(Exception):  # noqa: N818 - named after the failure
    """A file cannot be read or parsed. The message is a sentence for its author."""

    def __init__(self, message: str, fault: str = "", place: SourcePlace = NOWHERE) -> None:
        super().__init__(message)
        self.fault = fault or message
        """The message without the file's name, for callers that print the place themselves."""
        self.place = place


@dataclass(slots=True)
class MalformedSource(Exception):  # noqa: N818 - named after the failure
    """A text is not valid JSON or YAML at a line and column."""

    fault: str
    line: int = 1
    column: int = 1


def read_values(path: Path) -> Any:
    """Read a file's values. A name that occurs twice in a mapping is an error: one value would be lost silently."""
    return to_json(read_source(path))


def read_source(path: Path, name: str | None = None) -> SourceNode:
    """Read a file's values with their places, which name the file `name`, or its path."""
    file = name or str(path)
    try:
        text = read_regular_file(path, LARGEST_SOURCE).decode("utf-8-sig")
        return _parse_json(text, file) if path.suffix == ".json" else _parse_yaml(text, file)
    except FileNotFoundError as fault:
        raise UnreadableFile(f"There is no file {path}.", place=SourcePlace(file)) from fault
    except OSError as fault:
        raise UnreadableFile(f"{path} cannot be read: {fault.strerror}.", place=SourcePlace(file)) from fault
    except MalformedSource as fault:
        place = SourcePlace(file, fault.line, fault.column)
        message = f"{path} is not valid: {fault.fault} (line {fault.line}, column {fault.column})."
        raise UnreadableFile(message, fault.fault, place) from fault
    except UnicodeDecodeError as fault:
        message = f"it is not valid UTF-8 (at byte {fault.start})"
        raise UnreadableFile(f"{path} is not valid: {message}.", message, SourcePlace(file, 1, 1)) from fault


def _parse_json(text: str, file: str) -> SourceNode:
    from signpost.adapters.source_json import parse_json_source  # noqa: PLC0415 - few commands read a file

    return parse_json_source(text, file)


def _parse_yaml(text: str, file: str) -> SourceNode:
    from signpost.adapters.source_yaml import parse_yaml_source  # noqa: PLC0415 - slow to import, and few commands need it

    return parse_yaml_source(text, file)
