"""Filters of templates. They replace those filters of Jinja that can build large texts from small ones, or show Python
objects."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any, cast

from jinja2 import Undefined
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.tests import TESTS

from core_skills.allowance import size_of
from core_skills.template_work import COMPARING_TESTS, Work

LARGEST_TEXT = 1_000_000
"""Maximum characters of the rendered text, and of the result of each filter."""
MOST_DIGITS = 15
MOST_BITS = 1_024
"""Maximum bits of an integer: the multiplication of large integers cannot be interrupted."""
WIDEST_INDENT = 80
MOST_TRIMMED = 100
"""Maximum characters to trim: each character of the text is compared with all of them."""
JINJA_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last", "length",
    "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "title",
    "truncate", "unique", "upper", "urlencode",
)  # fmt: skip
"""Filters of Jinja whose results are not much larger than their input."""


class TooLong(Exception):  # noqa: N818 - it names a state, as Unavailable does
    """Raised if the rendered text, or the result of a filter, exceeds LARGEST_TEXT."""


def format_value(value: object) -> str:
    """Format a value for output: texts as they are, anything else as JSON."""
    if isinstance(value, str | Undefined):
        return str(value)
    return _encode_json(list(cast("Iterator[object]", value)) if isinstance(value, Iterator) else value)


def check_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        format_value(value)  # an undefined name raises its own error here
        raise SecurityError(f"arithmetic needs numbers, and this is {type(value).__name__}")
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise SecurityError("this number is too large for arithmetic")
    return value


def join_pieces(pieces: Iterable[str]) -> str:
    """Join pieces of text. Raises TooLong before more than LARGEST_TEXT is built."""
    parts, size = list[str](), 0
    for piece in pieces:
        size += len(piece)
        if size > LARGEST_TEXT:
            raise TooLong
        parts.append(piece)
    return "".join(parts)


def _encode_json(value: object, indent: int | None = None) -> str:
    if isinstance(value, Undefined):
        return str(value)
    if size_of(value, LARGEST_TEXT) > LARGEST_TEXT:
        raise TooLong
    levels = min(max(indent or 0, 0), WIDEST_INDENT)
    return join_pieces(json.JSONEncoder(ensure_ascii=False, indent=levels or None).iterencode(value))


def _join(value: Iterable[Any], separator: str = "", attribute: str | None = None) -> str:
    pieces = (format_value(piece[attribute] if attribute else piece) for piece in value)
    return join_pieces(f"{separator}{piece}" if place else piece for place, piece in enumerate(pieces))


def _trim(value: object, characters: str | None = None) -> str:
    if characters is not None and len(characters) > MOST_TRIMMED:
        raise SecurityError(f"trim takes at most {MOST_TRIMMED} characters")
    return format_value(value).strip(characters)


def _replace(value: object, old: str, new: str) -> str:
    text = format_value(value)
    if not old:
        raise SecurityError("replace needs a text to replace that is not empty")
    if len(text) + text.count(old) * len(new) > LARGEST_TEXT:
        raise TooLong
    return text.replace(old, new)


def _indent(value: object, width: int = 4, first: bool = False) -> str:  # noqa: FBT001, FBT002 - as Jinja has it
    lines = format_value(value).split("\n")
    margin = " " * min(max(width, 0), WIDEST_INDENT)
    if sum(map(len, lines)) + len(margin) * len(lines) > LARGEST_TEXT:
        raise TooLong
    return (margin if first else "") + f"\n{margin}".join(lines)


def _round(value: object, digits: int = 0) -> float:
    return round(check_number(value), max(min(digits, MOST_DIGITS), -MOST_DIGITS))


def _sum(value: Iterable[object]) -> float:
    return sum(map(check_number, value))


def _escape(value: object) -> str:
    return join_pieces([escape(format_value(value))])


def _is_divisible(value: object, by: object) -> bool:
    return check_number(value) % check_number(by) == 0


def _is_even(value: object) -> bool:
    return check_number(value) % 2 == 0


def _is_odd(value: object) -> bool:
    return check_number(value) % 2 == 1


OWN_FILTERS: Mapping[str, Callable[..., object]] = {
    "e": _escape,
    "escape": _escape,
    "indent": _indent,
    "join": _join,
    "replace": _replace,
    "round": _round,
    "string": format_value,
    "sum": _sum,
    "tojson": _encode_json,
    "trim": _trim,
}
OWN_TESTS: Mapping[str, Callable[..., object]] = {"divisibleby": _is_divisible, "even": _is_even, "odd": _is_odd}
"""Tests that calculate. Those of Jinja format texts by `%`."""
UNUSED_TESTS = frozenset({"callable", "filter", "test"})
"""Tests that ask about Jinja and not about a value."""


def charged_filters(work: Work) -> dict[str, Callable[..., Any]]:
    chosen = {name: FILTERS[name] for name in JINJA_FILTERS} | dict(OWN_FILTERS)
    return {name: work.charge_filter(name, run) for name, run in chosen.items()}


def charged_tests(work: Work) -> dict[str, Callable[..., Any]]:
    chosen = {name: test for name, test in TESTS.items() if name not in UNUSED_TESTS} | dict(OWN_TESTS)
    comparing = {name: work.comparing_test(name) for name in COMPARING_TESTS}
    return {name: work.charge_filter(name, test) for name, test in chosen.items()} | comparing
