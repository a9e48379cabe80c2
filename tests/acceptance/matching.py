"""What workflow cases expect of an answer: plain objects are subsets, lists have their length, the rest says `$how`."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

MISSING = object()
TOLERANCE = 1e-4
SAME = 1e-9
"""Between numbers that were reckoned."""
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}


def mismatches(expected: Any, seen: Any, at: str = "$") -> Iterator[str]:
    """Everything in which the answer is not as expected."""
    if isinstance(expected, Mapping) and expected and all(str(name).startswith("$") for name in expected):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
        yield from _matcher(expected, seen, at)  # pyright: ignore[reportUnknownArgumentType] - JSON
    elif seen is MISSING:
        yield f"{at} is missing"
    elif isinstance(expected, Mapping):
        yield from _object(expected, seen, at)  # pyright: ignore[reportUnknownArgumentType] - JSON
    elif isinstance(expected, list):
        yield from _list(expected, seen, at)  # pyright: ignore[reportUnknownArgumentType] - JSON
    elif type(expected) is bool or type(seen) is bool or expected is None or isinstance(expected, str):
        if expected is not seen and (type(expected) is not type(seen) or expected != seen):
            yield f"{at} is {_short(seen)}, not {expected!r}"
    elif not (_TYPES["number"](seen) and abs(expected - seen) <= SAME):
        yield f"{at} is {_short(seen)}, not {expected!r}"


def matches(expected: Any, seen: Any) -> bool:
    return next(mismatches(expected, seen), None) is None


def _object(expected: Mapping[str, Any], seen: Any, at: str) -> Iterator[str]:
    if not isinstance(seen, Mapping):
        yield f"{at} is {_short(seen)}, no object"
        return
    members: Mapping[str, Any] = seen  # pyright: ignore[reportUnknownVariableType] - JSON
    for name, value in expected.items():
        yield from mismatches(value, members.get(name, MISSING), f"{at}.{name}")


def _list(expected: list[Any], seen: Any, at: str) -> Iterator[str]:
    if not isinstance(seen, list) or len(seen) != len(expected):  # pyright: ignore[reportUnknownArgumentType] - JSON
        yield f"{at} is {_short(seen)}, not a list of {len(expected)}"
        return
    for place, (value, found) in enumerate(zip(expected, seen, strict=True)):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
        yield from mismatches(value, found, f"{at}[{place}]")


def _matcher(expected: Mapping[str, Any], seen: Any, at: str) -> Iterator[str]:
    if "$absent" in expected:
        if (seen is MISSING or seen is None) != bool(expected["$absent"]):
            yield f"{at} is {_short(seen)}"
        return
    for name, value in expected.items():
        if name != "$tol" and not _holds(name, value, seen, expected):
            yield f"{at} is {_short(seen)}, which is not {name} {_short(value)}"


def _holds(name: str, value: Any, seen: Any, beside: Mapping[str, Any]) -> bool:
    if name == "$oneOf":
        return any(matches(one, seen) for one in value)
    if name == "$not":
        return not matches(value, seen)
    if seen is MISSING:
        return False
    if name == "$near":
        return _TYPES["number"](seen) and abs(seen - value) <= beside.get("$tol", TOLERANCE)
    return _MATCHERS[name](value, seen)


def _in_order(values: list[Any], seen: list[Any]) -> bool:
    """Each later than the one before, with whatever between them."""
    rest = iter(seen)
    return all(any(matches(value, found) for found in rest) for value in values)


_MATCHERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$any": lambda _value, _seen: True,
    "$type": lambda value, seen: _TYPES[value](seen),
    "$regex": lambda value, seen: isinstance(seen, str) and re.search(value, seen) is not None,
    "$in": lambda value, seen: seen in value,
    "$gt": lambda value, seen: seen > value,
    "$gte": lambda value, seen: seen >= value,
    "$lt": lambda value, seen: seen < value,
    "$len": lambda value, seen: len(seen) == value,
    "$minLen": lambda value, seen: len(seen) >= value,
    "$keys": lambda value, seen: sorted(seen) == sorted(value),
    "$contains": lambda value, seen: all(any(matches(one, found) for found in seen) for one in value),
    "$excludes": lambda value, seen: not any(matches(one, found) for one in value for found in seen),
    "$ordered": _in_order,
    "$count": lambda value, seen: matches(value["n"], sum(matches(value["match"], found) for found in seen)),
}


def _short(value: Any) -> str:
    text = "missing" if value is MISSING else repr(value)
    return text if len(text) <= 300 else f"{text[:300]}…"
