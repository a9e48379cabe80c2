"""What is told without the library is what the library says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from signpost.adapters.alarm import alarm
from signpost.model import JsonObject, as_object
from signpost.schema.nulls import leave_out_nulls
from signpost.schema.patterns import translate_schema
from signpost.schema.plain import is_surely_valid
from signpost.schema.validation import Validators
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS, HOME

_NAMES = st.sampled_from(["a", "b", "c"])
_KINDS = st.sampled_from(["object", "array", "string", "boolean", "integer", "number", "null"])
_TEXTS = st.text(max_size=4) | st.sampled_from(["a\n", "٣"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS | _NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES | _TEXTS, inner, max_size=3),
    max_leaves=8,
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": _KINDS,
        "properties": st.dictionaries(_NAMES, inner, max_size=3),
        "items": inner,
        "required": st.lists(_NAMES, unique=True, max_size=2),
        "additionalProperties": st.booleans(),
        "enum": st.lists(_NAMES, unique=True, min_size=1, max_size=2),
        "minimum": st.integers(0, 3),
        "minLength": st.integers(0, 3),
        "maxLength": st.integers(0, 3),
        "default": st.integers(),
        "title": st.text(max_size=3),
        "const": _VALUES,
        "pattern": st.sampled_from(["^[a-z]+$", r"^\d", "^.?$"]),
        "patternProperties": st.dictionaries(st.sampled_from(["^[a-z]$", r"\w"]), inner, max_size=2),
        "anyOf": st.lists(inner, min_size=1, max_size=2),
    }
    return st.fixed_dictionaries({}, optional=keywords)


@given(st.recursive(st.just({}), _schemas, max_leaves=6), _VALUES)
def test_a_value_judged_surely_valid_is_valid(schema: JsonObject, value: Any) -> None:
    if is_surely_valid(schema, value):
        assert Draft202012Validator(translate_schema(schema)).is_valid(value)


@given(_KINDS, _VALUES)
def test_plain_schemas_are_decided_without_the_library(kind: str, value: Any) -> None:
    schema: JsonObject = {"type": kind}
    is_whole = isinstance(value, float) and value.is_integer()  # an integer too, but that is not looked into
    assert is_surely_valid(schema, value) == Draft202012Validator(schema).is_valid(value) or is_whole


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"type": ["object"]},
        {"properties": {"a": {"$ref": "#"}}},
        {"properties": {"a": {"type": "nonsense"}}},
        {"properties": []},
        {"required": ["a", "a"]},
        {"required": [1]},
        {"additionalProperties": {}},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"description": "x" * 70_000},
        {"pattern": "(a+)+$"},
        {"pattern": "^[a-z]+$"},
        {"patternProperties": {"^[a-z]+$": {}}},
        {"minimum": "1"},
        True,
    ],
)
def test_a_schema_that_may_be_refused_is_never_surely_valid(schema: Any) -> None:
    assert not is_surely_valid(schema, {})


def test_the_tools_of_the_gateway_are_called_without_the_library() -> None:
    answers: list[JsonObject] = [{"links": []}, {"items": []}, {"results": []}]
    for tool in GATEWAY_TOOLS:
        assert tool.output_schema is not None
        assert any(is_surely_valid(tool.output_schema, answer) for answer in answers), tool.name
        names = tool.input_schema["required"]
        assert isinstance(names, list)
        given = {str(name): 1 if name == "expectedVersion" else "x" for name in names}
        assert is_surely_valid(tool.input_schema, given), tool.name
        assert is_surely_valid(tool.input_schema, {**given, "title": "Signpost"}) == (tool is HOME)


def test_null_for_an_optional_argument_of_the_gateway_tools_is_left_out_without_the_library() -> None:
    validators = Validators(alarm)
    for tool in GATEWAY_TOOLS:
        nulls: JsonObject = dict.fromkeys(as_object(tool.input_schema["properties"]))
        assert leave_out_nulls(validators, {**tool.input_schema, "required": []}, nulls) == {}
    assert validators.cached_count == 0
