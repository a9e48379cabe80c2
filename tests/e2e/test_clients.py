"""Real clients, with a key and with a token, against the deployed stack."""

import asyncio
import os
import subprocess
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.conftest import MakeKey
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

CONNECTED = "Connected"
NODE_TOOLS = Path(".tools/node/node_modules/.bin").resolve()


async def home_by_the_official_client(url: str, credential: str, mode: str) -> tuple[list[str], str]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {credential}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        listed = await client.list_tools()
        result = await client.call_tool("gateway.home", {})
        return [tool.name for tool in listed.tools], str(result.structured_content)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("credential", ["key", "token"])
def test_the_official_python_client_lists_and_calls(
    laptop: Laptop, both: Stack, make_key: MakeKey, mode: str, credential: str
) -> None:
    secret = make_key(both) if credential == "key" else laptop.issuer.access_token("reader", both.url)
    listed, answered = asyncio.run(home_by_the_official_client(both.url, secret, mode))
    assert listed == ["gateway.home"]
    assert answered == "{'items': []}"


def claude(home: Path, *arguments: str) -> str:
    environment = {"HOME": str(home), "PATH": f"{NODE_TOOLS}:{os.defpath}", "DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [NODE_TOOLS / "claude", *arguments],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_claude_code_says_connected(both: Stack, make_key: MakeKey, tmp_path: Path) -> None:
    header = f"Authorization: Bearer {make_key(both)}"
    claude(tmp_path, "mcp", "add", "--transport", "http", "signpost", both.url, "--header", header)
    assert CONNECTED in claude(tmp_path, "mcp", "list")


def test_claude_code_with_a_wrong_key_is_not_connected(both: Stack, tmp_path: Path) -> None:
    header = "Authorization: Bearer sp_default_0a1b2c3d4e5f_" + "0" * 64
    claude(tmp_path, "mcp", "add", "--transport", "http", "signpost", both.url, "--header", header)
    listed = claude(tmp_path, "mcp", "list")
    assert "signpost" in listed
    assert CONNECTED not in listed
