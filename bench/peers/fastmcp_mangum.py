"""FastMCP as an ASGI app, stateless and answering in JSON, behind Mangum."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# FastMCP is only in the venv of this peer.
from fastmcp import FastMCP
from fastmcp.tools import Tool

from bench.peers import dynamodb
from bench.peers.mangum_app import MangumApp
from bench.tools import names_and_descriptions, work


def build_tool(name: str, description: str) -> Tool:
    """Build a tool that runs without a thread. FastMCP runs a function that is not async in a thread by default, which
    costs half the time of a call."""
    return Tool.from_function(work, name=name, description=description, output_schema=None, run_in_thread=False)


client = dynamodb.client
server = FastMCP("bench", tools=[build_tool(name, description) for name, description in names_and_descriptions()])
handler = MangumApp(server.http_app(path="/mcp", stateless_http=True, json_response=True))
