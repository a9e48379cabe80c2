"""Skill documents as Agent Skills, and their files as resources that can be read but are not listed: as `iii://`
documents they are listed already."""

from collections.abc import Sequence

from signpost.model import AgentSkill, Call, JsonObject, ListedSkill, Resource, ResourceTemplate
from signpost.registry.agent_skills import AgentSkills, Child
from signpost.registry.markdown import MARKDOWN
from signpost.surfaces.documents import caller_of

DIRECTORY = "inode/directory"


class AgentSkillFiles:
    def __init__(self, skills: AgentSkills) -> None:
        self._skills = skills

    def skills(self, call: Call) -> Sequence[ListedSkill]:
        return self._skills.all(caller_of(call))

    def skill(self, uri: str, call: Call) -> AgentSkill | None:
        return self._skills.get(uri, caller_of(call))

    def directory(self, uri: str, call: Call) -> Sequence[Resource] | None:
        children = self._skills.directory(uri, caller_of(call))
        return None if children is None else [_resource(child) for child in children]

    def resources(self, call: Call) -> Sequence[Resource]:
        del call
        return ()

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        del call
        return ()

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | None:
        text = self._skills.read(uri, caller_of(call))
        return None if text is None else [{"uri": uri, "mimeType": MARKDOWN, "text": text}]


def _resource(child: Child) -> Resource:
    if child.front_matter is None:
        return Resource(child.uri, child.name, mime_type=DIRECTORY)
    return Resource(child.uri, child.name, description=str(child.front_matter["description"]), mime_type=MARKDOWN)
