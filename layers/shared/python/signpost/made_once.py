"""A cache of values derived from a source object, one per key: kept until the source is replaced."""

from collections.abc import Callable

REMEMBERED = 256


class MadeOnce[Whose, Source, Made]:
    """Returns the same object for as long as its source is the same object."""

    def __init__(self) -> None:
        self._made: dict[Whose, tuple[Source, Made]] = {}

    def of(self, whose: Whose, source: Source, make: Callable[[], Made]) -> Made:
        made = self._made.get(whose)
        if made is None or made[0] is not source:
            if len(self._made) >= REMEMBERED:
                self._made.clear()
            made = self._made[whose] = source, make()
        return made[1]
