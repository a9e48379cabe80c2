"""A host that can only start a command and talk to it over standard input: the official SDK with a loop around it. Its
model is behind the same server as that of the frameworks."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent

from tests.frameworks.model_server import PATH, ModelServer
from tests.support.client_programs import NODE_MODULES, PROGRAM_TIMEOUT, build_environment


def converse(configuration: str, server: ModelServer, home: Path) -> str:
    """Drive the server of this configuration until the model ends the conversation. Return its last text, or raise
    AssertionError with the reason why there is none."""
    (home / "node_modules").symlink_to(NODE_MODULES)
    named = json.loads(configuration)["mcpServers"]["signpost"]
    command = StdioServerParameters(
        command=named["command"], args=named["args"], env={**build_environment(home), **named["env"]}, cwd=home
    )
    try:
        with (home / "errors.log").open("w") as errors:
            return asyncio.run(_converse(command, errors, server))
    except TimeoutError:
        raise
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}") from error


async def _converse(command: StdioServerParameters, errors: TextIO, server: ModelServer) -> str:
    async with (
        asyncio.timeout(PROGRAM_TIMEOUT),
        Client(stdio_client(command, errors)) as client,
        httpx2.AsyncClient(base_url=f"{server.url}{PATH}/") as api,
    ):
        tools = [
            {"type": "function", "function": {"name": tool.name, "parameters": tool.input_schema}}
            for tool in (await client.list_tools()).tools
        ]
        messages: list[Mapping[str, Any]] = []
        while True:
            answer = await api.post("chat/completions", json={"tools": tools, "messages": messages})
            assert answer.status_code == 200, answer.text
            message = answer.json()["choices"][0]["message"]
            if not message.get("tool_calls"):
                return str(message["content"])
            function = message["tool_calls"][0]["function"]
            result = await client.call_tool(function["name"], json.loads(function["arguments"]))
            text = "".join(part.text for part in result.content if isinstance(part, TextContent))
            messages = [*messages, message, {"role": "tool", "content": text}]
