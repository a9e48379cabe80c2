"""The surfaces of a gateway, by the path at which each answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from signpost.ports import ToolProvider
from signpost.protocol.surface import Surface
from signpost.settings import ENDPOINTS
from signpost.surfaces.agent_skills import AgentSkillFiles
from signpost.surfaces.catalog import Catalog
from signpost.surfaces.documents import FetchTool, SkillDocuments, SlashCommands
from signpost.surfaces.functions import INSTRUCTIONS as FUNCTIONS_INSTRUCTIONS
from signpost.surfaces.functions import FunctionTools
from signpost.surfaces.gateway import Discovery
from signpost.surfaces.hosted import FunctionCalls
from signpost.surfaces.runs import WorkflowTools
from signpost.surfaces.seven import INSTRUCTIONS, SevenTools
from signpost.surfaces.skills import INSTRUCTIONS as FLAT_INSTRUCTIONS
from signpost.surfaces.skills import SkillTools
from signpost.wiring.composition import Composition


def surfaces(composition: Composition) -> Mapping[str, Surface]:
    """By the path at which each answers."""
    default, flat, functions = ENDPOINTS
    return {
        default: gateway_surface(composition),
        flat: flat_surface(composition),
        functions: functions_surface(composition),
    }


def gateway_surface(composition: Composition) -> Surface:
    tools = _seven(composition, listed=True)
    return _surface("gateway", INSTRUCTIONS, composition, [tools, _fetch(composition, listed=False)])


def flat_surface(composition: Composition) -> Surface:
    """In the order of the names. What drives a run that was started is there, unlisted."""
    skills = SkillTools(
        lists=composition.function_lists, access=composition.policy.functions, calls=_calls(composition)
    )
    workflows = WorkflowTools(
        catalogue=composition.policy.catalogue,
        definitions=composition.definitions,
        driving=lambda: composition.driven().driving,
    )
    tools = (skills, _fetch(composition, listed=True), workflows, _seven(composition, listed=False))
    surface = _surface("flat", FLAT_INSTRUCTIONS, composition, tools)
    return replace(surface, tools=(*surface.tools, Catalog(surface)))


def functions_surface(composition: Composition) -> Surface:
    tools = FunctionTools(
        functions=composition.calling.functions,
        access=composition.policy.functions,
        calls=_calls(composition),
    )
    seven, fetch = _seven(composition, listed=False), _fetch(composition, listed=True)
    # What drives runs needs no row of a function to be found.
    return _surface("functions", FUNCTIONS_INSTRUCTIONS, composition, [seven, tools, fetch])


def _seven(composition: Composition, *, listed: bool) -> SevenTools:
    discovery = Discovery(
        catalogue=composition.policy.catalogue, sealer=composition.sealer, definitions=composition.definitions
    )
    return SevenTools(discovery=discovery, driving=lambda: composition.driven().driving, listed=listed)


def _fetch(composition: Composition, *, listed: bool) -> FetchTool:
    return FetchTool(composition.documents.functions, listed=listed)


def _calls(composition: Composition) -> FunctionCalls:
    return FunctionCalls(
        functions=composition.calling.functions,
        executors=composition.calling.executors,
        long_calls=composition.long_calls,
        long_answers=composition.adapters.long_answers,
        clock=composition.adapters.clock,
    )


def _surface(name: str, instructions: str, composition: Composition, tools: Sequence[ToolProvider]) -> Surface:
    """Documents, slash commands and what toolkits have beside tools are the same everywhere."""
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
