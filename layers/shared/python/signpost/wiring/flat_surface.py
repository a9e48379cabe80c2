"""Builds the surface of `/mcp/flat`. Imported at its first request, since a cold start of /mcp does not need it."""

from dataclasses import replace

from signpost.mcp.surface import Surface
from signpost.surfaces.flat.catalog_tool import CatalogTool
from signpost.surfaces.flat.function_tools import INSTRUCTIONS, MENTIONS, SkillTools
from signpost.surfaces.flat.workflow_tools import WorkflowTools
from signpost.surfaces.gateway.tool_specs import RUN_TOOLS
from signpost.wiring import surface_parts
from signpost.wiring.composition import GatewayComposition
from signpost.wiring.function_calls import build_function_calls


def build_flat_surface(composition: GatewayComposition) -> Surface:
    """Build the flat surface, with tools ordered by name. It has all gateway tools, to drive a started run, and lists
    those for it where something that it lists can start one."""
    skills = SkillTools(
        skills=composition.callable_skills(),
        listing=composition.listing,
        calls=build_function_calls(composition),
    )
    workflows = WorkflowTools(
        catalogue=composition.policy.catalogue,
        definitions=composition.definitions,
        workflow_runner=lambda: composition.workflow_services().driving,
    )
    fetch = surface_parts.build_fetch_tool(composition, listed=True)
    gateway_tools = surface_parts.build_gateway_tools(
        composition, lambda call: RUN_TOOLS if workflows.tools(call) or skills.has_long_calls(call) else ()
    )
    tools = (skills, fetch, gateway_tools, workflows)
    surface = surface_parts.build_surface("flat", INSTRUCTIONS, MENTIONS, composition, tools)
    return replace(surface, tools=(*surface.tools, CatalogTool(surface, composition.sealer)), tasks=composition.tasks)
