"""Arguments that hosts send and models leave out: null for optional ones, and arguments of the host's own."""

from typing import Any

import pytest

from signpost.content.callers import Caller
from signpost.contract import HostedFunction, Result
from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.model import InputRequired, JsonObject, Principal
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from tests.support.function_tools import LEGACY, TENANT, FunctionToolClient, read_text
from tests.support.manifests import publish
from tests.support.memory_gateway import MODERN

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "note": {"type": "string"},
        "size": {"$ref": "#/$defs/size"},
        "mode": {"enum": ["fast", "slow"], "default": "fast"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "any": {},
        "deep": {"type": "object", "properties": {"x": {"type": "string"}}},
    },
    "required": ["id"],
    "additionalProperties": False,
    "$defs": {"size": {"type": "integer"}},
}
SENT: JsonObject = {"id": "i", "note": None, "size": None, "mode": None, "maybe": None, "any": None}
SUBMISSION: JsonObject = {"workflowId": "wf_1", "expectedVersion": 1, "transition": "go"}
KEPT: JsonObject = {"id": "i", "maybe": None, "any": None}
"""Null is a value where the schema takes it."""
MANIFEST: Any = {
    "version": 1,
    "proxy": {
        "expose": [{"name": "look", "inputSchema": SCHEMA, "executor": {"kind": "function", "function": "yard::look"}}]
    },
    "workflows": {
        "review": {
            "inputSchema": SCHEMA,
            "initialState": "open",
            "states": {
                "open": {
                    "transitions": {
                        "go": {
                            "target": "open",
                            "inputSchema": SCHEMA,
                            "executor": {"kind": "function", "function": "yard::look"},
                        }
                    }
                }
            },
        }
    },
}


@pytest.fixture(params=[MODERN, LEGACY])
def client(request: pytest.FixtureRequest) -> FunctionToolClient:
    client = FunctionToolClient(request.param, "/mcp/flat")
    client.host(HostedFunction("yard::look", name="look", input_schema=SCHEMA))
    adapters = client.gateway.adapters
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, MANIFEST)
    client.advance_clock(3)
    return client


@pytest.mark.invariant(121)
@pytest.mark.parametrize(("path", "name"), [("/mcp/flat", "skill:look"), ("/mcp/functions", "yard__look")])
def test_null_for_an_optional_argument_of_a_function_counts_as_left_out(
    client: FunctionToolClient, path: str, name: str
) -> None:
    client.endpoint = path
    assert client.call(name, SENT)["isError"] is False
    assert client.calls[-1]["arguments"] == KEPT


@pytest.mark.invariant(121)
def test_null_for_the_generic_arguments_of_a_skill_counts_as_left_out(client: FunctionToolClient) -> None:
    client.host(
        HostedFunction(
            "yard::open", name="open", input_schema={"type": "object", "properties": {"id": {"type": "string"}}}
        )
    )
    client.advance_clock(3)
    assert client.call("skill:open", {"id": "i", "input": None, "config": None})["isError"] is False
    assert client.calls[-1]["arguments"] == {"id": "i"}


TREE: JsonObject = {"type": "object", "properties": {"child": {"$ref": "#"}}}
NODE: JsonObject = {"$ref": "#/$defs/node"}
TEXT: JsonObject = {"type": "string"}
NULL_OR_TEXT: JsonObject = {"type": ["null", "string"]}


@pytest.mark.invariant(121)
@pytest.mark.parametrize(
    ("schema", "is_kept"),
    [
        (TREE, False),
        ({"$defs": {"node": {"anyOf": [{"type": "null"}, TREE]}}, "properties": {"child": NODE}}, True),
        ({"properties": {"child": {"$ref": "#/properties/other"}, "other": NULL_OR_TEXT}}, True),
        (
            {"properties": {"child": {"$ref": "#/patternProperties/^o"}}, "patternProperties": {"^o": TEXT}},
            False,
        ),
        ({"properties": {"child": {"$ref": "#/additionalProperties"}}, "additionalProperties": NULL_OR_TEXT}, True),
        ({"$anchor": "tree", "properties": {"child": {"$ref": "#tree"}}}, False),
        ({"properties": {"child": {}}, "patternProperties": {"^c": TEXT}}, False),
        ({"properties": {"child": {"not": {"type": "string"}}}, "minProperties": 2}, True),
    ],
    ids=["the whole", "null or the whole", "another", "of a pattern", "of others", "an anchor", "a pattern", "not"],
)  # fmt: skip
def test_null_is_kept_exactly_where_a_reference_leads_to_a_schema_that_takes_it(
    schema: JsonObject, is_kept: bool
) -> None:
    client = FunctionToolClient(MODERN, "/mcp/functions")
    client.host(HostedFunction("yard::look", input_schema=schema))
    sent: JsonObject = {"child": None, "a": 1} if "minProperties" in schema else {"child": None}
    result = client.call("yard__look", sent)
    assert result["isError"] is False, result
    assert ("child" in client.calls[-1]["arguments"]) is is_kept


@pytest.mark.invariant(121)
@pytest.mark.parametrize(("path", "name"), [("/mcp/flat", "skill:look"), ("/mcp/functions", "yard__look")])
@pytest.mark.parametrize(("arguments", "field"), [({"id": None}, "id"), ({"id": "i", "deep": {"x": None}}, "deep.x")])
def test_null_for_a_required_or_deeper_argument_is_refused_by_name(
    client: FunctionToolClient, path: str, name: str, arguments: JsonObject, field: str
) -> None:
    client.endpoint = path
    refused = client.call(name, arguments)
    assert (refused["isError"], f"`{field}`" in read_text(refused), client.calls) == (True, True, [])


@pytest.mark.invariant(121)
def test_null_in_the_input_of_a_workflow_and_in_arguments_counts_as_left_out(client: FunctionToolClient) -> None:
    for name, arguments in (
        ("workflow:review", SENT),
        ("workflow.start", {"definitionId": "review", "input": SENT, "clientToken": None}),
    ):
        started = client.call(name, arguments)["structuredContent"]
        step: Any = {"workflowId": started["workflowId"], "expectedVersion": 1, "transition": "go"}
        assert "error" not in client.call("workflow.submit", {**step, "arguments": SENT})["structuredContent"]
        assert client.calls[-1]["arguments"] == {**KEPT, "mode": "fast"}
    refused = client.call("workflow.start", {"definitionId": "review", "input": {"id": None}})["structuredContent"]
    assert (refused["error"]["code"], "`id`" in refused["error"]["message"]) == ("INPUT_SCHEMA_VIOLATION", True)


@pytest.mark.invariant(121)
def test_a_capability_with_null_for_optional_arguments_runs_at_once(client: FunctionToolClient) -> None:
    done = client.call("workflow.start", {"input": {"capability": "look", **SENT}})["structuredContent"]
    assert (done["version"], client.calls[-1]["arguments"]) == (2, {**KEPT, "mode": "fast"})


@pytest.mark.invariant(121)
def test_a_start_that_is_repeated_without_its_nulls_is_the_same_start(client: FunctionToolClient) -> None:
    inputs = (SENT, KEPT, {**KEPT, "note": None})
    answers = [
        client.call("workflow.start", {"definitionId": "review", "clientToken": "t", "input": given})[
            "structuredContent"
        ]
        for given in inputs
    ]
    assert len({answer["workflowId"] for answer in answers}) == 1


@pytest.mark.invariant(121)
def test_every_gateway_tool_takes_null_for_its_optional_arguments(client: FunctionToolClient) -> None:
    client.endpoint = "/mcp"
    run = client.call("workflow.start", {"definitionId": "review", "input": {"id": "i"}})["structuredContent"]
    required: dict[str, JsonObject] = {
        "gateway.describe": {"id": "review"},
        "workflow.get": {"workflowId": run["workflowId"]},
        "workflow.submit": {"workflowId": run["workflowId"], "expectedVersion": 1, "transition": "go"},
        "workflow.explain": {"definitionId": "review"},
    }
    for tool in GATEWAY_TOOLS:
        properties: Any = tool.input_schema["properties"]
        sent = {**dict.fromkeys(properties, None), **required.get(tool.name, {})}
        answer = client.call(tool.name, sent)["structuredContent"]
        code = answer.get("error", {}).get("code")
        assert code in ((None, "INPUT_SCHEMA_VIOLATION") if tool.name == "workflow.submit" else (None,)), answer
    refused = client.call("gateway.describe", {"id": None})["structuredContent"]
    assert "`id`" in refused["error"]["message"]


def test_home_ignores_arguments_that_it_does_not_know(client: FunctionToolClient) -> None:
    client.endpoint = "/mcp"
    sendings: list[JsonObject] = [{"random_string": "x"}, {"cursor": None}, {"_": {}, "query": "look"}]
    for sent in sendings:
        answer = client.call("gateway.home", sent)
        assert (answer["isError"], "items" in answer["structuredContent"]) == (False, True)


@pytest.mark.parametrize(
    ("name", "arguments", "unknown", "probable"),
    [
        ("gateway.search", {"querry": "x"}, "querry", "query"),
        ("gateway.describe", {"id": "review", "kinds": 1}, "kinds", None),
        ("workflow.start", {"definitionID": "review"}, "definitionID", "definitionId"),
        ("workflow.get", {"workflowId": "wf_1", "version": 1}, "version", None),
        ("workflow.submit", {**SUBMISSION, "argument": {}}, "argument", "arguments"),
        ("workflow.explain", {"definitionId": "review", "transitions": "go"}, "transitions", "transition"),
        ("skill__fetch", {"urls": ["iii://skills"]}, "urls", "uris"),
        ("catalog", {"categroy": "x"}, "categroy", "category"),
        ("skill:look", {"id": "i", "notes": "x"}, "notes", "note"),
        ("workflow:review", {"id": "i", "notes": "x"}, "notes", "note"),
    ],
)
def test_other_tools_refuse_unknown_arguments_by_name(
    client: FunctionToolClient, name: str, arguments: JsonObject, unknown: str, probable: str | None
) -> None:
    refused = client.call(name, arguments)
    text = refused["content"][0]["text"]
    assert (refused["isError"], unknown in text) == (True, True)
    assert (f"Did you mean {probable}?" in text) == (probable is not None), text


@pytest.mark.invariant(121)
def test_null_for_an_argument_of_a_prompt_counts_as_left_out_unless_it_is_required(client: FunctionToolClient) -> None:
    functions = client.gateway.composition.documents.functions
    caller = Caller(TENANT, Principal("operator", TENANT, "t"), client.gateway.clock.now() + 20)
    arguments = [{"name": "who", "required": True}, {"name": "tone"}]
    prompt: Any = {"name": "greet", "description": "Greets.", "function_id": "yard::look", "arguments": arguments}
    functions.call("prompts::register", prompt, caller)
    client.advance_clock(3)
    client.replies["yard::look"] = Result("Hello!")
    told = client.request("prompts/get", {"name": "greet", "arguments": {"who": "Ada", "tone": None}})
    assert told["result"]["messages"][0]["content"]["text"] == "Hello!"
    assert client.calls[-1]["arguments"] == {"who": "Ada"}
    refused = client.request("prompts/get", {"name": "greet", "arguments": {"who": None, "tone": "kind"}})
    assert (refused["error"]["code"], "`who`" in refused["error"]["message"]) == (-32602, True)
    assert len(client.calls) == 1


@pytest.mark.invariant(121)
def test_sealed_state_is_bound_to_arguments_without_their_nulls() -> None:
    client = FunctionToolClient(MODERN, "/mcp/flat")
    client.host(HostedFunction("yard::look", name="look", input_schema=SCHEMA))
    meta: JsonObject = {CLIENT_CAPABILITIES: {"elicitation": {}}}
    form: JsonObject = {
        "method": "elicitation/create",
        "params": {
            "message": "Who?",
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    }
    for first, second in ((SENT, KEPT), (KEPT, SENT)):
        client.replies["yard::look"] = InputRequired({"who": form}, state={"step": 1})
        asked = client.request("tools/call", {"name": "skill:look", "arguments": first, "_meta": meta})["result"]
        del client.replies["yard::look"]
        answers: JsonObject = {"who": {"action": "decline"}}
        again: JsonObject = {"inputResponses": answers, "requestState": asked["requestState"], "_meta": meta}
        done = client.request("tools/call", {"name": "skill:look", "arguments": second, **again})
        assert done["result"]["isError"] is False
        assert client.calls[-1]["arguments"] == KEPT
