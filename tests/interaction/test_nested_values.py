"""Values of mappings inside of lists and objects, as functions and child workflows get them through the gateway."""

from collections.abc import Mapping
from typing import Any

import pytest

from signpost.contract import HostedFunction
from tests.support.function_tools import TENANT, FunctionToolClient
from tests.support.manifests import publish, publish_documents
from tests.support.memory_gateway import MODERN

FIND = "trees::find"
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"tree": {"type": "string"}},
    "additionalProperties": False,
}
ARGUMENTS: Mapping[str, Any] = {
    "filter": {"tree": "$.arguments.tree", "tags": ["old", "$.workflow.input.tag"]},
    "sum": {"of": {"add": ["$.context.n", 1]}},
    "query": {"set": {"path": "$.store.book"}},
    "missing": {"deep": ["$.context.gone"]},
}
RESOLVED: Mapping[str, Any] = {
    "filter": {"tree": "oak", "tags": ["old", "big"]},
    "sum": {"of": 2},
    "query": {"path": "$.store.book"},
    "missing": {"deep": [None]},
}
FUNCTION: Mapping[str, Any] = {"kind": "function", "function": FIND, "arguments": ARGUMENTS}


def search(**step: Any) -> Mapping[str, Any]:
    """A workflow whose only step calls the function."""
    go = {"target": "b", "inputSchema": SCHEMA, "executor": FUNCTION, **step}
    states = {"a": {"transitions": {"go": go}}, "b": {"terminal": True}}
    return {"initialState": "a", "initialContext": {"n": 1}, "states": states}


class TreeClient(FunctionToolClient):
    """A client of a tenant that hosts one function."""

    def __init__(self) -> None:
        super().__init__(MODERN, "/mcp")
        self.host(HostedFunction(FIND))

    def publish(self, **manifest: Any) -> None:
        adapters = self.gateway.adapters
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, {"version": 1, **manifest})

    def publish_as_earlier_releases_did(self, **documents: Any) -> None:
        adapters = self.gateway.adapters
        publish_documents(adapters.content, adapters.values, adapters.definitions, TENANT, documents)

    def start(self, definition: str, **fields: Any) -> Any:
        return self.call("workflow.start", {"definitionId": definition, "input": fields})["structuredContent"]

    def go(self, run: Any, **arguments: Any) -> Any:
        args = {"workflowId": run["workflowId"], "expectedVersion": run["version"], "transition": "go"}
        return self.call("workflow.submit", {**args, "arguments": arguments})["structuredContent"]

    @property
    def received(self) -> Any:
        (call,) = self.calls
        return call["arguments"]


@pytest.fixture
def client() -> TreeClient:
    return TreeClient()


@pytest.mark.invariant(128)
def test_a_function_gets_the_values_inside_of_lists_and_objects(client: TreeClient) -> None:
    client.publish(workflows={"search": search()})
    assert client.go(client.start("search", tag="big"), tree="oak")["state"] == "b"
    assert client.received == RESOLVED


@pytest.mark.invariant(128)
def test_a_definition_of_an_earlier_release_sends_what_it_always_sent(client: TreeClient) -> None:
    client.publish_as_earlier_releases_did(search=search())
    client.go(client.start("search", tag="big"), tree="oak")
    assert client.received == {**ARGUMENTS, "query": {"path": "$.store.book"}}


@pytest.mark.invariant(128)
def test_a_run_keeps_its_definition_when_a_later_release_publishes_it_again(client: TreeClient) -> None:
    client.publish_as_earlier_releases_did(search=search())
    run = client.start("search", tag="big")
    client.publish(workflows={"search": search()})
    client.advance_clock(3)
    client.go(run, tree="oak")
    client.go(client.start("search", tag="big"), tree="oak")
    assert [call["arguments"]["filter"]["tree"] for call in client.calls] == ["$.arguments.tree", "oak"]


def test_a_fallback_gets_the_values_inside_of_lists_and_objects(client: TreeClient) -> None:
    broken: Mapping[str, Any] = {"kind": "function", "function": "trees::gone", "arguments": {}}
    client.publish(workflows={"search": search(executor=broken, reliability={"fallback": {"executors": [FUNCTION]}})})
    assert client.go(client.start("search", tag="big"), tree="oak")["state"] == "b"
    assert client.received == RESOLVED


def test_a_capability_sends_the_values_inside_of_lists_and_objects(client: TreeClient) -> None:
    arguments = {"filter": {"tree": "$.arguments.tree"}}
    executor = {"kind": "function", "function": FIND, "arguments": arguments}
    client.publish(proxy={"expose": [{"name": "trees.find", "inputSchema": SCHEMA, "executor": executor}]})
    client.start("proxy_default", capability="trees.find", tree="oak")
    assert client.received == {"filter": {"tree": "oak"}}


def test_on_entering_a_state_a_function_gets_the_values_inside_of_lists(client: TreeClient) -> None:
    executor = {"kind": "function", "function": FIND, "arguments": {"tags": ["$.context.n", "$.workflow.input.tag"]}}
    entry = {"executor": executor, "output": {"kept": {"tags": ["$.output.tags"]}}}
    client.publish(workflows={"enter": {"initialState": "a", "states": {"a": {"onEnter": entry, "terminal": True}},
                                        "initialContext": {"n": 1}}})  # fmt: skip
    run = client.start("enter", tag="big")
    assert client.received == {"tags": [1, "big"]}
    assert run["context"]["kept"] == {"tags": [[1, "big"]]}


def test_a_child_workflow_gets_the_values_inside_of_lists_and_objects(client: TreeClient) -> None:
    child = {"kind": "workflow", "definitionId": "child", "input": {"order": {"tree": "$.arguments.tree"}}}
    hop = {"target": "end", "actor": "deterministic", "output": {"tree": "$.workflow.input.order.tree"}}
    inner = {"initialState": "begin", "states": {"begin": {"transitions": {"hop": hop}}, "end": {"terminal": True}}}
    parent = search(executor=child, output={"found": {"in": "$.output.tree"}})
    client.publish(workflows={"search": parent, "child": inner})
    assert client.go(client.start("search"), tree="oak")["context"] == {"n": 1, "found": {"in": "oak"}}


def test_a_link_is_prefilled_inside_of_lists_and_objects(client: TreeClient) -> None:
    go = {"target": "b", "prefill": {"filter": {"n": "$.context.n"}, "list": ["$.workflow.input.tag"]}}
    states = {"a": {"transitions": {"go": go}}, "b": {"terminal": True}}
    client.publish(workflows={"fill": {"initialState": "a", "initialContext": {"n": 1}, "states": states}})
    link = next(link for link in client.start("fill", tag="big")["links"] if link["rel"] == "transition")
    assert link["args"]["arguments"] == {"filter": {"n": 1}, "list": ["big"]}
