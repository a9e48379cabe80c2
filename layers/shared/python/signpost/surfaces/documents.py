"""Skill documents and slash commands as MCP resources, prompts and one tool."""

from collections.abc import Mapping, Sequence

from signpost.content import uris
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.functions import (
    INDEX_RESOURCE,
    RESOURCE_TEMPLATES,
    RegistryFunctions,
    addressable_skills,
    resource_of,
)
from signpost.content.api.specs import FUNCTIONS
from signpost.content.callers import Caller
from signpost.content.documents import FETCH_FUNCTION, Skills
from signpost.content.prompts import Prompts
from signpost.errors import INTERNAL_ERROR, INVALID_PARAMS, RegistryRefusalCode, Rejection
from signpost.model import (
    Call,
    CallToolResult,
    GetPromptResult,
    InputRequired,
    Json,
    JsonObject,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
    as_object,
)
from signpost.surfaces.call_clients import call_client_of, notice_receiver_of

ANSWER_MARGIN = 0.5
"""Seconds before the deadline of a request that are left for its answer."""
SERVER_FAULT_CODES: frozenset[RegistryRefusalCode] = frozenset({"function_failed", "unsupported_shape"})
"""Codes of refusals that do not depend on the request."""
ROLES = ("user", "assistant")


class SkillDocuments:
    """The provider of skill documents as resources."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    def resources(self, call: Call) -> Sequence[Resource]:
        listed = (INDEX_RESOURCE, *map(resource_of, addressable_skills(self._skills.list_readable(caller_of(call)))))
        return [_resource(described) for described in listed]

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        del call  # all callers see the same templates
        return [
            ResourceTemplate(
                uri_template=str(template["uriTemplate"]),
                name=str(template["name"]),
                description=optional_text(template, "description"),
                mime_type=optional_text(template, "mimeType"),
            )
            for template in RESOURCE_TEMPLATES
        ]

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | InputRequired | Rejection | None:
        if not uri.startswith(uris.SCHEME):
            return None
        found = self._skills.read(uri, caller_of(call))
        if isinstance(found, RegistryRefusal):
            return None if found.code == "not_found" else found.asked_back or rejection_of(found)
        return [{"uri": uri, "mimeType": found.mime_type, "text": found.text}]


class SlashCommands:
    """The provider of prompts of the registry."""

    def __init__(self, prompts: Prompts) -> None:
        self._prompts = prompts

    def prompts(self, call: Call) -> Sequence[Prompt]:
        return [
            Prompt(prompt.name, description=prompt.description, arguments=prompt.arguments)
            for prompt in self._prompts.list_readable(caller_of(call))
        ]

    def get_prompt(
        self, name: str, arguments: Mapping[str, str], call: Call
    ) -> GetPromptResult | InputRequired | Rejection | None:
        found = self._prompts.render(name, arguments, caller_of(call))
        if isinstance(found, RegistryRefusal):
            return None if found.code in ("not_found", "invalid_name") else found.asked_back or rejection_of(found)
        if not all(map(_is_message, found.messages)):
            return Rejection(INTERNAL_ERROR, f"The function of the prompt {name} answered with malformed messages.")
        return GetPromptResult([as_object(message) for message in found.messages], found.description)


class FetchTool:
    """The provider of `skill__fetch`: callable on every surface that has it, and listed on some."""

    def __init__(self, functions: RegistryFunctions, *, listed: bool) -> None:
        published = next(function for function in FUNCTIONS if function.id == FETCH_FUNCTION)
        self._functions = functions
        self._listed = listed
        self._tool = Tool(
            name=FETCH_FUNCTION.replace("::", "__"),
            title="Read skill documents",
            description=published.description,
            # Without readOnlyHint: sections run functions, also functions that change something.
            input_schema={**published.request, "additionalProperties": False},
        )

    def tools(self, call: Call) -> Sequence[Tool]:
        del call  # all callers see the same tool
        return (self._tool,) if self._listed else ()

    def tool(self, name: str, call: Call) -> Tool | None:
        del call
        return self._tool if name == self._tool.name else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult | InputRequired | Rejection:
        del tool
        answer = self._functions.call(FETCH_FUNCTION, arguments, caller_of(call))
        if isinstance(answer, RegistryRefusal):
            return answer.asked_back or CallToolResult([{"type": "text", "text": answer.message}], is_error=True)
        return CallToolResult([{"type": "text", "text": str(answer)}])


def caller_of(call: Call) -> Caller:
    """Return the caller of content for an MCP call."""
    return Caller(
        tenant=call.principal.tenant,
        principal=call.principal,
        ends_at=call.deadline - ANSWER_MARGIN,
        trace=call.trace,
        sections=call.sections,
        client=call_client_of(call),
        answers=call.answers,
        state=call.state,
        notify=notice_receiver_of(call),
    )


def rejection_of(refused: RegistryRefusal) -> Rejection:
    code = INTERNAL_ERROR if refused.code in SERVER_FAULT_CODES else INVALID_PARAMS
    return Rejection(code, refused.message, refused.data or None)


def _resource(described: JsonObject) -> Resource:
    size = described.get("size")
    return Resource(
        uri=str(described["uri"]),
        name=str(described["name"]),
        description=optional_text(described, "description"),
        mime_type=optional_text(described, "mimeType"),
        size=size if isinstance(size, int) else None,
    )


def optional_text(fields: JsonObject, name: str) -> str | None:
    """Return the member if it is a text, else None."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _is_message(message: Json) -> bool:
    fields = as_object(message)
    return fields.get("role") in ROLES and isinstance(as_object(fields.get("content")).get("type"), str)
