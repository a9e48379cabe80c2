"""Skills and workflows as tools at /mcp/flat of a deployed stack, for a client over HTTP."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.s3 import S3Values
from signpost.contract import HostedFunction
from signpost.model import CatalogueItem
from signpost.surfaces.gateway.tool_specs import RUN_TOOLS
from signpost.workflow.engine.permissions import CANCEL
from tests.support.catalogues import store_stack_catalogue
from tests.support.executors import Executors

pytestmark = pytest.mark.cloud

ECHO: Any = {"type": "object", "properties": {"msg": {"type": "string"}}, "required": ["msg"]}
INPUT_SCHEMA: Any = {
    "type": "object",
    "properties": {"what": {"type": "string"}, "note": {"type": "string"}},
    "required": ["what"],
}
RUN_NAMES = [tool.name for tool in RUN_TOOLS]
REVIEW: Any = {
    "title": "Review it",
    "inputSchema": INPUT_SCHEMA,
    "initialState": "open",
    "states": {"open": {"transitions": {"close": {"target": "shut"}}}, "shut": {"terminal": True}},
}


def store_review_workflow(executors: Executors, tenant: str) -> None:
    laptop, stack = executors.laptop, executors.gateway
    outputs = stack.deployed.outputs
    values = S3Values(lambda: laptop.client("s3"), outputs["ContentBucketName"])
    texts = DynamoDefinitionTexts(laptop.client("dynamodb"), outputs["RegistryTableName"], values)
    digest = texts.keep(tenant, json.dumps(REVIEW))
    item = CatalogueItem("review", "workflow", "Review it", definition=digest, input_schema=INPUT_SCHEMA)
    store_stack_catalogue(laptop, stack, tenant, [item])


async def use_official_client(url: str, credential: str, mode: str) -> Any:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {credential}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        listed = await client.list_tools()
        called = await client.call_tool("skill:echo", {"msg": "ahoy"})
        refused = await client.call_tool("skill:echo", {"msg": 1})
        started = await client.call_tool("workflow:Review it", {"what": "this"})
        link = started.structured_content["links"][0]
        ended = await client.call_tool(link["method"], link["args"])
        shown = await client.call_tool("catalog", {"type": "tools", "query": "echo"})
        return listed, called, refused, ended, shown


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_lists_and_calls_skills_and_workflows(
    executors: Executors, tenant: str, key: str, mode: str
) -> None:
    executors.set_settings(tenant, shipped_content=0)
    store_review_workflow(executors, tenant)
    executors.write_script(tenant, "yard::echo", [{"echo": True}])
    hosted = HostedFunction("yard::echo", description="Says it again.", input_schema=ECHO)
    executors.place("stub", [hosted, HostedFunction("yard::quiet", hidden=True)], tenant)
    url = f"{executors.gateway.url}/flat"
    listed, called, refused, ended, shown = asyncio.run(use_official_client(url, key, mode))
    assert [tool.name for tool in listed.tools] == ["skill:echo", "skill__fetch", *RUN_NAMES, "workflow:Review it"]
    echo, *_, review = listed.tools
    assert echo.description == "Says it again. [dynamic]"
    assert list(echo.input_schema["properties"]) == ["input", "config", "msg"]
    assert review.input_schema == INPUT_SCHEMA
    assert called.structured_content == {"msg": "ahoy"}
    assert (refused.is_error, "`msg`" in refused.content[0].text) == (True, True)
    assert (ended.is_error, ended.structured_content["state"], ended.structured_content["terminal"]) == (
        False,
        "shut",
        True,
    )
    assert [tool["name"] for tool in shown.structured_content["tools"]] == ["skill:echo"]
    assert len(executors.list_calls(tenant, "yard::echo")) == 1


async def drive_with_portable_names(url: str, credential: str) -> Any:
    """Do what a framework does whose models take portable names only, and which calls listed tools only."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {credential}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        listed = {tool.name for tool in (await client.list_tools()).tools}
        started = await client.call_tool("workflow_review_it", {"what": "this", "note": None})
        run = {"workflowId": started.structured_content["workflowId"]}
        read = await client.call_tool("workflow_get", run)
        cancel = read.structured_content["links"][-1]
        ended = await client.call_tool(cancel["method"], cancel["args"])
        refused = await client.call_tool("workflow_review_it", {"what": None})
        return listed, started, read, ended, refused


def test_a_client_with_portable_names_reads_and_cancels_a_run_by_the_names_of_its_list(
    executors: Executors, tenant: str, key: str
) -> None:
    executors.set_settings(tenant, shipped_content=0)
    store_review_workflow(executors, tenant)
    url = f"{executors.gateway.url}/flat?names=portable"
    listed, started, read, ended, refused = asyncio.run(drive_with_portable_names(url, key))
    assert {"workflow_get", "workflow_submit", "workflow_explain", "workflow_review_it"} <= listed
    links = [*started.structured_content["links"], *read.structured_content["links"]]
    assert {link["method"] for link in links} == {"workflow_submit"}
    assert read.structured_content["links"][-1]["args"]["transition"] == CANCEL
    assert (ended.structured_content["terminal"], "cancelled" in ended.structured_content) == (True, True)
    assert (refused.is_error, "`what`" in refused.content[0].text) == (True, True)


CORE = ["skill:http_fetch", "skill:json_transform", "skill:template_render", "skill:wait", "skill:web_search"]


def test_shipped_functions_are_skills_without_the_dynamic_mark(executors: Executors, key: str) -> None:
    listed = executors.gateway.request(key, "tools/list", path="/mcp/flat").json["result"]["tools"]
    tools = {tool["name"]: tool for tool in listed}
    assert {*CORE} <= {*tools}
    assert not any(tool["description"].endswith("[dynamic]") for tool in listed)
    waited = executors.gateway.request(
        key, "tools/call", {"name": "skill:wait", "arguments": {"seconds": 0}}, path="/mcp/flat"
    ).json["result"]
    assert waited["structuredContent"] == {"waited": 0}
