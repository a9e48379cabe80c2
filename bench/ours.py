"""The gateway with the tools of the bench in place of its own. Only the provider of tools is not the product's code."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.tools import SCHEMA, names_and_descriptions, work
from signpost.model import Call, CallToolResult, JsonObject, Tool
from signpost.settings import gateway_settings
from signpost.telemetry import Telemetry
from signpost.wiring.composition import compose_gateway
from signpost.wiring.endpoints import build_gateway_surface
from signpost.wiring.gateway import build_front_door
from signpost.wiring.gateway_adapters import build_aws_adapters

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


class StaticTools:
    """A provider of fixed tools that all return their query."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools
        self._by_name = {tool.name: tool for tool in tools}

    def tools(self, call: Call) -> Sequence[Tool]:
        del call  # all callers see the same tools
        return self._tools

    def tool(self, name: str, call: Call) -> Tool | None:
        del call
        return self._by_name.get(name)

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
        del tool, call  # all tools do the same
        return CallToolResult([{"type": "text", "text": work(str(arguments["query"]))}])


provider = StaticTools([Tool(name, description, SCHEMA) for name, description in names_and_descriptions()])
settings = gateway_settings(os.environ)
telemetry = Telemetry("gateway")
composition = compose_gateway(build_aws_adapters(settings, telemetry), telemetry)
surface = replace(build_gateway_surface(composition), tools=(provider,))
gateway = build_front_door(settings, composition, telemetry, {"/mcp": lambda: surface})


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    return gateway.handle(event, context.get_remaining_time_in_millis())
