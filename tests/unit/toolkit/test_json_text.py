"""What is JSON, and what only looks like it."""

import json
from collections import OrderedDict
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.toolkit.json_text import DEEPEST, NotJson, json_text

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_json_text_is_parsed_to_the_same_value(value: Any) -> None:
    text = json_text(value)
    assert text.isascii()
    assert json.loads(text) == value


@given(st.text(st.characters(categories=["Cs", "Lo", "Po"]) | st.sampled_from("\\ud8")))
def test_only_an_unpaired_surrogate_is_refused(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        # Two halves that stand side by side read as one character, and do no harm.
        if any(0xD800 <= ord(character) <= 0xDFFF for character in json.loads(json.dumps(text))):
            with pytest.raises(NotJson):
                json_text(text)
    else:
        assert json.loads(json_text(text)) == text


def cyclic() -> Any:
    value: list[Any] = []
    value.append({"again": value})
    return value


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"), float("inf"), -float("inf"), [1, {"a": float("nan")}], "\ud800", {"\udfff": 1}, b"bytes", {1, 2},
        {1: "a"}, {None: 1}, {True: 1}, [({"a": {1.5: 2}},)], {(1, 2): 3}, object(), cyclic(), nested(DEEPEST + 1),
        nested(100_000), 10**5000,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_value_that_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(NotJson):
        json_text(value)


class Colour(IntEnum):
    RED = 1


def test_subclasses_of_json_types_are_accepted() -> None:
    value = OrderedDict[str, Any](colours=(Colour.RED,), nested=nested(DEEPEST - 2))
    assert json.loads(json_text(value))["colours"] == [1]


def test_a_character_beyond_the_first_plane_is_one_character() -> None:
    assert json.loads(json_text("\\ud800 😀")) == "\\ud800 😀"
