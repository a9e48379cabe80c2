"""Filters of templates. Those of Jinja would make much of little, or show what is Python's."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any, cast

from jinja2 import Undefined
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS

from core_skills.allowance import size_of

LARGEST_TEXT = 1_000_000
"""Characters of what is rendered, and of what any filter makes."""
MOST_DIGITS = 15
MOST_BITS = 1_024
"""Of a number: products of large ones are worked out where nothing can be interrupted."""
WIDEST_INDENT = 80
AS_THEY_ARE = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last", "length",
    "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "title",
    "trim", "truncate", "unique", "upper", "urlencode",
)  # fmt: skip
"""Filters of Jinja that make no more than they were given."""


class TooLong(Exception):  # noqa: N818 - it names a state, as Unavailable does
    """What is rendered, or a filter makes."""


def shown(value: object) -> str:
    """Texts as they are, anything else as JSON."""
    if isinstance(value, str | Undefined):
        return str(value)
    return _json(list(cast("Iterator[object]", value)) if isinstance(value, Iterator) else value)


def number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        shown(value)  # what is missing says so
        raise SecurityError(f"only numbers are reckoned with, and this is {type(value).__name__}")
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise SecurityError("this number is too large to be reckoned with")
    return value


def joined(pieces: Iterable[str]) -> str:
    """Raises TooLong, without having made more of them than it may."""
    made, size = list[str](), 0
    for piece in pieces:
        size += len(piece)
        if size > LARGEST_TEXT:
            raise TooLong
        made.append(piece)
    return "".join(made)


def _json(value: object, indent: int | None = None) -> str:
    if isinstance(value, Undefined):
        return str(value)
    if size_of(value, LARGEST_TEXT) > LARGEST_TEXT:
        raise TooLong
    levels = min(max(indent or 0, 0), WIDEST_INDENT)
    return joined(json.JSONEncoder(ensure_ascii=False, indent=levels or None).iterencode(value))


def _join(value: Iterable[Any], separator: str = "", attribute: str | None = None) -> str:
    pieces = [shown(piece[attribute] if attribute else piece) for piece in value]
    if sum(map(len, pieces)) + len(separator) * len(pieces) > LARGEST_TEXT:
        raise TooLong
    return separator.join(pieces)


def _replace(value: object, old: str, new: str) -> str:
    text = shown(value)
    if not old:
        raise SecurityError("replace takes a text that is not empty")
    if len(text) + text.count(old) * len(new) > LARGEST_TEXT:
        raise TooLong
    return text.replace(old, new)


def _indent(value: object, width: int = 4, first: bool = False) -> str:  # noqa: FBT001, FBT002 - as Jinja has it
    lines = shown(value).split("\n")
    margin = " " * min(max(width, 0), WIDEST_INDENT)
    if sum(map(len, lines)) + len(margin) * len(lines) > LARGEST_TEXT:
        raise TooLong
    return (margin if first else "") + f"\n{margin}".join(lines)


def _rounded(value: object, digits: int = 0) -> float:
    return round(number(value), max(min(digits, MOST_DIGITS), -MOST_DIGITS))


def _total(value: Iterable[object]) -> float:
    return sum(map(number, value))


def _escaped(value: object) -> str:
    return joined([escape(shown(value))])


OWN: Mapping[str, Callable[..., object]] = {
    "e": _escaped,
    "escape": _escaped,
    "indent": _indent,
    "join": _join,
    "replace": _replace,
    "round": _rounded,
    "string": shown,
    "sum": _total,
    "tojson": _json,
}


def filters() -> dict[str, Callable[..., Any]]:
    return {name: FILTERS[name] for name in AS_THEY_ARE} | dict(OWN)
