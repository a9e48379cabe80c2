"""The thirteen functions of the registry, by their ids: payload in, answer or refusal out."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from signpost.content import uris
from signpost.content.api import payloads
from signpost.content.api.errors import RegistryAnswer, RegistryRefusal, quote_text
from signpost.content.callers import Caller
from signpost.content.documents import Skills
from signpost.content.documents import refusal_of as refusal_of_skill
from signpost.content.markdown import MARKDOWN
from signpost.content.model import Skill, StoredPrompt
from signpost.content.prompts import Prompts
from signpost.content.prompts import refusal_of as refusal_of_prompt
from signpost.hazards.model import PublicationWarning, describe_warning, warnings_field
from signpost.model import Json, JsonObject, PromptArgument
from signpost.spelling import suggest_name

if TYPE_CHECKING:
    from signpost.content.ports import EntryReferences

MOST_NAMED_WARNINGS = 5
"""Warnings that the message of a refusal names."""

type _RegistryHandler = Callable[[JsonObject, Caller], RegistryAnswer]

INDEX_RESOURCE: JsonObject = {
    "uri": uris.INDEX,
    "name": "skills",
    "description": "The index: every skill document with its title and description.",
    "mimeType": MARKDOWN,
}
# `{+variable}` matches several segments. A plain `{variable}` matches one, and a client would encode the slashes.
RESOURCE_TEMPLATES: Sequence[JsonObject] = (
    {
        "uriTemplate": f"{uris.SCHEME}{{+skill_id}}",
        "name": "skill",
        "description": "A skill document by its id, at any depth.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": f"{uris.SCHEME}fn/{{+function_path}}",
        "name": "section",
        "description": "The document that a function returns when it is called with {}. Write / for each :: of its id.",
    },
)


class RegistryFunctions:
    """Checks the payload of a registry function and calls it."""

    def __init__(self, *, skills: Skills, prompts: Prompts, references: "EntryReferences | None" = None) -> None:
        """`references` is None where nothing is known of the executors of a deployment: no reference is judged then."""
        self._references = references
        self._skills = skills
        self._prompts = prompts
        self._changing_functions: Mapping[str, _RegistryHandler] = {
            "skills::register": self._register_skill,
            "skills::unregister": self._unregister_skill,
            "prompts::register": self._register_prompt,
            "prompts::unregister": self._unregister_prompt,
        }
        self._by_id: Mapping[str, _RegistryHandler] = {
            **self._changing_functions,
            "skills::list": self._list_skills,
            "skills::resources-list": self._list_resources,
            "skills::resources-read": self._read_resource,
            "skills::resources-templates": lambda _payload, _caller: {"resourceTemplates": RESOURCE_TEMPLATES},
            "skills::fetch_skill": self._fetch,
            "skill::fetch": self._fetch,
            "prompts::list": self._list_prompts,
            "prompts::mcp-list": self._list_mcp_prompts,
            "prompts::mcp-get": self._render_prompt,
        }

    @property
    def ids(self) -> Sequence[str]:
        return list(self._by_id)

    @property
    def changing_ids(self) -> Container[str]:
        """The ids of the functions that change content. The entrypoints decide which callers may use them."""
        return self._changing_functions

    def call(self, function_id: str, payload: Json, caller: Caller) -> RegistryAnswer:
        function = self._by_id.get(function_id)
        if function is None:
            return self._unknown_function(function_id)
        checked = payloads.payload_of(payload)
        return checked if isinstance(checked, RegistryRefusal) else function(checked, caller)

    def _unknown_function(self, function_id: str) -> RegistryRefusal:
        close = suggest_name(function_id, self._by_id)
        advice = f"Did you mean {close}?" if close else f"The functions are {', '.join(self._by_id)}."
        return RegistryRefusal("unknown_function", f"The registry has no function {quote_text(function_id)}. {advice}")

    def _register_skill(self, payload: JsonObject, caller: Caller) -> RegistryAnswer:
        fields = payloads.text_fields(payload, "id", "skill")
        if isinstance(fields, RegistryRefusal):
            return fields
        skill_id, body = fields
        warnings = self._warn_of_skill(skill_id, body, caller)
        if refusal := _refuse_strictly(payload, warnings):
            return refusal
        skill = self._skills.register(skill_id, body, caller)
        if isinstance(skill, RegistryRefusal):
            return skill
        return {"id": skill.id, "registered_at": skill.registered_at, **warnings_field(warnings)}

    def _warn_of_skill(self, skill_id: str, body: str, caller: Caller) -> Sequence[PublicationWarning]:
        # Imported on first use: most invocations publish nothing.
        from signpost.content.content_warnings import find_document_warnings, find_name_warnings  # noqa: PLC0415

        if refusal_of_skill(skill_id, body):
            return ()  # refused anyway
        others = self._list_documents(caller, fresh=False) if caller.tenant is not None else ()
        found = [*find_document_warnings(skill_id, body), *find_name_warnings("skill", [skill_id], others)]
        if self._references is None or caller.tenant is None:
            return found
        documents = partial(self._list_documents, caller, fresh=True)
        return [*found, *self._references.find_document_warnings(skill_id, body, documents, caller.tenant)]

    def _list_documents(self, caller: Caller, *, fresh: bool) -> Sequence[str]:
        return [skill.id for skill in self._skills.list_readable(replace(caller, fresh=fresh))]

    def _unregister_skill(self, payload: JsonObject, caller: Caller) -> RegistryAnswer:
        fields = payloads.text_fields(payload, "id")
        if isinstance(fields, RegistryRefusal):
            return fields
        removed = self._skills.unregister(fields[0], caller)
        return removed if isinstance(removed, RegistryRefusal) else {"id": fields[0], "removed": removed}

    def _list_skills(self, _payload: JsonObject, caller: Caller) -> RegistryAnswer:
        skills = self._skills.list_readable(caller)
        return {
            "skills": [{"id": skill.id, "bytes": skill.size, "registered_at": skill.registered_at} for skill in skills]
        }

    def _list_resources(self, _payload: JsonObject, caller: Caller) -> RegistryAnswer:
        return {
            "resources": [INDEX_RESOURCE, *map(resource_of, addressable_skills(self._skills.list_readable(caller)))]
        }

    def _read_resource(self, payload: JsonObject, caller: Caller) -> RegistryAnswer:
        fields = payloads.text_fields(payload, "uri")
        if isinstance(fields, RegistryRefusal):
            return fields
        document = self._skills.read(fields[0], caller)
        if isinstance(document, RegistryRefusal):
            return document
        return {"contents": [{"uri": fields[0], "mimeType": document.mime_type, "text": document.text}]}

    def _fetch(self, payload: JsonObject, caller: Caller) -> RegistryAnswer:
        requested = payloads.requested_uris(payload)
        return requested if isinstance(requested, RegistryRefusal) else self._skills.fetch(requested, caller)

    def _register_prompt(self, payload: JsonObject, caller: Caller) -> RegistryAnswer:
        fields = payloads.text_fields(payload, "name", "description", "function_id")
        arguments = payloads.prompt_arguments(payload)
        if isinstance(fields, RegistryRefusal):
            return fields
        if isinstance(arguments, RegistryRefusal):
            return arguments
        name, description, function = fields
        is_strict = payload.get("strict") is True
        stored = StoredPrompt(name, description, function, arguments, "")
        warnings = self._warn_of_prompt(stored, caller, strict=is_strict)
        if refusal := _refuse_strictly(payload, warnings):
            return refusal
        prompt = self._prompts.register(name, description, function, arguments, caller)
        if isinstance(prompt, RegistryRefusal):
            return prompt
        return {"name": name, "registered_at": prompt.registered_at, **warnings_field(warnings)}

    def _warn_of_prompt(self, prompt: StoredPrompt, caller: Caller, *, strict: bool) -> Sequence[PublicationWarning]:
        from signpost.content.content_warnings import find_name_warnings, find_prompt_warnings  # noqa: PLC0415 - as above

        if refusal_of_prompt(prompt):
            return ()  # refused anyway
        others = [other.name for other in self._prompts.list_readable(replace(caller, fresh=False))]
        found = [*find_prompt_warnings(prompt), *find_name_warnings("prompt", [prompt.name], others)]
        if self._references is None or caller.tenant is None:
            return found
        return [*found, *self._references.find_prompt_warnings(prompt, caller.tenant, strict=strict)]

    def _unregister_prompt(self, payload: JsonObject, caller: Caller) -> RegistryAnswer:
        fields = payloads.text_fields(payload, "name")
        if isinstance(fields, RegistryRefusal):
            return fields
        removed = self._prompts.unregister(fields[0], caller)
        return removed if isinstance(removed, RegistryRefusal) else {"name": fields[0], "removed": removed}

    def _list_prompts(self, _payload: JsonObject, caller: Caller) -> RegistryAnswer:
        return {"prompts": [_entry_of(prompt) for prompt in self._prompts.list_readable(caller)]}

    def _list_mcp_prompts(self, _payload: JsonObject, caller: Caller) -> RegistryAnswer:
        return {"prompts": [_mcp_prompt_of(prompt) for prompt in self._prompts.list_readable(caller)]}

    def _render_prompt(self, payload: JsonObject, caller: Caller) -> RegistryAnswer:
        fields, arguments = payloads.text_fields(payload, "name"), payloads.handler_arguments(payload)
        if isinstance(fields, RegistryRefusal):
            return fields
        if isinstance(arguments, RegistryRefusal):
            return arguments
        rendered = self._prompts.render(fields[0], arguments, caller)
        if isinstance(rendered, RegistryRefusal):
            return rendered
        return {"description": rendered.description, "messages": rendered.messages}


def _refuse_strictly(payload: JsonObject, warnings: Sequence[PublicationWarning]) -> RegistryRefusal | None:
    """Refuse a strict registration that has warnings; a registration is strict if its payload says so."""
    is_strict = payloads.flag_in(payload, "strict")
    if isinstance(is_strict, RegistryRefusal):
        return is_strict
    if not is_strict or not warnings:
        return None
    messages = " ".join(map(describe_warning, warnings[:MOST_NAMED_WARNINGS]))
    return RegistryRefusal("invalid_content", f"Nothing was registered: {messages}", warnings_field(warnings))


def addressable_skills(skills: Sequence[Skill]) -> Sequence[Skill]:
    """Return the skills that have a URI of their own. The URI of a skill named `skills` leads to the index."""
    return [skill for skill in skills if uris.skill_uri(skill.id) != uris.INDEX]


def resource_of(skill: Skill) -> JsonObject:
    description: JsonObject = {} if skill.description is None else {"description": skill.description}
    return {
        "uri": uris.skill_uri(skill.id),
        "name": skill.title,
        **description,
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
    description: JsonObject = {} if argument.description is None else {"description": argument.description}
    return {"name": argument.name, "required": argument.required, **description}
