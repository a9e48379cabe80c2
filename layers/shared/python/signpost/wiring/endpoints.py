"""Builds the surfaces of a gateway."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from signpost.mcp.providers import ToolProvider
from signpost.mcp.surface import Surface
from signpost.settings import ENDPOINTS
from signpost.surfaces.agent_skills import AgentSkillFiles
from signpost.surfaces.documents import FetchTool, SkillDocuments, SlashCommands
from signpost.surfaces.flat.catalog_tool import CatalogTool
from signpost.surfaces.flat.function_tools import INSTRUCTIONS as FLAT_INSTRUCTIONS
from signpost.surfaces.flat.function_tools import SkillTools
from signpost.surfaces.flat.workflow_tools import WorkflowTools
from signpost.surfaces.function_calls import FunctionCalls
from signpost.surfaces.functions.bridge_tools import INSTRUCTIONS as FUNCTIONS_INSTRUCTIONS
from signpost.surfaces.functions.bridge_tools import FunctionTools
from signpost.surfaces.gateway.discovery import Discovery
from signpost.surfaces.gateway.tool_specs import INSTRUCTIONS, GatewayTools
from signpost.wiring.composition import GatewayComposition


def build_surfaces(composition: GatewayComposition) -> Mapping[str, Surface]:
    """Build all surfaces, by the path of each."""
    default, flat, functions = ENDPOINTS
    return {
        default: build_gateway_surface(composition),
        flat: build_flat_surface(composition),
        functions: build_functions_surface(composition),
    }


def build_gateway_surface(composition: GatewayComposition) -> Surface:
    tools = _build_gateway_tools(composition, listed=True)
    return _build_surface("gateway", INSTRUCTIONS, composition, [tools, _build_fetch_tool(composition, listed=False)])


def build_flat_surface(composition: GatewayComposition) -> Surface:
    """Build the flat surface, with tools ordered by name. It has the gateway tools unlisted, to drive a started run."""
    skills = SkillTools(
        lists=composition.function_lists, access=composition.policy.functions, calls=_build_function_calls(composition)
    )
    workflows = WorkflowTools(
        catalogue=composition.policy.catalogue,
        definitions=composition.definitions,
        workflow_runner=lambda: composition.workflow_services().driving,
    )
    tools = (
        skills,
        _build_fetch_tool(composition, listed=True),
        workflows,
        _build_gateway_tools(composition, listed=False),
    )
    surface = _build_surface("flat", FLAT_INSTRUCTIONS, composition, tools)
    return replace(surface, tools=(*surface.tools, CatalogTool(surface)))


def build_functions_surface(composition: GatewayComposition) -> Surface:
    tools = FunctionTools(
        functions=composition.calling.functions,
        access=composition.policy.functions,
        calls=_build_function_calls(composition),
    )
    gateway_tools, fetch = _build_gateway_tools(composition, listed=False), _build_fetch_tool(composition, listed=True)
    # The gateway tools come first: they are found without reading a function's row.
    return _build_surface("functions", FUNCTIONS_INSTRUCTIONS, composition, [gateway_tools, tools, fetch])


def _build_gateway_tools(composition: GatewayComposition, *, listed: bool) -> GatewayTools:
    discovery = Discovery(
        catalogue=composition.policy.catalogue, sealer=composition.sealer, definitions=composition.definitions
    )
    return GatewayTools(
        discovery=discovery, workflow_runner=lambda: composition.workflow_services().driving, listed=listed
    )


def _build_fetch_tool(composition: GatewayComposition, *, listed: bool) -> FetchTool:
    return FetchTool(composition.documents.functions, listed=listed)


def _build_function_calls(composition: GatewayComposition) -> FunctionCalls:
    return FunctionCalls(
        functions=composition.calling.functions,
        executors=composition.calling.executors,
        long_calls=composition.long_calls,
        long_answers=composition.adapters.long_answers,
        clock=composition.adapters.clock,
    )


def _build_surface(
    name: str, instructions: str, composition: GatewayComposition, tools: Sequence[ToolProvider]
) -> Surface:
    """Build a surface of the tools; documents, slash commands and toolkit components are the same on every surface."""
    components = composition.components
    agent_skills = AgentSkillFiles(composition.documents.agent_skills)
    return Surface(
        name=name,
        instructions=instructions,
        tools=tools,
        resources=(SkillDocuments(composition.documents.skills), agent_skills, components),
        prompts=(SlashCommands(composition.documents.prompts), components),
        completions=(components,),
        skills=(agent_skills,),
    )
