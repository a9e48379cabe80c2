"""Skill documents as Agent Skills, with their files as resources that can be read but are not listed: lists have the
documents under their `iii://` URIs."""

from base64 import b64encode
from collections.abc import Sequence

from signpost.content.agent_skills.files import is_text
from signpost.content.agent_skills.tree import AgentSkills
from signpost.content.markdown import MARKDOWN
from signpost.content.model import AgentSkill, ListedSkill, StoredFile
from signpost.mcp.messages import encode
from signpost.model import Call, JsonObject, Resource, ResourceTemplate
from signpost.surfaces.documents import caller_of

LONGEST_TEXT = 4_000_000
"""Bytes of a text as JSON, in which quotation marks and control characters are longer. As many as the largest file has
in base64."""


class AgentSkillFiles:
    """The provider of Agent Skills and of their files."""

    def __init__(self, skills: AgentSkills) -> None:
        self._skills = skills

    def skills(self, call: Call) -> Sequence[ListedSkill]:
        return self._skills.list_skills(caller_of(call))

    def skill(self, uri: str, call: Call) -> AgentSkill | None:
        return self._skills.get(uri, caller_of(call))

    def directory(self, uri: str, call: Call) -> Sequence[Resource] | None:
        children = self._skills.list_directory(uri, caller_of(call))
        if children is None:
            return None
        return [
            Resource(child.uri, child.name, description=child.description, mime_type=child.mime_type)
            for child in children
        ]

    def resources(self, call: Call) -> Sequence[Resource]:
        del call
        return ()

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        del call
        return ()

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | None:
        caller = caller_of(call)
        text = self._skills.read(uri, caller)
        if text is not None:
            return [{"uri": uri, "mimeType": MARKDOWN, "text": text}]
        found = self._skills.read_file(uri, caller)
        return None if found is None else [{"uri": uri, **_content(*found)}]


def _content(file: StoredFile, body: bytes) -> JsonObject:
    text = body.decode() if is_text(file.mime_type) else None
    if text is None or (6 * len(body) > LONGEST_TEXT and len(encode(text).encode()) > LONGEST_TEXT):
        return {"mimeType": file.mime_type, "blob": b64encode(body).decode()}
    return {"mimeType": file.mime_type, "text": text}
