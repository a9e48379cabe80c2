"""The blocks of docs/clients.md, run as pasted."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client

from local.emulator import PROJECT
from tests.frameworks.drives import ENDPOINTS
from tests.frameworks.frameworks import FRAMEWORKS, FRAMEWORKS_BY_NAME
from tests.frameworks.table import read_table
from tests.support.client_blocks import NODE_FRAMEWORKS, PAGE, PINS, PORTABLE, ClientBlock, read_blocks, read_rows
from tests.support.client_programs import NODE_MODULES, PROGRAM_TIMEOUT, build_environment, run_program
from tests.support.laptop import MakeKey, Stack
from tests.support.recording_door import RecordingDoor

PAGE_TEXT = PAGE.read_text()
NODE_PIN = re.compile(r"(@?[\w/-]+)@(\d[\w.]*)")
BLOCKS = read_blocks()
ROWS = read_rows()
PROGRAMS = [
    block
    for block in BLOCKS
    if block.language != "json" and block.client != "Claude Code" and block.client not in FRAMEWORKS_BY_NAME
]
"""The blocks that list the tools and call one. Those of frameworks drive a workflow: tests/e2e/test_frameworks.py."""
CONFIGURATIONS = [block for block in BLOCKS if block.language == "json"]


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
    assert [block.client for block in BLOCKS] == list(ROWS)


@pytest.mark.parametrize("client", PINS)
def test_the_page_names_the_python_package_that_is_tested(client: str) -> None:
    pins = (PROJECT / "requirements" / f"{PINS[client]}.txt").read_text()
    named = re.search(r"pip install ([^`]+)`", ROWS[client]["get it"])
    assert named
    packages = [re.sub(r"\[.*?\]|\"", "", package) for package in named[1].split()]
    assert packages
    assert [package for package in packages if f"\n{package} " not in f"\n{pins}"] == []


def test_the_page_names_the_node_packages_that_are_tested() -> None:
    pins = [
        json.loads((PROJECT / "requirements" / folder / "package.json").read_text())["devDependencies"]
        for folder in ("node", "clients-node")
    ]
    named = set(NODE_PIN.findall(PAGE_TEXT))
    assert named
    assert named <= {pin for pinned in pins for pin in pinned.items()}


def test_the_table_names_the_clients_with_portable_names() -> None:
    asking = {block.client for block in BLOCKS if block.is_portable}
    assert asking == {client for client, row in ROWS.items() if PORTABLE in row["tool names"]}


def test_the_table_of_drives_has_each_framework_with_its_version_at_each_endpoint_to_the_end() -> None:
    expected = [
        [
            framework.name,
            f"{framework.package} {framework.version}",
            f"`{endpoint}`",
            f"`{PORTABLE}`" if framework.block.is_portable else "as they are",
            "finished",
        ]
        for framework in FRAMEWORKS
        for endpoint in ENDPOINTS
    ]
    drives = read_table(PAGE_TEXT)
    assert [[*row[:4], row[5]] for row in drives] == expected
    spoken = {row[0]: row[4] for row in drives}
    assert {name: spoken[name] for name in spoken if name != "mcp-remote"} == {
        name: ROWS[name]["speaks"] for name in spoken if name != "mcp-remote"
    }


def test_every_environment_of_a_client_is_installed_by_the_makefile() -> None:
    makefile = (PROJECT / "Makefile").read_text()
    installed = set(re.findall(r"clients-[\w-]+", makefile))
    assert installed == {pins for pins in PINS.values() if pins != "dev"} | (
        {"clients-node"} if NODE_FRAMEWORKS else set()
    )


def assert_tools_listed_and_called(block: ClientBlock, said: str, door: RecordingDoor) -> None:
    assert ("gateway_home" if block.is_portable else "gateway.home") in said
    assert re.search(r"""items[\\"']*: ?\[""", said), said
    assert {"tools/list", "tools/call"} <= door.methods


@pytest.mark.cloud
@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_a_block_lists_the_tools_and_calls_one(
    block: ClientBlock, recording_proxy: RecordingDoor, key: str, tmp_path: Path
) -> None:
    said = run_program(block.prepare(tmp_path, block.paste(f"{recording_proxy.url}/mcp", key)), tmp_path)
    assert_tools_listed_and_called(block, said, recording_proxy)
    assert recording_proxy.revisions == block.documented_revisions


@pytest.mark.cloud
def test_the_block_for_claude_code_connects(recording_proxy: RecordingDoor, key: str, tmp_path: Path) -> None:
    block = next(block for block in BLOCKS if block.client == "Claude Code")
    said = run_program(block.prepare(tmp_path, block.paste(f"{recording_proxy.url}/mcp", key)), tmp_path)
    assert "✔ Connected" in said
    assert "tools/list" in recording_proxy.methods
    assert recording_proxy.revisions == block.documented_revisions


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
@pytest.mark.parametrize("block", CONFIGURATIONS, ids=str)
def test_a_configuration_connects_modern_and_legacy_clients_to_the_tools(
    block: ClientBlock, mode: str, recording_proxy: RecordingDoor, key: str, tmp_path: Path
) -> None:
    configuration = json.loads(block.paste(f"{recording_proxy.url}/mcp", key))
    server = configuration["mcpServers"]["signpost"]
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    said = asyncio.run(ask_a_command(server, mode, tmp_path) if "command" in server else ask_a_url(server, mode))
    assert_tools_listed_and_called(block, said, recording_proxy)
    assert block.documented_revisions <= recording_proxy.revisions
