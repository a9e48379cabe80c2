"""Builds the document services, the same for the gateway, which reads them, and the registry, which changes them."""

from typing import TYPE_CHECKING

from signpost.calling.function_access import FunctionAccess
from signpost.content.agent_skills.tree import AgentSkills
from signpost.content.api.functions import RegistryFunctions
from signpost.content.cache import ContentView
from signpost.content.document_access import DocumentAccess
from signpost.content.documents import Skills
from signpost.content.handlers import Handlers
from signpost.content.prompts import Prompts
from signpost.list_revisions import RevisionView
from signpost.records import dataclass
from signpost.wiring.calling import CallServices

if TYPE_CHECKING:
    from signpost.content.ports import Bodies, ContentStore
    from signpost.ports import Clock, Timestamps


@dataclass(frozen=True, slots=True)
class DocumentServices:
    view: ContentView
    skills: Skills
    prompts: Prompts
    functions: RegistryFunctions
    agent_skills: AgentSkills


def build_document_services(
    *,
    content: "ContentStore",
    revisions: RevisionView,
    bodies: "Bodies",
    calling: CallServices,
    access: FunctionAccess,
    clock: "Clock",
    timestamps: "Timestamps",
) -> DocumentServices:
    view = ContentView(content=content, revisions=revisions)
    handlers = Handlers(functions=calling.functions, executors=calling.executors, access=access, clock=clock)
    skills = Skills(
        content=content,
        bodies=bodies,
        view=view,
        handlers=handlers,
        access=DocumentAccess(access),
        timestamps=timestamps,
    )
    prompts = Prompts(content=content, view=view, handlers=handlers, accesses=access, timestamps=timestamps)
    return DocumentServices(
        view, skills, prompts, RegistryFunctions(skills=skills, prompts=prompts), AgentSkills(skills)
    )
