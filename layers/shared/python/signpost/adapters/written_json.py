"""JSON with the place of every value."""

import json
import re
from bisect import bisect_right
from math import isinf
from typing import Any, NoReturn

from signpost.adapters.written_files import DEEPEST, Misread
from signpost.records import dataclass
from signpost.workflow.written import Place, Written

_BLANK = re.compile(r"[ \t\r\n]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,\]}]+')


def written_json(text: str, file: str) -> Written:
    """Raises Misread."""
    try:
        json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as fault:
        raise Misread(fault.msg[:1].lower() + fault.msg[1:], fault.lineno, fault.colno) from fault
    except RecursionError as fault:
        raise Misread(f"values are more than {DEEPEST} deep") from fault
    except ValueError as fault:
        raise Misread(str(fault)) from fault
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return _Scanner(text, file, starts).value(0)


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(number: str) -> float:
    """Beyond what a double holds, Python's reader answers infinity, which is no JSON again."""
    found = float(number)
    if isinf(found):
        raise ValueError(f"{number} is larger than any number that can be kept")
    return found


def _is_half(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


@dataclass(slots=True)
class _Scanner:
    """Goes over a text that is known to be JSON."""

    text: str
    file: str
    line_starts: list[int]
    at: int = 0

    def value(self, depth: int) -> Written:
        self._skip_blanks()
        place = self._place()
        if depth > DEEPEST:
            raise Misread(f"values are more than {DEEPEST} deep", place.line, place.column)
        match self.text[self.at]:
            case "{":
                return self._mapping(place, depth)
            case "[":
                return self._list(place, depth)
            case _:
                return Written(self._scalar(), place)

    def _mapping(self, place: Place, depth: int) -> Written:
        members, names = dict[str, Written](), dict[str, Place]()
        while not self._ends("}"):
            here = self._place()
            name: str = self._scalar()
            if name in members:
                raise Misread(f"{name!r} is there twice", here.line, here.column)
            self._skip_blanks()
            self.at += 1  # the colon
            members[name], names[name] = self.value(depth + 1), here
        return Written(members, place, names)

    def _list(self, place: Place, depth: int) -> Written:
        entries: list[Written] = []
        while not self._ends("]"):
            entries.append(self.value(depth + 1))
        return Written(entries, place)

    def _ends(self, bracket: str) -> bool:
        """Steps over an opening bracket or a comma, or over the closing bracket."""
        self._skip_blanks()
        if self.text[self.at] in "{[,":
            self.at += 1
            self._skip_blanks()
        if self.text[self.at] != bracket:
            return False
        self.at += 1
        return True

    def _scalar(self) -> Any:
        here, found = self._place(), _TOKEN.match(self.text, self.at)
        token = found[0] if found else ""
        self.at += len(token)
        value = json.loads(token)
        if isinstance(value, str) and not value.isascii() and any(map(_is_half, value)):
            raise Misread("a text has half a surrogate pair", here.line, here.column)
        return value

    def _skip_blanks(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _place(self) -> Place:
        line = bisect_right(self.line_starts, self.at)
        return Place(self.file, line, self.at - self.line_starts[line - 1] + 1)
