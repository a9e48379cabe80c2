"""Bounded caches in memory."""

from collections.abc import Callable, Sequence

DERIVED_VALUES = 256
"""The number of values that a derived cache holds."""


class BoundedCache[Key, Value]:
    """Holds at most `size` entries. A new key replaces the entry that was written longest ago."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: dict[Key, Value] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Value | None:
        return self._entries.get(key)

    def put(self, key: Key, value: Value) -> Value:
        """Stores the value and returns it."""
        self._entries.pop(key, None)
        if len(self._entries) >= self._size:
            self._entries.pop(next(iter(self._entries)), None)
        self._entries[key] = value
        return value

    def find_or_put(self, key: Key, make: Callable[[], Value]) -> Value:
        """Returns the value of the key, which is made if there is none."""
        value = self._entries.get(key)
        return self.put(key, make()) if value is None else value

    def drop(self, key: Key) -> None:
        self._entries.pop(key, None)


class JoinedCache[Key, Value]:
    """Holds one value per key, derived from several source objects: built again once one of them is another object."""

    def __init__(self, size: int = DERIVED_VALUES) -> None:
        self._derived = BoundedCache[Key, tuple[Sequence[object], Value]](size)

    def get(self, key: Key, sources: Sequence[object], build: Callable[[], Value]) -> Value:
        entry = self._derived.get(key)
        if entry is None or not all(before is now for before, now in zip(entry[0], sources, strict=True)):
            entry = self._derived.put(key, (sources, build()))
        return entry[1]


class DerivedCache[Key, Source, Value]:
    """Holds one value per key, derived from a source object: built again once the source is another object."""

    def __init__(self) -> None:
        self._derived = JoinedCache[Key, Value]()

    def get(self, key: Key, source: Source, build: Callable[[], Value]) -> Value:
        return self._derived.get(key, (source,), build)
