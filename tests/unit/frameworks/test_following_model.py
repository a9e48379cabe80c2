"""The model that follows links calls only what it is offered, by the names that links give."""

import json
from collections.abc import Sequence

import pytest

from signpost.model import JsonObject
from tests.frameworks.following_model import MOST_CALLS, FollowingModel, OfferedTool, ToolCall, format_end
from tests.frameworks.gateway_answers import read_answer

ANY: JsonObject = {"type": "object"}
HOME: JsonObject = {
    "items": [
        {"title": "Another", "links": [{"rel": "start", "method": "workflow.start", "args": {"definitionId": "b"}}]},
        {
            "title": "Office move",
            "links": [{"rel": "start", "method": "workflow.start", "args": {"definitionId": "a"}}],
        },
    ]
}
STEP: JsonObject = {
    "workflowId": "wf_1",
    "links": [
        {"rel": "self", "method": "workflow.get", "args": {"workflowId": "wf_1"}},
        {
            "rel": "transition",
            "method": "workflow.submit",
            "args": {
                "workflowId": "wf_1",
                "expectedVersion": 2,
                "transition": "count",
                "arguments": {"floor": "third"},
            },
            "inputSchema": {
                "type": "object",
                "properties": {
                    "floor": {"enum": ["second", "third"]},
                    "desks": {"type": "integer", "minimum": 3},
                    "note": {"type": "string"},
                },
                "required": ["floor", "desks"],
            },
        },
    ],
}
MODEL = FollowingModel("Office move")


def offer(*names: str) -> Sequence[OfferedTool]:
    return [OfferedTool(name, ANY) for name in names]


def test_the_model_begins_with_the_tool_of_the_workflow() -> None:
    schema: JsonObject = {"type": "object", "properties": {"team": {"type": "string"}}, "required": ["team"]}
    tools = [*offer("gateway.home"), OfferedTool("workflow:Office move", schema)]
    assert MODEL.decide(tools, []) == ToolCall("workflow:Office move", {"team": "as usual"})


@pytest.mark.parametrize("name", ["gateway.home", "gateway_home", "signpost_gateway_home", "signpost-gateway_home"])
def test_the_model_begins_with_the_list_if_the_workflow_is_no_tool(name: str) -> None:
    assert MODEL.decide(offer("workflow.get", name), []) == ToolCall(name, {})


def test_the_model_says_which_tools_there_are_if_none_begins() -> None:
    assert MODEL.decide(offer("skill:price"), []) == "No tool starts the workflow Office move: skill:price"


def test_the_model_follows_the_start_link_of_its_workflow() -> None:
    assert MODEL.decide(offer("workflow.start"), [json.dumps(HOME)]) == ToolCall(
        "workflow.start", {"definitionId": "a"}
    )


def test_the_model_keeps_prefilled_arguments_and_leaves_optional_ones_out() -> None:
    decided = MODEL.decide(offer("workflow.submit"), [json.dumps(STEP)])
    assert isinstance(decided, ToolCall)
    assert decided.arguments["arguments"] == {"floor": "third", "desks": 3}


def test_the_model_refuses_a_link_to_a_tool_in_another_spelling() -> None:
    decided = MODEL.decide(offer("workflow_submit"), [json.dumps(STEP)])
    assert decided == "A link names the tool workflow.submit, and only these are offered: workflow_submit"


def test_the_model_finds_a_tool_behind_the_name_of_its_server() -> None:
    decided = MODEL.decide(offer("signpost_workflow.submit"), [json.dumps(STEP)])
    assert isinstance(decided, ToolCall)
    assert decided.name == "signpost_workflow.submit"


def test_the_model_sends_null_for_what_a_framework_requires_and_allows_to_be_null() -> None:
    schema: JsonObject = {
        "properties": {"cursor": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "kind": {"type": "string"}},
        "required": ["cursor", "kind"],
    }
    assert MODEL.decide([OfferedTool("gateway.home", schema)], []) == ToolCall("gateway.home", {"cursor": None})


def test_the_model_ends_with_the_run() -> None:
    answer: JsonObject = {"workflowId": "wf_1", "state": "moved", "terminal": True, "links": []}
    assert MODEL.decide(offer("workflow.submit"), [json.dumps(answer)]) == format_end("wf_1", "moved")


@pytest.mark.parametrize("refusal", [{"error": {"code": "NOT_FOUND"}, "links": []}, {"message": "no"}])
def test_the_model_ends_with_the_result_if_a_call_failed(refusal: JsonObject) -> None:
    decided = MODEL.decide(offer("workflow.submit"), [json.dumps(refusal)])
    assert isinstance(decided, str)
    assert ("NOT_FOUND" if "error" in refusal else '"message": "no"') in decided


def test_the_model_does_not_call_for_ever() -> None:
    decided = MODEL.decide(offer("workflow.submit"), [json.dumps(STEP)] * MOST_CALLS)
    assert isinstance(decided, str)
    assert decided.startswith(f"Stopped after {MOST_CALLS} calls.")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(STEP),
        json.dumps([{"type": "text", "text": json.dumps(STEP)}]),
        json.dumps({"content": [{"type": "text", "text": json.dumps(STEP)}], "structuredContent": STEP}),
        f"[TextContent(type='text', text='{json.dumps(STEP)}', annotations=None)]",
        f"Result {{of}} the tool:\n{json.dumps(STEP, indent=2)}",
    ],
)
def test_an_answer_is_found_in_the_form_of_each_framework(text: str) -> None:
    assert read_answer(text) == STEP


def test_a_text_without_links_is_no_answer() -> None:
    assert read_answer('Error: {"code": 3} {') is None
