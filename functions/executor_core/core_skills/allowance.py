"""How much an expression may make. A few characters of one can ask for more than there are atoms."""

from collections.abc import Iterable
from math import isfinite

ENOUGH = 5_000_000
"""Characters, about, of all that is made on the way to a result: a second or two of work."""


class Exhausted(Exception):  # noqa: N818 - it names a state, as Unavailable does
    """More would be made than is allowed."""


class Unwritable(Exception):  # noqa: N818 - likewise
    """A value is none that JSON has."""


class Allowance:
    def __init__(self, most: int = ENOUGH) -> None:
        self._left = most

    def take(self, size: int) -> None:
        """Raises Exhausted."""
        self._left -= size
        if self._left < 0:
            raise Exhausted

    def take_for(self, value: object) -> None:
        """For the whole of a value. Raises Exhausted, or Unwritable."""
        self.take(size_of(value, self._left))


def size_of(value: object, enough: int) -> int:
    """About as many characters as it has as JSON, counted no further than `enough`. A value that is in it many times
    counts each time. Raises Unwritable."""
    size, waiting = 0, [value]
    while waiting and size <= enough:
        one = waiting.pop()
        size += _own_size(one)
        waiting.extend(_parts(one))
    return size


def _parts(value: object) -> Iterable[object]:
    match value:
        case list():
            return value  # pyright: ignore[reportUnknownVariableType] - of what does not matter
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
            return 2 + len(value)  # pyright: ignore[reportUnknownArgumentType] - of what does not matter
        case dict():
            return 2 + sum(len(name) + 4 for name in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - names are texts in JSON
        case _:
            raise Unwritable
