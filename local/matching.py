"""Compare a JSON document with an expected document.

The expected document is JSON, too. Objects are subsets: the actual object may have further keys. Arrays are compared
item by item and have the same length. All other values must be equal. An object with one of these as its only key is
a matcher:

    {"$any": true}          any value, which must be present
    {"$absent": true}       the key is absent (as the value of a key)
    {"$matches": "regex"}   a string that the whole regular expression matches
    {"$json": expected}     a string that is JSON text which matches `expected`
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from local.json_values import Json, JsonObject

_LONGEST_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Mismatch:
    path: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.path or 'document'}: expected {self.expected}, found {self.found}"


def mismatches(expected: Json, actual: Json, path: str = "") -> Iterator[Mismatch]:
    """Yield every place at which the actual document does not match the expected one."""
    match expected:
        case {"$any": True, **rest} if not rest:
            return
        case {"$absent": True, **rest} if not rest:
            yield Mismatch(path, "nothing", _shorten(actual))
        case {"$matches": str(pattern), **rest} if not rest:
            yield from _text_mismatches(pattern, actual, path)
        case {"$json": inner, **rest} if not rest:
            yield from _json_text_mismatches(inner, actual, path)
        case dict():
            yield from _object_mismatches(expected, actual, path)
        case list():
            yield from _array_mismatches(expected, actual, path)
        case _ if isinstance(expected, bool) != isinstance(actual, bool) or expected != actual:
            # Python finds true and 1 equal; JSON does not.
            yield Mismatch(path, _shorten(expected), _shorten(actual))
        case _:
            return


def _text_mismatches(pattern: str, actual: Json, path: str) -> Iterator[Mismatch]:
    if not isinstance(actual, str) or re.fullmatch(pattern, actual) is None:
        yield Mismatch(path, f"text that matches {pattern}", _shorten(actual))


def _json_text_mismatches(inner: Json, actual: Json, path: str) -> Iterator[Mismatch]:
    try:
        document: Json = json.loads(actual if isinstance(actual, str) else "")
    except ValueError:
        yield Mismatch(path, "JSON text", _shorten(actual))
    else:
        yield from mismatches(inner, document, f"{path}<json>")


def _object_mismatches(expected: JsonObject, actual: Json, path: str) -> Iterator[Mismatch]:
    if not isinstance(actual, dict):
        yield Mismatch(path, "an object", _shorten(actual))
        return
    for key, value in expected.items():
        inner = f"{path}.{key}" if path else key
        if key in actual:
            yield from mismatches(value, actual[key], inner)
        elif value != {"$absent": True}:
            yield Mismatch(inner, _shorten(value), "nothing")


def _array_mismatches(expected: list[Json], actual: Json, path: str) -> Iterator[Mismatch]:
    if not isinstance(actual, list):
        yield Mismatch(path, "an array", _shorten(actual))
        return
    if len(expected) != len(actual):
        yield Mismatch(path, f"{len(expected)} items", f"{len(actual)}: {_shorten(actual)}")
        return
    for position, (expected_item, item) in enumerate(zip(expected, actual, strict=True)):
        yield from mismatches(expected_item, item, f"{path}[{position}]")


def _shorten(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
