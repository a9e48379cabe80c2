"""The name of the server and its resources at `signpost://` URIs in a deployed stack, for the official client."""

import asyncio
import json
import uuid
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ResourceTemplateReference

from local.stack import PROJECT
from signpost.identity.permissions import ADMINISTRATION
from signpost.list_revisions import REVALIDATION_INTERVAL
from tests.support.commands import ProcessRunner
from tests.support.laptop import Stack
from tests.support.waiting import wait_within

pytestmark = pytest.mark.cloud

STACK = "both"
"""The name of the product stack."""
WORKFLOW = "deploy_pipeline"


INPUT = {"service": "web", "revision": "0123abc"}


async def use_official_client(url: str, key: str, mode: str) -> dict[str, Any]:
    """Connect, start the workflow that a completion names, and read everything that the templates offer about it."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        workflows = ResourceTemplateReference(type="ref/resource", uri="signpost://workflows/{id}")
        (workflow,) = (await client.complete(workflows, {"name": "id", "value": "deploy"})).completion.values
        started = await client.call_tool("workflow.start", {"definitionId": workflow, "input": INPUT})
        assert started.structured_content is not None, started
        run = started.structured_content["workflowId"]
        current = await client.call_tool("workflow.get", {"workflowId": run})
        uris = {
            "workflow": f"signpost://workflows/{workflow}",
            "run": f"signpost://runs/{run}",
            "setting": "signpost://config/server_title",
            "config": "signpost://config",
            "deployment": "signpost://deployment",
        }
        read: Any = {name: (await client.read_resource(uri)).contents[0] for name, uri in uris.items()}
        assert {content.mime_type for content in read.values()} == {"application/json"}
        return {
            "templates": [template for template in templates if template.startswith("signpost://")],
            "current": current.structured_content,
            **{name: json.loads(content.text) for name, content in read.items()},
        }


@pytest.fixture(scope="module")
def tenant() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


def wait_for_introduction(stack: Stack, key: str, title: str) -> Any:
    """Wait for this title of the server, and return what a client learns when it connects."""
    return wait_within(
        REVALIDATION_INTERVAL,
        f"the title {title}",
        lambda: stack.request(key, "server/discover").json["result"],
        lambda found: found["_meta"]["io.modelcontextprotocol/serverInfo"]["title"] == title,
    )


@pytest.mark.parametrize(("mode", "path"), [("auto", ""), ("legacy", "/flat")])
def test_the_official_client_reads_overviews_and_completes_their_ids(
    product_stack: Stack, signpost: ProcessRunner, tenant: str, mode: str, path: str
) -> None:
    named = ("--tenant", tenant, "--stack", STACK)
    key = signpost("keys", "create", "author", "--permission", ADMINISTRATION, *named).stdout.strip()
    example = str(PROJECT / "examples" / "deploy-pipeline")
    published = signpost("publish", example, "--stack", STACK, SIGNPOST_AUTHORIZATION=key)
    assert published.returncode == 0, published.stderr
    for name, text in (("server_title", "Acme tools"), ("server_instructions", "Tools of the order desk.")):
        changed = signpost("settings", "set", name, text, *named)
        assert changed.returncode == 0, changed.stderr
    introduced = wait_for_introduction(product_stack, key, "Acme tools")
    assert introduced["instructions"].endswith("\n\nTools of the order desk.")

    found = asyncio.run(use_official_client(f"{product_stack.url}{path}", key, mode))
    assert found["templates"] == [
        "signpost://{topic}",
        "signpost://workflows/{id}",
        "signpost://runs/{id}",
        "signpost://config/{key}",
    ]
    assert found["run"] == found["current"]
    assert (found["run"]["definitionId"], found["workflow"]["id"]) == (WORKFLOW, WORKFLOW)
    assert found["run"]["state"] in found["workflow"]["states"]
    assert found["setting"] in found["config"]["settings"]
    assert (found["setting"]["value"], found["setting"]["default"], found["setting"]["isSet"]) == (
        "Acme tools",
        "Signpost",
        True,
    )
    deployment = found["deployment"]
    assert (deployment["title"], deployment["tenant"], deployment["counts"]["workflows"]) == ("Acme tools", tenant, 1)
    assert product_stack.url in [endpoint["url"] for endpoint in deployment["endpoints"]]
    for secret in ("arn:aws", *product_stack.deployed.outputs["RegistryTableName"].split()):
        assert secret not in json.dumps(found)
