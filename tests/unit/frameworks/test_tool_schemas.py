"""The server of models refuses the schemas of tools that OpenAI's API refuses."""

import pytest

from signpost.model import Json, JsonObject
from tests.frameworks.following_model import OfferedTool
from tests.frameworks.tool_schemas import find_schema_refusal

TEXT: JsonObject = {"type": "string"}
EMPTY: JsonObject = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def offer(member: Json, *, is_strict: bool) -> OfferedTool:
    """Return a tool with one argument of this schema, closed and required."""
    schema: JsonObject = {
        "type": "object",
        "properties": {"it": member},
        "required": ["it"],
        "additionalProperties": False,
    }
    return OfferedTool("look", schema, is_strict)


@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("member", [TEXT, EMPTY, {"anyOf": [TEXT, EMPTY]}, {"type": "array", "items": TEXT}])
def test_a_schema_with_types_is_allowed(member: JsonObject, *, is_strict: bool) -> None:
    assert find_schema_refusal([offer(member, is_strict=is_strict)]) is None


@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize(
    ("member", "fault"),
    [
        ({**TEXT, "enum": None}, "None is not of type 'array'"),
        ({**TEXT, "anyOf": []}, "[] should be non-empty"),
        ({"type": "array"}, "array schema missing items."),
        ({"anyOf": [TEXT, {"type": "array"}]}, "array schema missing items."),
    ],
)
def test_a_schema_that_no_tool_may_have_is_refused_with_the_name_of_its_tool(
    member: JsonObject, fault: str, *, is_strict: bool
) -> None:
    refusal = find_schema_refusal([offer(TEXT, is_strict=is_strict), offer(member, is_strict=is_strict)])
    assert refusal == f"Invalid schema for function 'look': {fault}"


@pytest.mark.parametrize(
    ("member", "fault"),
    [
        ({"description": "Anything."}, "schema must have a 'type' key."),
        ({"type": "array", "items": {}}, "schema must have a 'type' key."),
        ({"type": "object"}, "'additionalProperties' is required to be supplied and to be false."),
        (
            {**EMPTY, "properties": {"a": TEXT}},
            "'required' is required to be supplied and to be an array including every key in properties.",
        ),
    ],
)
def test_a_schema_that_a_model_cannot_be_held_to_is_refused_for_a_strict_tool_only(
    member: JsonObject, fault: str
) -> None:
    assert find_schema_refusal([offer(member, is_strict=True)]) == f"Invalid schema for function 'look': {fault}"
    assert find_schema_refusal([offer(member, is_strict=False)]) is None


def test_a_tool_without_properties_is_refused() -> None:
    refusal = find_schema_refusal([OfferedTool("look", {"type": "object"})])
    assert refusal == "Invalid schema for function 'look': In context=(), object schema missing properties."
