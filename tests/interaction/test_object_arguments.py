"""The input of a start and the arguments of a transition, in each form in which hosts send objects."""

import json
from typing import Any

import pytest

from signpost.model import JsonObject
from tests.support.function_tools import LEGACY, TENANT, FunctionToolClient
from tests.support.manifests import publish
from tests.support.memory_gateway import MODERN

NUMBER: JsonObject = {"type": "number"}
RUN_STEP: JsonObject = {
    "type": "object",
    "properties": {
        "workflowId": {"type": "string"},
        "expectedVersion": NUMBER,
        "transition": {"type": "string"},
        "arguments": {"type": "object"},
    },
    "required": ["workflowId", "expectedVersion", "transition"],
    "additionalProperties": False,
}
AMOUNT: JsonObject = {"type": "object", "properties": {"amount": NUMBER}, "additionalProperties": False}
MANIFEST: JsonObject = {
    "version": 1,
    "workflows": {
        "review": {
            "inputSchema": AMOUNT,
            "initialState": "open",
            "states": {
                "open": {
                    "transitions": {
                        "pay": {"target": "open", "inputSchema": AMOUNT, "output": {"amount": "$.arguments.amount"}},
                        "note": {
                            "target": "open",
                            "inputSchema": RUN_STEP,
                            "output": {"noted": "$.arguments.transition", "amount": "$.workflow.input.amount"},
                        },
                    }
                }
            },
        }
    },
}


@pytest.fixture(params=[(MODERN, "/mcp"), (LEGACY, "/mcp/flat")], ids=["modern", "legacy"])
def client(request: pytest.FixtureRequest) -> FunctionToolClient:
    client = FunctionToolClient(*request.param)
    adapters = client.gateway.adapters
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, MANIFEST)
    return client


def call(client: FunctionToolClient, tool: str, arguments: JsonObject) -> Any:
    return client.call(tool, arguments)["structuredContent"]


def start(client: FunctionToolClient, **fields: Any) -> Any:
    return call(client, "workflow.start", {"definitionId": "review", **fields})


def build_step(client: FunctionToolClient, transition: str) -> dict[str, Any]:
    run = start(client, input={"amount": 5})
    return {"workflowId": run["workflowId"], "expectedVersion": 1, "transition": transition}


@pytest.mark.invariant(147)
def test_a_transition_takes_its_arguments_as_json_text(client: FunctionToolClient) -> None:
    paid = call(client, "workflow.submit", {**build_step(client, "pay"), "arguments": '{"amount": 7}'})
    assert (paid["version"], paid["context"]) == (2, {"amount": 7})


@pytest.mark.invariant(147)
def test_a_start_takes_its_input_as_json_text_and_is_the_start_of_the_same_object(client: FunctionToolClient) -> None:
    inputs: list[Any] = ['{"amount": 5}', {"amount": 5}]
    assert len({start(client, input=sent, clientToken="t")["workflowId"] for sent in inputs}) == 1
    changed = start(client, input='{"amount": 6}', clientToken="t")
    assert changed["error"]["code"] == "ALREADY_STARTED"


@pytest.mark.invariant(147)
@pytest.mark.parametrize(
    "text",
    ["", "seven", "[7]", "null", '{"amount": NaN}', '{"amount": 1, "amount": 2}', '{"a":' * 101 + "1" + "}" * 101],
)
def test_a_text_that_is_no_json_object_is_refused_by_the_name_of_its_argument(
    client: FunctionToolClient, text: str
) -> None:
    step = build_step(client, "pay")
    refused = call(client, "workflow.submit", {**step, "arguments": text})
    assert refused["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    assert "the argument `arguments` is a text" in refused["error"]["message"]
    assert refused["links"][0]["args"] == {"workflowId": step["workflowId"]}
    assert call(client, "workflow.get", {"workflowId": step["workflowId"]})["version"] == 1
    assert "the argument `input` is a text" in start(client, input=text)["error"]["message"]


@pytest.mark.invariant(147)
@pytest.mark.parametrize("text", ['{"amount": "seven"}', '{"sum": 7}'])
def test_the_object_of_a_text_meets_the_schema_of_the_transition(client: FunctionToolClient, text: str) -> None:
    refused = call(client, "workflow.submit", {**build_step(client, "pay"), "arguments": text})
    assert (refused["error"]["code"], refused["version"]) == ("INPUT_SCHEMA_VIOLATION", 1)


@pytest.mark.invariant(148)
@pytest.mark.parametrize("own", [{"arguments": {"amount": 7}}, {"arguments": '{"amount": 7}'}])
def test_a_copy_of_the_call_in_its_arguments_counts_as_the_arguments_in_the_copy(
    client: FunctionToolClient, own: JsonObject
) -> None:
    step = build_step(client, "pay")
    paid = call(client, "workflow.submit", {**step, "arguments": {**step, **own}})
    assert (paid["version"], paid["context"]) == (2, {"amount": 7})


@pytest.mark.invariant(148)
def test_a_copy_of_a_call_without_arguments_has_none(client: FunctionToolClient) -> None:
    step = build_step(client, "pay")
    assert call(client, "workflow.submit", {**step, "arguments": step})["version"] == 2


@pytest.mark.invariant(148)
@pytest.mark.parametrize("change", [{"transition": "pay"}, {"expectedVersion": 2}, {"workflowId": "wf_1"}])
def test_arguments_that_name_another_call_stay_as_they_are(client: FunctionToolClient, change: JsonObject) -> None:
    step = build_step(client, "note")
    sent: Any = {**step, **change, "arguments": {"amount": 7}}
    noted = call(client, "workflow.submit", {**step, "arguments": sent})
    assert (noted["version"], noted["context"]) == (2, {"noted": sent["transition"], "amount": 5})


@pytest.mark.parametrize("tool", ["workflow.start", "workflow.submit"])
def test_the_schema_of_an_object_argument_says_that_it_may_be_json_text(client: FunctionToolClient, tool: str) -> None:
    client.endpoint = "/mcp"
    listed = {it["name"]: it for it in client.request("tools/list", {})["result"]["tools"]}
    member = listed[tool]["inputSchema"]["properties"]["input" if tool == "workflow.start" else "arguments"]
    assert member["anyOf"] == [{"type": "object"}, {"type": "string"}]
    assert json.dumps(member).count("JSON text") == 1
