"""Skills and documents found at /mcp of a deployed stack, by an official client."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from signpost.contract import HostedFunction
from signpost.model import JsonObject
from tests.support.executors import Executors

pytestmark = pytest.mark.cloud

PRICING = "# Pricing\n\nHow prices of trees are made.\n\n## Rebates for regulars\n\nTen percent.\n"
SCHEMA: JsonObject = {"type": "object", "properties": {"tree": {"type": "string"}}, "required": ["tree"]}


async def find_read_and_start(url: str, credential: str, mode: str) -> Any:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {credential}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            return (await client.call_tool(tool, arguments)).structured_content

        found = (await call("gateway.search", {"query": "How much does a tree cost?", "kind": "capability"}))["results"]
        described = await call("gateway.describe", {"id": found[0]["item"]["id"]})
        start, read, fetch = described["links"]
        document: Any = await client.read_resource(read["args"]["uri"])
        fetched: Any = await client.call_tool(fetch["method"], fetch["args"])
        ready = await call(start["method"], start["args"])
        args = start["args"]
        done = await call(start["method"], {**args, "input": {**args["input"], "tree": "oak"}})
        return described, document.contents[0].text, fetched.content[0].text, ready, done


@pytest.mark.invariant(116)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_deployed_toolkit_is_found_read_and_started_by_an_official_client(
    executors: Executors, tenant: str, key: str, mode: str
) -> None:
    executors.set_settings(tenant, shipped_content=0)
    executors.write_script(tenant, "yard::price", [{"output": {"euros": 700}}])
    price = HostedFunction(
        "yard::price", name="price", description="What a tree costs.", input_schema=SCHEMA, doc="yard/pricing"
    )
    executors.place("stub", [price, HostedFunction("yard::quiet", hidden=True)], tenant)
    register_document(executors, tenant, "yard/pricing", PRICING)
    described, read, fetched, ready, done = asyncio.run(find_read_and_start(executors.gateway.url, key, mode))
    assert (described["id"], described["description"]) == ("price", "What a tree costs. [dynamic]")
    assert described["links"][0]["input_schema"] == SCHEMA
    assert described["breaker"] == {"state": "closed"}
    assert read == PRICING
    assert PRICING.strip() in fetched
    assert (ready["state"], ready["links"][0]["inputSchema"]) == ("ready", SCHEMA)
    assert done["context"] == {"lastResult": {"euros": 700}}, done
    assert len(executors.list_calls(tenant, "yard::price")) == 1


def register_document(executors: Executors, tenant: str, skill_id: str, body: str) -> None:
    """Register a document with the rights of the account's owner."""
    event = {"function_id": "skills::register", "payload": {"id": skill_id, "skill": body}, "tenant": tenant}
    name = executors.gateway.deployed.outputs["RegistryFunctionName"]
    answer = executors.laptop.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
    registered = json.loads(answer["Payload"].read())
    assert registered.get("id") == skill_id, registered
