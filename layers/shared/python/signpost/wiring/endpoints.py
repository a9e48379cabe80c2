"""Builds the surfaces of a gateway: that of `/mcp` at init, the others at the first request for them."""

from collections.abc import Callable, Mapping
from functools import cache

from signpost.mcp.surface import Surface
from signpost.settings import ENDPOINTS
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS, INSTRUCTIONS, MENTIONS
from signpost.wiring import surface_parts
from signpost.wiring.composition import GatewayComposition

type SurfaceBuilders = Mapping[str, Callable[[], Surface]]
"""A function for each path that returns its surface, always the same one."""


def build_surfaces(composition: GatewayComposition) -> SurfaceBuilders:
    default, flat, functions = ENDPOINTS
    return {
        default: cache(lambda: build_gateway_surface(composition)),
        flat: cache(lambda: _build_flat_surface(composition)),
        functions: cache(lambda: _build_functions_surface(composition)),
    }


def build_gateway_surface(composition: GatewayComposition) -> Surface:
    tools = surface_parts.build_gateway_tools(composition, lambda _: GATEWAY_TOOLS)
    fetch = surface_parts.build_fetch_tool(composition, listed=False)
    return surface_parts.build_surface("gateway", INSTRUCTIONS, MENTIONS, composition, [tools, fetch])


def _build_flat_surface(composition: GatewayComposition) -> Surface:
    from signpost.wiring import flat_surface  # noqa: PLC0415 - at the first request for it

    return flat_surface.build_flat_surface(composition)


def _build_functions_surface(composition: GatewayComposition) -> Surface:
    from signpost.wiring import functions_surface  # noqa: PLC0415 - as above

    return functions_surface.build_functions_surface(composition)
