"""The thirteen functions of the registry, by their ids: payload in, answer or refusal out."""

from collections.abc import Callable, Container, Mapping, Sequence

from signpost.content import Skill, StoredPrompt
from signpost.model import Json, JsonObject, PromptArgument
from signpost.registry import payloads, uris
from signpost.registry.callers import Caller
from signpost.registry.markdown import MARKDOWN
from signpost.registry.prompts import Prompts
from signpost.registry.refusals import Refused, quoted
from signpost.registry.skills import Skills
from signpost.spelling import meant

type Answer = Json | Refused
type _Function = Callable[[JsonObject, Caller], Answer]

INDEX_RESOURCE: JsonObject = {
    "uri": uris.INDEX,
    "name": "skills",
    "description": "The index: every skill document with its title and what it is about.",
    "mimeType": MARKDOWN,
}
# A plain {variable} would stand for one segment only, and a client would encode the slashes of a path.
TEMPLATES: Sequence[JsonObject] = (
    {
        "uriTemplate": f"{uris.SCHEME}{{+skill_id}}",
        "name": "skill",
        "description": "A skill document by its id, at any depth.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": f"{uris.SCHEME}fn/{{+function_path}}",
        "name": "section",
        "description": "What a function answers to {}, as a document. Write / for each :: of its id.",
    },
)


class RegistryFunctions:
    def __init__(self, *, skills: Skills, prompts: Prompts) -> None:
        self._skills = skills
        self._prompts = prompts
        self._changing: Mapping[str, _Function] = {
            "skills::register": self._register_skill,
            "skills::unregister": self._unregister_skill,
            "prompts::register": self._register_prompt,
            "prompts::unregister": self._unregister_prompt,
        }
        self._by_id: Mapping[str, _Function] = {
            **self._changing,
            "skills::list": self._list_skills,
            "skills::resources-list": self._resources,
            "skills::resources-read": self._read,
            "skills::resources-templates": lambda _payload, _caller: {"resourceTemplates": TEMPLATES},
            "skills::fetch_skill": self._fetch,
            "skill::fetch": self._fetch,
            "prompts::list": self._list_prompts,
            "prompts::mcp-list": self._mcp_prompts,
            "prompts::mcp-get": self._render,
        }

    @property
    def ids(self) -> Sequence[str]:
        return list(self._by_id)

    @property
    def changing(self) -> Container[str]:
        """Those that change something. Whoever lets callers in decides who may."""
        return self._changing

    def call(self, function_id: str, payload: Json, caller: Caller) -> Answer:
        function = self._by_id.get(function_id)
        if function is None:
            return self._unknown(function_id)
        read = payloads.payload_of(payload)
        return read if isinstance(read, Refused) else function(read, caller)

    def _unknown(self, function_id: str) -> Refused:
        close = meant(function_id, self._by_id)
        advice = f"Did you mean {close}?" if close else f"There are {', '.join(self._by_id)}."
        return Refused("unknown_function", f"The registry has no function {quoted(function_id)}. {advice}")

    def _register_skill(self, payload: JsonObject, caller: Caller) -> Answer:
        fields = payloads.texts(payload, "id", "skill")
        if isinstance(fields, Refused):
            return fields
        skill_id, body = fields
        skill = self._skills.register(skill_id, body, caller)
        return skill if isinstance(skill, Refused) else {"id": skill.id, "registered_at": skill.registered_at}

    def _unregister_skill(self, payload: JsonObject, caller: Caller) -> Answer:
        fields = payloads.texts(payload, "id")
        if isinstance(fields, Refused):
            return fields
        removed = self._skills.unregister(fields[0], caller)
        return removed if isinstance(removed, Refused) else {"id": fields[0], "removed": removed}

    def _list_skills(self, _payload: JsonObject, caller: Caller) -> Answer:
        skills = self._skills.all(caller)
        return {
            "skills": [{"id": skill.id, "bytes": skill.size, "registered_at": skill.registered_at} for skill in skills]
        }

    def _resources(self, _payload: JsonObject, caller: Caller) -> Answer:
        return {"resources": [INDEX_RESOURCE, *map(resource_of, readable(self._skills.all(caller)))]}

    def _read(self, payload: JsonObject, caller: Caller) -> Answer:
        fields = payloads.texts(payload, "uri")
        if isinstance(fields, Refused):
            return fields
        found = self._skills.read(fields[0], caller)
        if isinstance(found, Refused):
            return found
        return {"contents": [{"uri": fields[0], "mimeType": found.mime_type, "text": found.text}]}

    def _fetch(self, payload: JsonObject, caller: Caller) -> Answer:
        wanted = payloads.wanted_uris(payload)
        return wanted if isinstance(wanted, Refused) else self._skills.fetch(wanted, caller)

    def _register_prompt(self, payload: JsonObject, caller: Caller) -> Answer:
        fields = payloads.texts(payload, "name", "description", "function_id")
        arguments = payloads.prompt_arguments(payload)
        if isinstance(fields, Refused):
            return fields
        if isinstance(arguments, Refused):
            return arguments
        name, description, function = fields
        prompt = self._prompts.register(name, description, function, arguments, caller)
        return prompt if isinstance(prompt, Refused) else {"name": name, "registered_at": prompt.registered_at}

    def _unregister_prompt(self, payload: JsonObject, caller: Caller) -> Answer:
        fields = payloads.texts(payload, "name")
        if isinstance(fields, Refused):
            return fields
        removed = self._prompts.unregister(fields[0], caller)
        return removed if isinstance(removed, Refused) else {"name": fields[0], "removed": removed}

    def _list_prompts(self, _payload: JsonObject, caller: Caller) -> Answer:
        return {"prompts": [_entry_of(prompt) for prompt in self._prompts.all(caller)]}

    def _mcp_prompts(self, _payload: JsonObject, caller: Caller) -> Answer:
        return {"prompts": [_mcp_prompt_of(prompt) for prompt in self._prompts.all(caller)]}

    def _render(self, payload: JsonObject, caller: Caller) -> Answer:
        fields, arguments = payloads.texts(payload, "name"), payloads.handler_arguments(payload)
        if isinstance(fields, Refused):
            return fields
        if isinstance(arguments, Refused):
            return arguments
        rendered = self._prompts.render(fields[0], arguments, caller)
        if isinstance(rendered, Refused):
            return rendered
        return {"description": rendered.description, "messages": rendered.messages}


def readable(skills: Sequence[Skill]) -> Sequence[Skill]:
    """Those that have a URI of their own: that of a skill named `skills` leads to the index."""
    return [skill for skill in skills if uris.of_skill(skill.id) != uris.INDEX]


def resource_of(skill: Skill) -> JsonObject:
    described: JsonObject = {} if skill.description is None else {"description": skill.description}
    return {
        "uri": uris.of_skill(skill.id),
        "name": skill.title,
        **described,
        "mimeType": MARKDOWN,
        "size": skill.size,
    }


def _entry_of(prompt: StoredPrompt) -> JsonObject:
    return {
        "name": prompt.name,
        "function_id": prompt.function,
        "arguments": len(prompt.arguments),
        "registered_at": prompt.registered_at,
    }


def _mcp_prompt_of(prompt: StoredPrompt) -> JsonObject:
    arguments = [_argument_of(argument) for argument in prompt.arguments]
    return {"name": prompt.name, "description": prompt.description, "arguments": arguments}


def _argument_of(argument: PromptArgument) -> JsonObject:
    described: JsonObject = {} if argument.description is None else {"description": argument.description}
    return {"name": argument.name, "required": argument.required, **described}
