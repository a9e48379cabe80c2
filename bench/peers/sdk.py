"""A low-level server of the MCP SDK, which is the fastest form of a server there, with tools that are made once."""

from typing import Any

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from bench.tools import SCHEMA, names_and_descriptions, work

TOOLS = [types.Tool(name=name, description=text, input_schema=SCHEMA) for name, text in names_and_descriptions()]
SCHEMAS = {tool.name: tool.input_schema for tool in TOOLS}


async def list_tools(
    _context: ServerRequestContext[Any, Any], _params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(
    _context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    if params.name not in SCHEMAS:
        raise ValueError(params.name)
    text = work(**(params.arguments or {}))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


# Without a way to look up one schema, the SDK would list all tools for each call.
server = Server("bench", on_list_tools=list_tools, on_call_tool=call_tool, get_tool_input_schema=SCHEMAS.get)
