"""Builds what several surfaces of a gateway have in common."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from signpost.mcp.providers import ToolProvider
from signpost.mcp.surface import Surface
from signpost.model import Call, Tool
from signpost.surfaces.agent_skills import AgentSkillFiles
from signpost.surfaces.documents import FetchTool, SkillDocuments, SlashCommands
from signpost.surfaces.gateway.tool_specs import GatewayTools
from signpost.surfaces.overview.resources import OverviewResources
from signpost.wiring.composition import GatewayComposition

if TYPE_CHECKING:
    from signpost.surfaces.overview.overviews import Overviews


def build_surface(
    name: str,
    instructions: str,
    mentions: Sequence[str],
    composition: GatewayComposition,
    tools: Sequence[ToolProvider],
) -> Surface:
    """Build a surface of the tools; documents, slash commands, overviews and toolkit components are the same on every
    surface."""
    components, overviews = composition.components, OverviewResources(cache(lambda: _build_overviews(composition)))
    agent_skills = AgentSkillFiles(composition.documents.agent_skills)
    return Surface(
        name=name,
        instructions=instructions,
        mentions=mentions,
        tools=tools,
        resources=(SkillDocuments(composition.documents.skills), overviews, agent_skills, components),
        prompts=(SlashCommands(composition.documents.prompts), components),
        completions=(overviews, components),
        skills=(agent_skills,),
    )


def _build_overviews(composition: GatewayComposition) -> "Overviews":
    from signpost.wiring import overviews  # noqa: PLC0415 - at the first request for one

    return overviews.build_overviews(composition)


def build_gateway_tools(composition: GatewayComposition, list_for: Callable[[Call], Sequence[Tool]]) -> GatewayTools:
    return GatewayTools(
        discovery=composition.discovery,
        workflow_runner=lambda: composition.workflow_services().driving,
        list_for=list_for,
    )


def build_fetch_tool(composition: GatewayComposition, *, listed: bool) -> FetchTool:
    return FetchTool(composition.documents.functions, listed=listed)
