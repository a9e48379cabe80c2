"""With `?names=portable` every text and link of the gateway names a tool as the client's host lists it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from signpost.adapters.memory import MemoryDirectory
from signpost.contract import Executor, HostedFunction
from signpost.mcp.names import portable_names, simplify_name
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from tests.support.manifests import publish
from tests.support.memory_gateway import MemoryGateway, build_modern_request
from tests.support.tool_answers import read_tool_answer

TENANT = "default"
NAMES = [tool.name for tool in GATEWAY_TOOLS]
TRICKY = "workflow.get, gateway.home and workflow.submit"
"""A value of an author that has names of tools in it. It is never respelled."""
MANIFEST: Any = {
    "version": 1,
    "proxy": {"expose": [{"name": "workflow.get", "title": TRICKY, "description": TRICKY}]},
    "workflows": {
        "review": {
            "title": "Review",
            "description": TRICKY,
            "initialState": "open",
            "initialContext": {
                "links": [{"method": "workflow.get"}],
                "items": [{"links": [{"method": "gateway.home"}]}],
            },
            "states": {
                "open": {
                    "guidance": TRICKY,
                    "transitions": {
                        "workflow.get": {
                            "target": "open",
                            "title": TRICKY,
                            "prefill": {"method": "workflow.submit"},
                            "output": {"said": "$.arguments.method"},
                        }
                    },
                }
            },
        }
    },
}


class PortableClient:
    """A client of one endpoint whose host takes portable names only."""

    def __init__(self, path: str, *, by_setting: bool = False) -> None:
        self.gateway = MemoryGateway(None, **({"TOOL_NAMES": "portable"} if by_setting else {}))
        self.path, self.key = path, str(self.gateway.make_key())
        self._query = {} if by_setting else {"names": "portable"}
        adapters = self.gateway.adapters
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, MANIFEST)
        executor = Executor("arn:yard", "secret:yard", 60_000)
        hosted = [HostedFunction("yard::patient", name="patient", timeout_ms=40_000)]
        assert MemoryDirectory(self.gateway.functions).place(TENANT, executor, hosted) == []

    def request(self, method: str, **params: Any) -> Any:
        return self.gateway.request(method, params, credential=self.key, path=self.path, query=self._query)

    def call(self, name: str, **arguments: Any) -> Any:
        return read_tool_answer(self.request("tools/call", name=name, arguments=arguments))

    def list_tools(self) -> list[Any]:
        return self.request("tools/list").json["result"]["tools"]

    def names_listed_or_hidden(self) -> set[str]:
        hidden = {simplify_name(name) for name in (*NAMES, "catalog", "skill__fetch")}
        return {tool["name"] for tool in self.list_tools()} | hidden

    def initialize(self) -> str:
        return self.request("server/discover").json["result"]["instructions"]


def links_in(answer: Any) -> Iterator[Any]:
    yield from answer.get("links", [])
    for item in (*answer.get("items", []), *(result["item"] for result in answer.get("results", []))):
        yield from item["links"]


@pytest.fixture(params=["/mcp", "/mcp/flat", "/mcp/functions"])
def client(request: pytest.FixtureRequest) -> PortableClient:
    return PortableClient(request.param)


@pytest.mark.invariant(119)
def test_links_of_every_answer_name_listed_tools(client: PortableClient) -> None:
    started = client.call("workflow_start", definitionId="review")
    run: Any = {"workflowId": started["workflowId"]}
    answers = [
        started,
        client.call("gateway_home"),
        client.call("gateway_search", query="review"),
        client.call("gateway_describe", id="review"),
        client.call("gateway_describe", id="reviw"),
        client.call("workflow_get", **run),
        client.call("workflow_get", workflowId="wf_none"),
        client.call("workflow_submit", **run, expectedVersion=1, transition="workflow.get", arguments={"method": "m"}),
        client.call("workflow_submit", **run, expectedVersion=1, transition="workflow.get"),
        client.call("workflow_submit", **run, expectedVersion="one", transition="workflow.get"),
        client.call("workflow_explain", definitionId="none"),
    ]
    known = client.names_listed_or_hidden()
    methods = [link["method"] for answer in answers for link in links_in(answer)]
    assert len(methods) > 15
    assert {method for method in methods if method not in known} == set()
    for answer in answers:
        for link in links_in(answer):
            assert client.request("tools/call", name=link["method"], arguments=link["args"]).status == 200


@pytest.mark.invariant(119)
def test_values_of_authors_and_runs_keep_the_names_in_them(client: PortableClient) -> None:
    started = client.call("workflow_start", definitionId="review")
    assert started["context"] == MANIFEST["workflows"]["review"]["initialContext"]
    assert started["guidance"] == {"instructions": TRICKY}
    (link,) = started["links"]
    assert (link["title"], link["args"]["transition"]) == (TRICKY, "workflow.get")
    assert link["args"]["arguments"] == {"method": "workflow.submit"}
    taken = client.call(link["method"], **link["args"])
    assert taken["context"]["said"] == "workflow.submit"
    again = {**link["args"], "expectedVersion": taken["version"], "transition": "workflow.gets"}
    refused = client.call("workflow_submit", **again)
    assert "workflow.gets" in refused["error"]["message"]
    assert "Did you mean workflow.get?" in refused["error"]["message"]
    described = client.call("gateway_describe", id="workflow.get")
    assert (described["id"], described["title"], described["description"]) == ("workflow.get", TRICKY, TRICKY)


@pytest.mark.invariant(119)
def test_texts_of_the_gateway_name_tools_as_they_are_listed(client: PortableClient) -> None:
    own = [tool for tool in client.list_tools() if tool["name"] in map(simplify_name, (*NAMES, "skill__fetch"))]
    in_catalog: list[Any] = client.call("catalog", type="tools")["tools"] if client.path == "/mcp/flat" else []
    own += [tool for tool in in_catalog if not tool["name"].startswith(("skill_", "workflow_review"))]
    texts = [client.initialize(), *(json.dumps(tool) for tool in own)]
    for text in texts:
        assert [name for name in NAMES if name in text] == []
    refused = [
        client.call("gateway_describe", id="none"),
        client.call("gateway_describe"),
        client.call("gateway_home", cursor="made up"),
        client.call("workflow_start", definitionId="none"),
        client.call("workflow_start", definitionId="review", inputs={}),
        client.call("workflow_explain", definitionId="review", transition="none"),
    ]
    for answer in refused:
        assert [name for name in NAMES if name in answer["error"]["message"]] == []


@pytest.mark.invariant(119)
def test_a_start_without_a_capability_names_no_tool_in_another_spelling() -> None:
    client = PortableClient("/mcp")
    publish_nothing: Any = {"version": 1, "proxy": {"expose": []}, "workflows": {}}
    adapters = client.gateway.adapters
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, publish_nothing)
    client.gateway.clock.advance(3)
    refused = client.call("workflow_start", input={})
    assert refused["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    assert [name for name in NAMES if name in refused["error"]["message"]] == []
    (home,) = [link for link in refused["links"] if link["rel"] == "home"]
    assert [item["id"] for item in client.call(home["method"], **home["args"])["items"]] == ["patient"]


@pytest.mark.invariant(119)
def test_a_repeated_token_is_refused_with_a_link_to_its_run(client: PortableClient) -> None:
    started = client.call("workflow_start", definitionId="review", clientToken="t")
    refused = client.call("workflow_start", definitionId="review", clientToken="t", input={"other": 1})
    assert refused["error"]["code"] == "ALREADY_STARTED"
    assert "workflow.get" not in refused["error"]["message"]
    itself = refused["links"][0]
    assert (itself["rel"], client.call(itself["method"], **itself["args"])["workflowId"]) == (
        "self",
        started["workflowId"],
    )


@pytest.mark.invariant(119)
@pytest.mark.parametrize(("path", "name"), [("/mcp/flat", "skill_patient"), ("/mcp/functions", "yard__patient")])
def test_a_long_call_names_the_tool_that_reads_its_run_as_listed(path: str, name: str) -> None:
    client = PortableClient(path)
    result = client.request("tools/call", name=name, arguments={}).json["result"]
    text = result["content"][0]["text"]
    assert ("Call workflow_get with" in text, "workflow.get" in text) == (True, False)
    assert {link["method"] for link in result["structuredContent"]["links"]} == {"workflow_get", "workflow_submit"}
    assert {"workflow_get", "workflow_submit"} <= {tool["name"] for tool in client.list_tools()}


@pytest.mark.invariant(119)
def test_instructions_of_the_flat_endpoint_name_prefixes_as_they_are_listed() -> None:
    text = PortableClient("/mcp/flat").initialize()
    assert ("`skill_<name>`" in text, "`workflow_<title>`" in text, "skill:" in text) == (True, True, False)


@pytest.mark.invariant(119)
def test_a_tool_that_shares_its_portable_name_is_linked_by_the_name_that_is_listed() -> None:
    client = PortableClient("/mcp/flat")
    get: Any = {"workflows": {"get": {**MANIFEST["workflows"]["review"], "title": "get"}}, "version": 1}
    adapters = client.gateway.adapters
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, get)
    client.gateway.clock.advance(3)
    spelled = portable_names(["workflow.get", "workflow:get"])
    listed = {tool["name"] for tool in client.list_tools()}
    assert set(spelled.values()) <= listed
    assert "workflow_get" not in listed
    refused = client.call("workflow_submit", workflowId="wf_1", expectedVersion=1)
    assert refused["links"][0]["method"] == spelled["workflow.get"]


@pytest.mark.invariant(119)
def test_the_parameter_of_the_deployment_does_the_same_without_a_query() -> None:
    client = PortableClient("/mcp", by_setting=True)
    assert [tool["name"] for tool in client.list_tools()] == [simplify_name(name) for name in NAMES]
    started = client.call("workflow_start", definitionId="review")
    assert {link["method"] for link in started["links"]} == {"workflow_submit"}
    assert "workflow_submit" in client.initialize()


@pytest.mark.invariant(119)
def test_links_to_methods_of_the_protocol_keep_them() -> None:
    from signpost.mcp.tool_names import spell_links  # noqa: PLC0415 - beside the gateway's own answers

    answer: Any = {"links": [{"method": "resources/read"}, {"method": "prompts/get"}, {"method": "workflow.get"}]}
    spelled: Any = spell_links(answer, lambda name: {"workflow.get": "workflow_get"}.get(name, name))
    assert [link["method"] for link in spelled["links"]] == ["resources/read", "prompts/get", "workflow_get"]


def test_a_mistyped_tool_is_answered_with_a_suggestion_and_the_portable_names() -> None:
    gateway = MemoryGateway()
    for name, query, said in (
        ("gateway.hone", {}, "Did you mean gateway.home? If your host changes the names of tools, add ?names=portable"),
        ("gateway.hone", {"names": "portable"}, "Did you mean gateway_home?"),
        ("zzz", {}, "There is no tool 'zzz'. Find tools with tools/list."),
    ):
        message, headers = build_modern_request("tools/call", {"name": name, "arguments": {}})
        authorized = {**headers, "authorization": f"Bearer {gateway.make_key()}"}
        answer = gateway.send(body=json.dumps(message), headers=authorized, query=query)
        assert (answer.json["error"]["code"], said in answer.json["error"]["message"]) == (-32602, True), answer.text
