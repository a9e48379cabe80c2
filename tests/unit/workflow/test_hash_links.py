"""The text that the hash of a record covers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.workflow.hash_links import build_link, hash_record
from signpost.workflow.running.linked_writes import order_times

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"tool": "ab", "function": "cd"}, {"tool": "abc", "function": "d"}),
        ({"a": 'b","c":"d'}, {"a": "b", "c": "d"}),
        ({"a": ["b", "c"]}, {"a": ["b,c"]}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {}),
    ],
)
def test_records_that_read_alike_have_different_hashes(one: Any, other: Any) -> None:
    assert hash_record(one) != hash_record(other)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.dictionaries(st.text(), VALUES, max_size=4))
def test_records_have_the_same_hash_only_if_they_are_the_same(one: Any, other: Any) -> None:
    assert (hash_record(one) == hash_record(other)) == (repr(sort_members(one)) == repr(sort_members(other)))


def sort_members(value: Any) -> Any:
    """Return the value with the members of its objects in the order of their names."""
    if isinstance(value, dict):
        members: dict[str, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType] - any JSON object
        return sorted((key, sort_members(member)) for key, member in members.items())
    if isinstance(value, list):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType] - any JSON array
        return [sort_members(item) for item in items]
    return value


def test_the_order_of_members_does_not_change_the_hash() -> None:
    assert hash_record({"a": 1, "b": 2}) == hash_record({"b": 2, "a": 1})


def test_a_link_follows_the_link_before_it() -> None:
    first = build_link(None, 1, 5.0, {"n": 1})
    second = build_link(first, 2, 6.0, {"n": 1})
    assert (first.number, first.previous) == (1, "")
    assert (second.number, second.previous) == (2, first.hash)
    assert second.hash not in (first.hash, build_link(None, 2, 6.0, {"n": 1}).hash)


def test_an_event_without_a_time_has_that_of_the_event_after_it() -> None:
    newest = build_link(None, 1, 5.0, {})
    assert order_times([None, 6.0, None], 7.0, newest) == [6.0, 6.0, 7.0]
    assert order_times([1.0, 2.0, None], 3.0, newest) == [5.0, 5.0, 5.0]
    assert order_times([], 3.0, None) == []
