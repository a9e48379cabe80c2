"""The allowance of an expression: a limit on the data it builds, because a few characters can build any amount."""

from collections.abc import Iterable
from math import isfinite

DEFAULT_ALLOWANCE = 5_000_000
"""Approximate characters of all intermediate values and the result: a second or two of work."""


class Exhausted(Exception):  # noqa: N818 - it names a state, as Unavailable does
    """Raised when an expression would build more than its allowance."""


class Unwritable(Exception):  # noqa: N818 - likewise
    """Raised for a value that JSON cannot express."""


class Allowance:
    """Counts the data that one expression builds."""

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


def size_of(value: object, limit: int) -> int:
    """Estimate the characters of a value's JSON; counting stops above `limit`. A part that occurs several times counts
    each time. Raises Unwritable."""
    size, pending = 0, [value]
    while pending and size <= limit:
        node = pending.pop()
        size += _own_size(node)
        pending.extend(_children(node))
    return size


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
