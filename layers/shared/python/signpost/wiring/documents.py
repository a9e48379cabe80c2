"""Skill documents and prompts, alike for the gateway, which reads them, and the registry, which changes them."""

from signpost.execution.function_access import FunctionAccess
from signpost.execution.revisions import RevisionView
from signpost.ports import Bodies, Clock, ContentStore, Timestamps
from signpost.records import dataclass
from signpost.registry.agent_skills import AgentSkills
from signpost.registry.functions import RegistryFunctions
from signpost.registry.handlers import Handlers
from signpost.registry.prompts import Prompts
from signpost.registry.skills import Skills
from signpost.registry.view import ContentView
from signpost.wiring.calling import Calling


@dataclass(frozen=True, slots=True)
class Documents:
    view: ContentView
    skills: Skills
    prompts: Prompts
    functions: RegistryFunctions
    agent_skills: AgentSkills


def documents(
    *,
    content: ContentStore,
    revisions: RevisionView,
    bodies: Bodies,
    calling: Calling,
    access: FunctionAccess,
    clock: Clock,
    timestamps: Timestamps,
) -> Documents:
    view = ContentView(content=content, revisions=revisions)
    handlers = Handlers(functions=calling.functions, executors=calling.executors, access=access, clock=clock)
    skills = Skills(
        content=content, bodies=bodies, view=view, handlers=handlers, accesses=access, timestamps=timestamps
    )
    prompts = Prompts(content=content, view=view, handlers=handlers, accesses=access, timestamps=timestamps)
    return Documents(view, skills, prompts, RegistryFunctions(skills=skills, prompts=prompts), AgentSkills(skills))
