"""Caches in memory: bounded, and built again when their source is another object."""

from signpost.caches import DERIVED_VALUES, BoundedCache, DerivedCache, JoinedCache


def test_a_new_key_replaces_the_entry_that_was_written_longest_ago() -> None:
    cache = BoundedCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("a", 3)
    cache.put("c", 4)
    assert (cache.get("a"), cache.get("b"), cache.get("c"), len(cache)) == (3, None, 4, 2)


def test_writing_a_known_key_replaces_nothing_else() -> None:
    cache = BoundedCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.put("b", 3) == 3
    assert (cache.get("a"), cache.get("b")) == (1, 3)


def test_a_dropped_key_is_gone() -> None:
    cache = BoundedCache[str, int](2)
    cache.put("a", 1)
    cache.drop("a")
    cache.drop("a")
    assert cache.get("a") is None


def test_a_derived_value_is_built_once_for_each_source() -> None:
    cache, built = DerivedCache[str, object, int](), list[object]()

    def derive(source: object) -> int:
        return cache.get("key", source, lambda: built.append(source) or len(built))

    first, second = object(), object()
    assert [derive(first), derive(first), derive(second), derive(second), derive(first)] == [1, 1, 2, 2, 3]
    assert built == [first, second, first]


def test_a_derived_cache_holds_a_bounded_number_of_values() -> None:
    cache, source, built = DerivedCache[int, object, int](), object(), list[int]()
    for key in range(DERIVED_VALUES + 1):
        cache.get(key, source, lambda key=key: built.append(key) or key)
    cache.get(DERIVED_VALUES, source, lambda: built.append(-1) or -1)
    cache.get(0, source, lambda: built.append(0) or 0)
    assert built == [*range(DERIVED_VALUES + 1), 0]


def test_a_joined_value_is_built_again_once_any_source_is_another_object() -> None:
    cache, built = JoinedCache[str, int](), list[int]()

    def derive(*sources: object) -> int:
        return cache.get("key", sources, lambda: built.append(len(built)) or len(built))

    first, second, third = object(), object(), object()
    assert [derive(first, second), derive(first, second), derive(first, third), derive(third, third)] == [1, 1, 2, 3]


def test_a_joined_cache_holds_as_many_values_as_it_was_given_room_for() -> None:
    cache, source, built = JoinedCache[int, int](2), object(), list[int]()
    for key in (0, 1, 2, 2, 0):
        cache.get(key, (source,), lambda key=key: built.append(key) or key)
    assert built == [0, 1, 2, 0]
