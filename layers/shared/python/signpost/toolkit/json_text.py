"""Strict JSON of what an author's code made: text that every reader understands alike, or a refusal."""

import json
import re
import sys
import types
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import cast

from signpost.model import InputRequired, Json
from signpost.toolkit.answers import Answer, Rich

DEEPEST = 9_000
"""Levels. Python's readers and writers of JSON give up at ten thousand, and what comes after us adds some."""


def plain_form(value: object) -> object:
    """What stands for it in JSON. Raises TypeError if nothing does."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, type | Answer | InputRequired | Rich):
        raise TypeError(f"{type(value).__name__} is no part of a value")
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    if "pydantic" in sys.modules:
        # Not before: whoever has no models has no use for what knows them.
        from signpost.toolkit.models import is_model, plain_form_of  # noqa: PLC0415

        if is_model(value):
            return plain_form_of(value)
    return _moment(value)


def _moment(value: object) -> str:
    # Whoever answers with a date has imported this; the others need not.
    from datetime import date, time  # noqa: PLC0415

    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


# The separators that Lambda's runtime writes, so that what is measured is what will be sent.
_encoder = json.JSONEncoder(allow_nan=False, separators=(", ", ": "), default=plain_form)
_LONE_SURROGATE = re.compile(r"\\ud[89ab]..(?!\\ud[c-f])|(?<!\\ud[89ab]..)\\ud[c-f]")


class NotJson(Exception):  # noqa: N818 - it names what the value is
    """The message says why."""


def json_text(value: object) -> str:
    """ASCII. Raises NotJson; and whatever the methods of the value raise."""
    try:
        text = _encoder.encode(value)
    except (OverflowError, RecursionError, TypeError, ValueError) as fault:
        raise NotJson(str(fault)) from fault
    if "\\ud" in text and _LONE_SURROGATE.search(text.replace("\\\\", "  ")):
        raise NotJson("a text holds half a character")
    _check_containers(value)
    return text


def json_of(value: object) -> Json:
    """The value as whoever reads its JSON has it. Raises NotJson."""
    return json.loads(json_text(value))


def _check_containers(value: object) -> None:
    """Level by level. It is known to end: it was written before."""
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
        raise NotJson("a key is no text")
    return _containers(list(node.values()))


def _containers(values: list[object] | tuple[object, ...]) -> list[_Container]:
    return [value for value in map(_as_written, values) if isinstance(value, (dict, list, tuple))]


def _as_written(value: object) -> object:
    written = value
    while not isinstance(written, _PLAIN):
        written = plain_form(written)
    return cast("object", written)


_PLAIN = (str, int, float, dict, list, tuple, types.NoneType)
