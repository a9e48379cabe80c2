"""Builds what several surfaces of a gateway have in common."""

from collections.abc import Callable, Sequence

from signpost.mcp.providers import ToolProvider
from signpost.mcp.surface import Surface
from signpost.model import Call, Tool
from signpost.surfaces.agent_skills import AgentSkillFiles
from signpost.surfaces.documents import FetchTool, SkillDocuments, SlashCommands
from signpost.surfaces.gateway.tool_specs import GatewayTools
from signpost.wiring.composition import GatewayComposition


def build_surface(
    name: str,
    instructions: str,
    mentions: Sequence[str],
    composition: GatewayComposition,
    tools: Sequence[ToolProvider],
) -> Surface:
    """Build a surface of the tools; documents, slash commands and toolkit components are the same on every surface."""
    components = composition.components
    agent_skills = AgentSkillFiles(composition.documents.agent_skills)
    return Surface(
        name=name,
        instructions=instructions,
        mentions=mentions,
        tools=tools,
        resources=(SkillDocuments(composition.documents.skills), agent_skills, components),
        prompts=(SlashCommands(composition.documents.prompts), components),
        completions=(components,),
        skills=(agent_skills,),
    )


def build_gateway_tools(composition: GatewayComposition, list_for: Callable[[Call], Sequence[Tool]]) -> GatewayTools:
    return GatewayTools(
        discovery=composition.discovery,
        workflow_runner=lambda: composition.workflow_services().driving,
        list_for=list_for,
    )


def build_fetch_tool(composition: GatewayComposition, *, listed: bool) -> FetchTool:
    return FetchTool(composition.documents.functions, listed=listed)
