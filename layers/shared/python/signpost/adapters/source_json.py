"""Parses JSON with the place of every value."""

import json
import re
from bisect import bisect_right
from typing import Any

from signpost import strict_json
from signpost.adapters.source_files import DEEPEST, MalformedSource
from signpost.records import dataclass
from signpost.workflow.authoring.source_tree import SourceNode, SourcePlace

_BLANK = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}]+')


def parse_json_source(text: str, file: str) -> SourceNode:
    """Parse a JSON text. Raises MalformedSource."""
    try:
        strict_json.parse(text)
    except json.JSONDecodeError as fault:
        raise MalformedSource(fault.msg[:1].lower() + fault.msg[1:], fault.lineno, fault.colno) from fault
    except RecursionError as fault:
        raise MalformedSource(f"values are nested more than {DEEPEST} deep") from fault
    except ValueError as fault:
        raise MalformedSource(str(fault)) from fault
    starts = [0, *(line_end.end() for line_end in re.finditer("\n", text))]
    return _Scanner(text, file, starts).read_value(0)


def _is_half(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


@dataclass(slots=True)
class _Scanner:
    """Reads a text that is known to be JSON value by value."""

    text: str
    file: str
    line_starts: list[int]
    at: int = 0

    def read_value(self, depth: int) -> SourceNode:
        self._skip_blanks()
        place = self._current_place()
        if depth > DEEPEST:
            raise MalformedSource(f"values are nested more than {DEEPEST} deep", place.line, place.column)
        match self.text[self.at]:
            case "{":
                return self._read_mapping(place, depth)
            case "[":
                return self._read_list(place, depth)
            case _:
                return SourceNode(self._read_scalar(), place)

    def _read_mapping(self, place: SourcePlace, depth: int) -> SourceNode:
        members, names = dict[str, SourceNode](), dict[str, SourcePlace]()
        while not self._skip_to_end("}"):
            name_place = self._current_place()
            name: str = self._read_scalar()
            if name in members:
                raise MalformedSource(f"{name!r} occurs twice", name_place.line, name_place.column)
            self._skip_blanks()
            self.at += 1  # the colon
            members[name], names[name] = self.read_value(depth + 1), name_place
        return SourceNode(members, place, names)

    def _read_list(self, place: SourcePlace, depth: int) -> SourceNode:
        entries: list[SourceNode] = []
        while not self._skip_to_end("]"):
            entries.append(self.read_value(depth + 1))
        return SourceNode(entries, place)

    def _skip_to_end(self, bracket: str) -> bool:
        """Skip an opening bracket, a comma or the closing bracket; True if it was the closing one."""
        self._skip_blanks()
        if self.text[self.at] in "{[,":
            self.at += 1
            self._skip_blanks()
        if self.text[self.at] != bracket:
            return False
        self.at += 1
        return True

    def _read_scalar(self) -> Any:
        place, match = self._current_place(), _TOKEN.match(self.text, self.at)
        token = match[0] if match else ""
        self.at += len(token)
        value = json.loads(token)
        if isinstance(value, str) and not value.isascii() and any(map(_is_half, value)):
            raise MalformedSource("a text contains half of a surrogate pair", place.line, place.column)
        return value

    def _skip_blanks(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _current_place(self) -> SourcePlace:
        line = bisect_right(self.line_starts, self.at)
        return SourcePlace(self.file, line, self.at - self.line_starts[line - 1] + 1)
