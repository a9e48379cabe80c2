"""awslabs.mcp-lambda-handler, which reads events of payload version 1.0. Of the events of version 2.0 it needs only the
method under its old name."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# The package is only in the venv of this peer.
from collections.abc import Callable
from typing import Any

from awslabs.mcp_lambda_handler import MCPLambdaHandler

from bench import tools
from bench.peers import dynamodb


def build_function(name: str, description: str) -> Callable[[str, int], str]:
    """Build a function for a tool. The package reads the tool from the name, the annotations and the first paragraph of
    the docstring of the function."""

    def work(query: str, limit: int = 10) -> str:
        return tools.work(query, limit)

    work.__name__, work.__doc__ = name, description
    return work


client = dynamodb.client
server = MCPLambdaHandler("bench")
for name, description in tools.names_and_descriptions():
    server.tool()(build_function(name, description))


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    answer: dict[str, Any] = server.handle_request(
        {**event, "httpMethod": event["requestContext"]["http"]["method"]}, context
    )
    return answer
