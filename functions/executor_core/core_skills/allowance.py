"""The allowance of an expression or template: a limit on its work and on the data it builds, because a few characters
can ask for any amount. It counts and measures no time, so it ends at the same place on every machine."""

from collections.abc import Iterable
from math import isfinite

DEFAULT_ALLOWANCE = 5_000_000
"""Evaluated parts, items read, and approximate characters of all values that are built or compared: a few seconds of
work."""

CHARACTERS_AT_ONCE = 64
"""Characters of a text that are searched or copied in the time of one item."""


class Exhausted(Exception):  # noqa: N818 - it names a state, as Unavailable does
    """Raised when an expression or template would do more than its allowance."""


class Unwritable(Exception):  # noqa: N818 - likewise
    """Raised for a value that JSON cannot express."""


class Allowance:
    """Counts the work of one expression or template."""

    def __init__(self, limit: int = DEFAULT_ALLOWANCE) -> None:
        self._remaining = limit

    def take(self, size: int) -> None:
        """Use up a part of the allowance. Raises Exhausted."""
        self._remaining -= size
        if self._remaining < 0:
            raise Exhausted

    def take_for(self, value: object) -> None:
        """Use up the size of a value. Raises Exhausted, or Unwritable."""
        self.take(size_of(value, self._remaining))

    def take_each(self, values: Iterable[object], cost: int) -> Iterable[object]:
        """Use up `cost` for each item: for a list at once, else whenever one is read. Raises Exhausted."""
        if isinstance(values, list | tuple | dict | str):
            self.take(cost * len(values))  # pyright: ignore[reportUnknownArgumentType] - the types of items do not matter
            return values  # pyright: ignore[reportUnknownVariableType] - likewise
        return self._take_one_by_one(values, cost)

    def _take_one_by_one(self, values: Iterable[object], cost: int) -> Iterable[object]:
        for value in values:
            self.take(cost)
            yield value


def size_of(value: object, limit: int) -> int:
    """Estimate the characters of a value's JSON; counting stops above `limit`. A part that occurs several times counts
    each time. Raises Unwritable."""
    size, pending = 0, [value]
    while pending and size <= limit:
        node = pending.pop()
        size += _own_size(node)
        pending.extend(_children(node))
    return size


def length_of(value: object) -> int:
    """Estimate the work of reading a value once without its parts: a text is read faster than a list."""
    if isinstance(value, str):
        return 1 + len(value) // CHARACTERS_AT_ONCE
    return 1 + len(value) if isinstance(value, list | tuple | dict) else 1  # pyright: ignore[reportUnknownArgumentType] - the types of items do not matter


def _children(value: object) -> Iterable[object]:
    match value:
        case list():
            return value  # pyright: ignore[reportUnknownVariableType] - the types of items do not matter
        case dict():
            return value.values()  # pyright: ignore[reportUnknownVariableType] - likewise
        case _:
            return ()


def _own_size(value: object) -> int:
    match value:
        case None | bool():
            return 5
        case float() if isfinite(value):
            return 20
        case int():
            return 1 + value.bit_length() // 3
        case str() | list():
            return 2 + len(value)  # pyright: ignore[reportUnknownArgumentType] - the types of items do not matter
        case dict():
            return 2 + sum(len(name) + 4 for name in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - names are texts in JSON
        case _:
            raise Unwritable
