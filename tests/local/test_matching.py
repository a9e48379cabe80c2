import json

import pytest

from local.json_values import Json
from local.matching import mismatches


def list_mismatches(expected: Json, actual: Json) -> list[str]:
    return [str(found) for found in mismatches(expected, actual)]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({}, {"b": 2}),
        ([1, {"a": None}], [1, {"a": None, "b": 2}]),
        ({"a": {"$any": True}}, {"a": None}),
        ({"a": {"$absent": True}}, {"b": 1}),
        ({"a": {"$matches": "wf_[0-9]+"}}, {"a": "wf_12"}),
        ({"a": {"$json": {"b": [{"$any": True}]}}}, {"a": json.dumps({"b": [1], "c": 2})}),
        (1, 1.0),
    ],
)
def test_a_document_with_the_expected_values_matches(expected: Json, actual: Json) -> None:
    assert list_mismatches(expected, actual) == []


@pytest.mark.parametrize(
    ("expected", "actual", "complaint"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b: expected 1, found 2"),
        ({"a": 1}, {}, "a: expected 1, found nothing"),
        ({"a": 1}, [], "document: expected an object, found []"),
        ([1], {}, "document: expected an array, found {}"),
        ([1], [1, 2], "document: expected 1 items, found 2: [1, 2]"),
        ([1, 2], [1, 3], "[1]: expected 2, found 3"),
        ({"a": True}, {"a": 1}, "a: expected true, found 1"),
        ({"a": {"$any": True}}, {}, 'a: expected {"$any": true}, found nothing'),
        ({"a": {"$absent": True}}, {"a": None}, "a: expected nothing, found null"),
        ({"a": {"$matches": "b+"}}, {"a": "bbc"}, 'a: expected text that matches b+, found "bbc"'),
        ({"a": {"$matches": "1"}}, {"a": 1}, "a: expected text that matches 1, found 1"),
        ({"a": {"$json": {"b": 1}}}, {"a": '{"b": 2}'}, "a<json>.b: expected 1, found 2"),
        ({"a": {"$json": {}}}, {"a": "{"}, 'a: expected JSON text, found "{"'),
        ({"a": {"$json": {}}}, {"a": {}}, "a: expected JSON text, found {}"),
    ],
)
def test_a_mismatch_names_the_place_and_both_values(expected: Json, actual: Json, complaint: str) -> None:
    assert list_mismatches(expected, actual) == [complaint]


def test_every_mismatch_is_reported() -> None:
    assert list_mismatches({"a": 1, "b": 2}, {"a": 2, "b": 1}) == ["a: expected 1, found 2", "b: expected 2, found 1"]


def test_an_object_with_other_keys_beside_a_matcher_is_read_literally() -> None:
    assert list_mismatches({"$any": True, "a": 1}, {"$any": True, "a": 1}) == []
    assert list_mismatches({"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}) == []
