"""The functions of executors as tools at /mcp/functions of a deployed stack, for a client over HTTP."""

import asyncio
import json
from typing import Any
from urllib.request import urlopen

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from signpost.contract import HostedFunction
from tests.support.commands import ProcessRunner
from tests.support.executors import Executors
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

ECHO: Any = {"type": "object", "properties": {"msg": {"type": "string"}}, "required": ["msg"]}


def host_functions(executors: Executors, tenant: str, hosted: list[HostedFunction], **scripts: Any) -> None:
    """On the stub, which plays scripts by function id."""
    for function, script in scripts.items():
        executors.write_script(tenant, function.replace("__", "::"), [script])
    executors.place("stub", hosted, tenant)


async def use_official_client(url: str, credential: str, mode: str) -> tuple[Any, Any, Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {credential}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        listed = await client.list_tools()
        called = await client.call_tool("yard__echo", {"msg": "ahoy"})
        refused = await client.call_tool("yard__echo", {"msg": 1})
        return listed, called, refused


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_lists_and_calls_functions(executors: Executors, tenant: str, key: str, mode: str) -> None:
    executors.set_settings(tenant, shipped_content=0)
    hosted = [
        HostedFunction("yard::echo", description="Says it again.", input_schema=ECHO),
        HostedFunction("state::set"),
    ]
    host_functions(executors, tenant, hosted, yard__echo={"echo": True})
    listed, called, refused = asyncio.run(use_official_client(f"{executors.gateway.url}/functions", key, mode))
    assert [(tool.name, tool.input_schema) for tool in listed.tools[:1]] == [("yard__echo", ECHO)]
    assert [tool.name for tool in listed.tools] == ["yard__echo", "skill__fetch"]
    assert json.loads(called.content[0].text) == called.structured_content == {"msg": "ahoy"}
    assert (refused.is_error, "`msg`" in refused.content[0].text) == (True, True)
    assert len(executors.list_calls(tenant, "yard::echo")) == 1


def request_bridge(executors: Executors, key: str, method: str, params: Any = None) -> Any:
    return executors.gateway.request(key, method, params, path="/mcp/functions").json


def list_tool_names(executors: Executors, key: str) -> list[str]:
    return [tool["name"] for tool in request_bridge(executors, key, "tools/list")["result"]["tools"]]


def test_a_function_hidden_by_an_operator_disappears_within_two_seconds(
    executors: Executors, tenant: str, key: str, signpost: ProcessRunner
) -> None:
    executors.set_settings(tenant, shipped_content=0)
    host_functions(executors, tenant, [HostedFunction("yard::open", exposed=True), HostedFunction("yard::shut")])
    assert list_tool_names(executors, key) == ["yard__open", "yard__shut", "skill__fetch"]
    done = signpost("settings", "set", "require_expose", "1", "--tenant", tenant, "--stack", "calling")
    assert done.returncode == 0, done.stderr
    executors.restart_gateway()
    assert list_tool_names(executors, key) == ["yard__open", "skill__fetch"]
    refused = request_bridge(executors, key, "tools/call", {"name": "yard__shut", "arguments": {}})
    assert (refused["error"]["code"], executors.list_calls(tenant, "yard::shut")) == (-32602, [])


def test_a_tool_shows_the_description_and_schema_of_its_manifest(executors: Executors, key: str) -> None:
    tools = {tool["name"]: tool for tool in request_bridge(executors, key, "tools/list")["result"]["tools"]}
    assert tools["trials__checked"] == {
        "name": "trials__checked",
        "description": "Returns the facts of its call.",
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    }
    assert tools["core__wait"]["inputSchema"]["required"] == ["seconds"]


def test_a_reported_failure_keeps_its_message_and_a_crash_gets_a_general_one(executors: Executors, key: str) -> None:
    def told(name: str, arguments: Any) -> tuple[bool, str]:
        result = request_bridge(executors, key, "tools/call", {"name": name, "arguments": arguments})["result"]
        return result["isError"], result["content"][0]["text"]

    assert told("trials__report", {"message": "There is no order 7."}) == (True, "There is no order 7.")
    assert told("trials__raise", {}) == (True, "trials::raise failed unexpectedly.")
    assert told("trials__exit", {}) == (True, "trials::exit crashed.")


def test_a_result_too_long_for_an_answer_is_readable_at_its_link(executors: Executors, key: str) -> None:
    arguments = {"characters": 5_500_000}
    result = request_bridge(executors, key, "tools/call", {"name": "trials__long", "arguments": arguments})["result"]
    assert (result["isError"], result["content"][1]["type"]) == (False, "resource_link")
    with urlopen(result["content"][1]["uri"]) as response:  # noqa: S310 - an address of the emulator
        assert json.load(response) == "x" * 5_500_000


CORE = ["core__http_fetch", "core__json_transform", "core__template_render", "core__wait", "core__web_search"]


@pytest.fixture(scope="module")
def hiding_stack(laptop: Laptop) -> Stack:
    """A deployment whose parameters say what is no tool."""
    return laptop.deploy("closed", AuthMode="both", RequireExpose="1", HiddenPrefixes="core::,draft::")


def test_stack_parameters_hide_functions_for_all_tenants(
    laptop: Laptop, hiding_stack: Stack, signpost: ProcessRunner
) -> None:
    token = laptop.issuer.access_token("reader", f"{hiding_stack.url}/functions")

    def listed() -> list[str]:
        answer = hiding_stack.request(token, "tools/list", path="/mcp/functions")
        assert answer.status == 200, answer.text
        return [tool["name"] for tool in answer.json["result"]["tools"]]

    assert listed() == ["skill__fetch"]
    for setting, value in (("require_expose", "0"), ("hidden_prefixes", "")):
        done = signpost("settings", "set", setting, value, "--stack", "closed")
        assert done.returncode == 0, done.stderr
    laptop.restart_function(hiding_stack.deployed.outputs["GatewayFunctionName"])
    assert listed() == [*CORE, "skill__fetch"]
