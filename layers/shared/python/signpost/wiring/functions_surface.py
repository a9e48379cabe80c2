"""Builds the surface of `/mcp/functions`. Imported at its first request, as that of `/mcp/flat`."""

from dataclasses import replace

from signpost.mcp.surface import Surface
from signpost.surfaces.functions.bridge_tools import INSTRUCTIONS, FunctionTools
from signpost.surfaces.gateway.tool_specs import RUN_TOOLS
from signpost.wiring import surface_parts
from signpost.wiring.composition import GatewayComposition
from signpost.wiring.function_calls import build_function_calls


def build_functions_surface(composition: GatewayComposition) -> Surface:
    tools = FunctionTools(
        functions=composition.calling.functions,
        access=composition.policy.functions,
        listing=composition.listing,
        calls=build_function_calls(composition),
    )
    gateway_tools = surface_parts.build_gateway_tools(
        composition, lambda call: RUN_TOOLS if tools.has_long_calls(call) else ()
    )
    fetch = surface_parts.build_fetch_tool(composition, listed=True)
    # The gateway tools come first: they are found without reading a function's row.
    surface = surface_parts.build_surface("functions", INSTRUCTIONS, (), composition, [gateway_tools, tools, fetch])
    return replace(surface, tasks=composition.tasks)
