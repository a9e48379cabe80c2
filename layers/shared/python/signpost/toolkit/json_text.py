"""Strict JSON of what an author's code made: text that every reader understands alike, or a refusal."""

import json
import re

DEEPEST = 9_000
"""Levels. Python's readers and writers of JSON give up at ten thousand, and what comes after us adds some."""

# The separators that Lambda's runtime writes, so that what is measured is what will be sent.
_encoder = json.JSONEncoder(allow_nan=False, separators=(", ", ": "))
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
    return [value for value in values if isinstance(value, (dict, list, tuple))]
