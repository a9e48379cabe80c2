"""The blocks of docs/clients.md, run as pasted."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from local.emulator import PROJECT
from tests.support.client_programs import NODE_MODULES, NODE_PROGRAMS, PROGRAM_TIMEOUT, build_environment, run_program
from tests.support.laptop import MakeKey, Stack
from tests.support.recording_door import RecordingDoor

PAGE = (PROJECT / "docs/clients.md").read_text()
BLOCK = re.compile(r"(?:^<!-- client: ([^\n]+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REVISION = re.compile(r"\d{4}-\d\d-\d\d")
PORTABLE = "?names=portable"
NODE_PIN = re.compile(r"(@?[\w/-]+)@(\d[\w.]*)")
VENVS = {
    "Python SDK 2.x": ".venv",
    "Python SDK 1.x": ".tools/clients-mcp1",
    "openai-agents": ".tools/clients-agents",
    "LangChain": ".tools/clients-langchain",
}


@dataclass(frozen=True, slots=True)
class Snippet:
    client: str
    language: str
    code: str

    def __str__(self) -> str:
        return self.client

    def pasted(self, url: str, key: str) -> str:
        assert "http://localhost:8765/mcp" in self.code
        assert "YOUR_KEY" in self.code
        return self.code.replace("http://localhost:8765/mcp", url).replace("YOUR_KEY", key)

    def command(self, home: Path, code: str) -> list[str | Path]:
        """The command that runs the block, with what its client is installed from in reach."""
        (home / "node_modules").symlink_to(NODE_MODULES)
        if self.language == "bash":
            return ["bash", "-euo", "pipefail", "-c", code]
        script = home / ("client.mjs" if self.language == "js" else "client.py")
        script.write_text(code)
        return [NODE_PROGRAMS / "node" if self.language == "js" else self.python, script]

    @property
    def python(self) -> Path:
        return PROJECT / VENVS[self.client] / "bin/python"

    @property
    def tool(self) -> str:
        """The tool that every surface begins with, as this client is told of it."""
        return "gateway_home" if PORTABLE in self.code else "gateway.home"

    @property
    def documented_revisions(self) -> set[str]:
        return set(REVISION.findall(ROWS[self.client]["speaks"]))


def read_rows() -> dict[str, dict[str, str]]:
    """The rows of the page's table by client."""
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.split("\n") if line.startswith("|")]
    columns, _, *body = table
    return {row[0]: dict(zip(columns, row, strict=True)) for row in body}


ROWS = read_rows()
SNIPPETS = [Snippet(*found) for found in BLOCK.findall(PAGE)]
PROGRAMS = [snippet for snippet in SNIPPETS if snippet.language != "json" and snippet.client != "Claude Code"]
CONFIGURATIONS = [snippet for snippet in SNIPPETS if snippet.language == "json"]


@pytest.fixture
def recording_proxy(product_stack: Stack) -> Iterator[RecordingDoor]:
    listening = RecordingDoor(product_stack.port)
    listening.start()
    yield listening
    listening.stop()


@pytest.fixture
def key(product_stack: Stack, make_key: MakeKey) -> str:
    return make_key(product_stack)


def test_every_block_names_its_client_and_every_client_has_one() -> None:
    assert [snippet.client for snippet in SNIPPETS] == list(ROWS)


@pytest.mark.parametrize("client", VENVS)
def test_the_page_names_the_python_package_that_is_tested(client: str) -> None:
    requirements = PROJECT / "requirements" / f"{Path(VENVS[client]).name.replace('.venv', 'dev')}.txt"
    named = re.search(r"pip install (\S+==\S+)`", ROWS[client]["get it"])
    assert named
    assert f"\n{named[1]} " in requirements.read_text()


def test_the_page_names_the_node_packages_that_are_tested() -> None:
    pins = json.loads((PROJECT / "requirements/node/package.json").read_text())["devDependencies"]
    named = set(NODE_PIN.findall(PAGE))
    assert named
    assert named <= set(pins.items())


def test_the_table_names_the_clients_with_portable_names() -> None:
    asking = {snippet.client for snippet in SNIPPETS if PORTABLE in snippet.code}
    assert asking == {client for client, row in ROWS.items() if PORTABLE in row["tool names"]}


def assert_tools_listed_and_called(snippet: Snippet, said: str, door: RecordingDoor) -> None:
    assert snippet.tool in said
    assert re.search(r"""items[\\"']*: ?\[""", said), said
    assert {"tools/list", "tools/call"} <= door.methods


@pytest.mark.cloud
@pytest.mark.parametrize("snippet", PROGRAMS, ids=str)
def test_a_block_lists_the_tools_and_calls_one(
    snippet: Snippet, recording_proxy: RecordingDoor, key: str, tmp_path: Path
) -> None:
    said = run_program(snippet.command(tmp_path, snippet.pasted(f"{recording_proxy.url}/mcp", key)), tmp_path)
    assert_tools_listed_and_called(snippet, said, recording_proxy)
    assert recording_proxy.revisions == snippet.documented_revisions


@pytest.mark.cloud
def test_the_block_for_claude_code_connects(recording_proxy: RecordingDoor, key: str, tmp_path: Path) -> None:
    snippet = next(snippet for snippet in SNIPPETS if snippet.client == "Claude Code")
    said = run_program(snippet.command(tmp_path, snippet.pasted(f"{recording_proxy.url}/mcp", key)), tmp_path)
    assert "✔ Connected" in said
    assert "tools/list" in recording_proxy.methods
    assert recording_proxy.revisions == snippet.documented_revisions


async def ask(transport: Transport, mode: str) -> str:
    async with asyncio.timeout(PROGRAM_TIMEOUT), Client(transport, mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        home = next(name for name in names if re.fullmatch(r"gateway[._]home", name))
        return f"{names} {(await client.call_tool(home, {})).structured_content}"


async def ask_a_command(server: dict[str, Any], mode: str, home: Path) -> str:
    alone = {**build_environment(home), **server["env"]}
    command = StdioServerParameters(command=server["command"], args=server["args"], env=alone, cwd=home)
    return await ask(stdio_client(command), mode)


async def ask_a_url(server: dict[str, Any], mode: str) -> str:
    async with httpx2.AsyncClient(headers=server["headers"]) as http:
        return await ask(streamable_http_client(server["url"], http_client=http), mode)


@pytest.mark.cloud
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("snippet", CONFIGURATIONS, ids=str)
def test_a_configuration_connects_modern_and_legacy_clients_to_the_tools(
    snippet: Snippet, mode: str, recording_proxy: RecordingDoor, key: str, tmp_path: Path
) -> None:
    configuration = json.loads(snippet.pasted(f"{recording_proxy.url}/mcp", key))
    server = configuration["mcpServers"]["signpost"]
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    said = asyncio.run(ask_a_command(server, mode, tmp_path) if "command" in server else ask_a_url(server, mode))
    assert_tools_listed_and_called(snippet, said, recording_proxy)
    assert snippet.documented_revisions <= recording_proxy.revisions
