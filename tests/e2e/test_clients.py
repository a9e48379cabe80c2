"""Clients with a key, a token and neither, against the deployed stack. Those of docs/clients.md: tests/docs."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import LoggingMessageNotificationParams

from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from tests.support.client_programs import run_program
from tests.support.laptop import Laptop, MakeKey, Stack

pytestmark = pytest.mark.cloud


async def list_home_with_official_client(url: str, credential: str, mode: str) -> tuple[list[str], Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {credential}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        listed = await client.list_tools()
        result = await client.call_tool("gateway.home", {})
        return [tool.name for tool in listed.tools], result.structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("credential", ["key", "token"])
def test_the_official_python_client_lists_and_calls_tools(
    laptop: Laptop, product_stack: Stack, make_key: MakeKey, mode: str, credential: str
) -> None:
    secret = make_key(product_stack) if credential == "key" else laptop.issuer.access_token("reader", product_stack.url)
    listed, answered = asyncio.run(list_home_with_official_client(product_stack.url, secret, mode))
    assert listed == [tool.name for tool in GATEWAY_TOOLS]
    assert answered["items"] == product_stack.list_home_items(secret)


async def hear_of_tools(url: str, mode: str) -> tuple[list[float], list[Any]]:
    """Call a tool that reports progress and one that logs, and return what the client was told of each."""
    reported: list[float] = []
    logged: list[Any] = []

    async def note_progress(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        reported.append(progress)

    async def note_log(params: LoggingMessageNotificationParams) -> None:
        logged.append((params.level, params.logger, params.data))

    async with Client(url, mode=mode, logging_callback=note_log, log_level="info") as client:
        await client.call_tool("test_tool_with_progress", {}, progress_callback=note_progress)
        await client.call_tool("test_logging_tool", {})
    return reported, logged


@pytest.mark.usefixtures("fixture_executors")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_python_client_hears_of_progress_and_log_messages(stage: Stack, mode: str) -> None:
    progress, logged = asyncio.run(hear_of_tools(f"{stage.url}/functions", mode))
    assert progress == [0, 50, 100]
    texts = ("Tool execution started", "Tool processing data", "Tool execution completed")
    assert logged == [("info", "test_logging_tool", text) for text in texts]


def test_claude_code_with_a_wrong_key_is_not_connected(product_stack: Stack, tmp_path: Path) -> None:
    header = "Authorization: Bearer sp_default_0a1b2c3d4e5f_" + "0" * 64
    run_program(
        ["claude", "mcp", "add", "--transport", "http", "signpost", product_stack.url, "--header", header], tmp_path
    )
    listed = run_program(["claude", "mcp", "list"], tmp_path)
    assert "signpost" in listed
    assert "Connected" not in listed
