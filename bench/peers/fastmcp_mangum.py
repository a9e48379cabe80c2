"""FastMCP as an ASGI app, stateless and answering in JSON, behind Mangum."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# FastMCP is only in the venv of this peer.
from fastmcp import FastMCP
from fastmcp.tools import Tool

from bench.peers import dynamodb
from bench.peers.lasting import Lasting
from bench.tools import described, work


def tool(name: str, description: str) -> Tool:
    """Without the thread that FastMCP would give a function that is not async, and which costs it half the call."""
    return Tool.from_function(work, name=name, description=description, output_schema=None, run_in_thread=False)


client = dynamodb.client
server = FastMCP("bench", tools=[tool(name, description) for name, description in described()])
handler = Lasting(server.http_app(path="/mcp", stateless_http=True, json_response=True))
