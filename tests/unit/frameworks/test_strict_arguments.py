"""A model that its API holds to a schema can only write what the schema has."""

import pytest

from signpost.model import Json, JsonObject
from tests.frameworks.following_model import FollowingModel, OfferedTool, ToolCall
from tests.frameworks.strict_arguments import constrain

CLOSED: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
OPEN: JsonObject = {"type": "object"}
TEXT: JsonObject = {"type": "string"}
NULL: JsonObject = {"type": "null"}


def hold(arguments: JsonObject) -> JsonObject:
    """Return the schema of a tool with one argument."""
    return {"type": "object", "properties": {"arguments": arguments}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (OPEN, {"desks": 1}),
        (CLOSED, {}),
        ({"anyOf": [CLOSED, NULL]}, {}),
        ({"anyOf": [OPEN, NULL]}, {"desks": 1}),
        ({"anyOf": [CLOSED, TEXT]}, '{"desks": 1}'),
        ({"anyOf": [TEXT, NULL]}, {"desks": 1}),
    ],
)
def test_members_that_a_closed_object_lacks_cannot_be_written(schema: JsonObject, expected: Json) -> None:
    assert constrain({"arguments": {"desks": 1}}, hold(schema)) == {"arguments": expected}


@pytest.mark.parametrize(("is_strict", "expected"), [(False, {"x": 1}), (True, {})])
def test_only_a_strict_tool_holds_the_model_to_its_schema(*, is_strict: bool, expected: JsonObject) -> None:
    answer = '{"links": [{"rel": "transition", "method": "workflow.submit", "args": {"x": 1}}]}'
    decided = FollowingModel("any").decide([OfferedTool("workflow.submit", CLOSED, is_strict)], [answer])
    assert decided == ToolCall("workflow.submit", expected)
