"""Strict JSON of the values of an author's code: text that every parser reads alike, or a refusal."""

import json
import re
import sys
import types
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import cast

from signpost.model import InputRequired, Json
from signpost.toolkit.answers import Answer, RichValue

DEEPEST = 9_000
"""Maximum levels of nesting. Python's JSON module stops at ten thousand, and envelopes add some levels."""


def plain_form(value: object) -> object:
    """Convert a value that is no JSON, such as an enum member, a dataclass, a model or a date. Raises TypeError if it
    has no form in JSON."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, type | Answer | InputRequired | RichValue):
        raise TypeError(f"{type(value).__name__} cannot be a part of a value")
    if is_dataclass(value):
        return {member.name: getattr(value, member.name) for member in fields(value)}
    if "pydantic" in sys.modules:
        # Imported on first use: only authors with Pydantic models need it.
        from signpost.toolkit.models import is_model, plain_form_of  # noqa: PLC0415

        if is_model(value):
            return plain_form_of(value)
    return _format_moment(value)


def _format_moment(value: object) -> str:
    # Imported on first use: most functions answer without dates.
    from datetime import date, time  # noqa: PLC0415

    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


# The separators are those of Lambda's runtime, so that measured lengths are those of the sent reply.
_encoder = json.JSONEncoder(allow_nan=False, separators=(", ", ": "), default=plain_form)
_LONE_SURROGATE = re.compile(r"\\ud[89ab]..(?!\\ud[c-f])|(?<!\\ud[89ab]..)\\ud[c-f]")


class NotJson(Exception):  # noqa: N818 - it names a property of the value
    """Raised for a value that has no strict form in JSON; the message names the reason."""


def json_text(value: object) -> str:
    """Encode a value as JSON in ASCII. Raises NotJson, and any exception of the value's own methods."""
    try:
        text = _encoder.encode(value)
    except (OverflowError, RecursionError, TypeError, ValueError) as fault:
        raise NotJson(str(fault)) from fault
    if "\\ud" in text and _LONE_SURROGATE.search(text.replace("\\\\", "  ")):
        raise NotJson("a text holds a lone surrogate, which is half a character")
    _check_containers(value)
    return text


def json_of(value: object) -> Json:
    """Convert a value to the plain data that a reader of its JSON receives. Raises NotJson."""
    return json.loads(json_text(value))


def _check_containers(value: object) -> None:
    """Check keys and depth, level by level. The loop ends: the value was encoded before, so it has no cycles. Raises
    NotJson."""
    level = _containers([value])
    for _ in range(DEEPEST):
        if not level:
            return
        level = [child for node in level for child in _children(node)]
    raise NotJson("it is nested too deeply")


type _Container = dict[object, object] | list[object] | tuple[object, ...]


def _children(node: _Container) -> list[_Container]:
    if not isinstance(node, dict):
        return _containers(node)
    if not all(isinstance(key, str) for key in node):
        raise NotJson("a key must be a text")
    return _containers(list(node.values()))


def _containers(values: list[object] | tuple[object, ...]) -> list[_Container]:
    return [value for value in map(_reduce_to_plain, values) if isinstance(value, (dict, list, tuple))]


def _reduce_to_plain(value: object) -> object:
    reduced = value
    while not isinstance(reduced, _PLAIN_TYPES):
        reduced = plain_form(reduced)
    return cast("object", reduced)


_PLAIN_TYPES = (str, int, float, dict, list, tuple, types.NoneType)
