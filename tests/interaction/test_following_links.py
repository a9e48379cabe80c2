"""A model that calls only the tools that it is offered, by the names that links give, drives a workflow to its end at
every endpoint that lists one, also behind hosts that change the arguments before they send them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from signpost.model import Json, JsonObject, as_object
from tests.frameworks.following_model import FollowingModel, OfferedTool, format_end
from tests.frameworks.office_move import EXPECTED_CONTEXT, LAST_STATE, LAST_VERSION, MANIFEST, TITLE
from tests.frameworks.strict_arguments import constrain
from tests.support.manifests import publish
from tests.support.memory_gateway import GatewayAnswer, MemoryGateway, build_modern_request
from tests.support.tool_answers import read_tool_answer

TENANT = "default"
type Host = Callable[[OfferedTool, JsonObject], JsonObject]


def send_as_called(_tool: OfferedTool, arguments: JsonObject) -> JsonObject:
    return arguments


def send_null_for_optional(tool: OfferedTool, arguments: JsonObject) -> JsonObject:
    """Return the arguments as hosts send them that make a class of each schema: every property, null where the model
    gave none."""
    properties: Any = tool.input_schema.get("properties", {})
    return {**dict.fromkeys(properties), **arguments}


def send_what_closed_objects_take(tool: OfferedTool, arguments: JsonObject) -> JsonObject:
    """Return the arguments as a model writes them whose host closes every object that declares no members."""
    return as_object(constrain(arguments, as_object(_close(tool.input_schema))))


def send_the_call_as_arguments(tool: OfferedTool, arguments: JsonObject) -> JsonObject:
    """Return the arguments as a host sends them whose own word for those of a call is `arguments`."""
    return (
        {**arguments, "arguments": arguments}
        if "arguments" in as_object(tool.input_schema["properties"])
        else arguments
    )


def _close(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_close(choice) for choice in schema]
    if not isinstance(schema, dict):
        return schema
    closed: JsonObject = {"additionalProperties": False} if schema.get("type") == "object" else {}
    return {**{keyword: _close(operand) for keyword, operand in schema.items()}, **closed}


@pytest.fixture
def gateway() -> MemoryGateway:
    gateway = MemoryGateway()
    adapters = gateway.adapters
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, MANIFEST)
    return gateway


@dataclass(frozen=True, slots=True)
class Connection:
    """A client of one tenant at one URL."""

    gateway: MemoryGateway
    path: str
    query: Mapping[str, str]
    key: str

    def request(self, method: str, **params: Any) -> GatewayAnswer:
        message, headers = build_modern_request(method, params)
        sent = {**headers, "authorization": f"Bearer {self.key}"}
        return self.gateway.send(path=self.path, body=json.dumps(message), headers=sent, query=self.query)

    def list_tools(self) -> Sequence[OfferedTool]:
        listed = self.request("tools/list").json["result"]["tools"]
        return [OfferedTool(tool["name"], tool["inputSchema"]) for tool in listed]

    def call(self, name: str, arguments: JsonObject) -> Any:
        return read_tool_answer(self.request("tools/call", name=name, arguments=arguments))


def converse(connection: Connection, send: Host) -> str:
    """Let the model drive, and return its last text."""
    model, tools, results = FollowingModel(TITLE), connection.list_tools(), list[str]()
    by_name = {tool.name: tool for tool in tools}
    while not isinstance(decided := model.decide(tools, results), str):
        arguments = send(by_name[decided.name], decided.arguments)
        results.append(json.dumps(connection.call(decided.name, arguments)))
    return decided


@pytest.mark.parametrize(
    "send", [send_as_called, send_null_for_optional, send_what_closed_objects_take, send_the_call_as_arguments]
)
@pytest.mark.parametrize("query", [{}, {"names": "portable"}], ids=["as they are", "portable"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/flat"])
def test_a_model_that_follows_links_comes_to_the_end(
    gateway: MemoryGateway, path: str, query: Mapping[str, str], send: Host
) -> None:
    connection = Connection(gateway, path, query, str(gateway.make_key(tenant=TENANT)))
    last_text = converse(connection, send)
    workflow_id = last_text.split(" ")[2]
    assert last_text == format_end(workflow_id, LAST_STATE)
    run = connection.call("workflow.get", {"workflowId": workflow_id})
    assert (run["version"], run["context"]) == (LAST_VERSION, EXPECTED_CONTEXT)
