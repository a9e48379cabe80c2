"""Versions are compared number by number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.directory.versions import compare_versions, is_version

VERSIONS = st.lists(st.integers(0, 999_999_999), min_size=1, max_size=4).map(lambda all_: ".".join(map(str, all_)))


@pytest.mark.parametrize(
    ("now", "before", "order"),
    [
        ("1.10", "1.9", "higher"), ("2", "1.9.9.9", "higher"), ("1.2.0.1", "1.2", "higher"),
        ("1.2", "1.2.0.0", "same"), ("01", "1", "same"), ("1.1", "1.2", "lower"),
    ],
)  # fmt: skip
def test_versions_are_ordered_by_their_numbers(now: str, before: str, order: str) -> None:
    assert compare_versions(now, before) == order


@given(VERSIONS, VERSIONS)
def test_a_version_is_higher_exactly_if_the_other_is_lower(one: str, other: str) -> None:
    assert is_version(one)
    opposite = {"higher": "lower", "lower": "higher", "same": "same"}
    assert compare_versions(one, other) == opposite[compare_versions(other, one)]
