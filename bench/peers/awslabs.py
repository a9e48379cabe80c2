"""awslabs.mcp-lambda-handler, which reads the first payload version: of the second it needs the method renamed."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# The package is only in the venv of this peer.
from collections.abc import Callable
from typing import Any

from awslabs.mcp_lambda_handler import MCPLambdaHandler

from bench import tools
from bench.peers import dynamodb


def named(name: str, description: str) -> Callable[[str, int], str]:
    """It knows a tool by its function: name, first paragraph of the docstring, annotations."""

    def work(query: str, limit: int = 10) -> str:
        return tools.work(query, limit)

    work.__name__, work.__doc__ = name, description
    return work


client = dynamodb.client
server = MCPLambdaHandler("bench")
for name, description in tools.described():
    server.tool()(named(name, description))


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    answer: dict[str, Any] = server.handle_request(
        {**event, "httpMethod": event["requestContext"]["http"]["method"]}, context
    )
    return answer
