"""Skill documents and slash commands as MCP resources, prompts and one tool."""

from collections.abc import Mapping, Sequence

from signpost.errors import INTERNAL_ERROR, INVALID_PARAMS, Rejection
from signpost.model import (
    Call,
    Json,
    JsonObject,
    Prompt,
    PromptResult,
    Resource,
    ResourceTemplate,
    Tool,
    ToolResult,
    as_object,
)
from signpost.registry import uris
from signpost.registry.callers import Caller
from signpost.registry.functions import INDEX_RESOURCE, TEMPLATES, RegistryFunctions, readable, resource_of
from signpost.registry.prompts import Prompts
from signpost.registry.published import FUNCTIONS
from signpost.registry.refusals import Code, Refused
from signpost.registry.skills import FETCH, Skills

TO_ANSWER = 0.5
"""Seconds of a request that are left to say what came of it."""
OURS_TO_MEND: frozenset[Code] = frozenset({"function_failed", "unsupported_shape"})
"""Refusals that no other request would avoid."""
ROLES = ("user", "assistant")


class SkillDocuments:
    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    def resources(self, call: Call) -> Sequence[Resource]:
        listed = (INDEX_RESOURCE, *map(resource_of, readable(self._skills.all(caller_of(call)))))
        return [_resource(described) for described in listed]

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        del call  # everybody may try
        return [
            ResourceTemplate(
                uri_template=str(template["uriTemplate"]),
                name=str(template["name"]),
                description=_text(template, "description"),
                mime_type=_text(template, "mimeType"),
            )
            for template in TEMPLATES
        ]

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | Rejection | None:
        if not uri.startswith(uris.SCHEME):
            return None
        found = self._skills.read(uri, caller_of(call))
        if isinstance(found, Refused):
            return None if found.code == "not_found" else rejection_of(found)
        return [{"uri": uri, "mimeType": found.mime_type, "text": found.text}]


class SlashCommands:
    def __init__(self, prompts: Prompts) -> None:
        self._prompts = prompts

    def prompts(self, call: Call) -> Sequence[Prompt]:
        return [
            Prompt(prompt.name, description=prompt.description, arguments=prompt.arguments)
            for prompt in self._prompts.all(caller_of(call))
        ]

    def get_prompt(self, name: str, arguments: Mapping[str, str], call: Call) -> PromptResult | Rejection | None:
        found = self._prompts.render(name, arguments, caller_of(call))
        if isinstance(found, Refused):
            return None if found.code in ("not_found", "invalid_name") else rejection_of(found)
        if not all(map(_is_message, found.messages)):
            return Rejection(INTERNAL_ERROR, f"The function behind {name} answered messages that are none.")
        return PromptResult([as_object(message) for message in found.messages], found.description)


class FetchTool:
    """`skill__fetch`, callable on every surface and listed on some."""

    def __init__(self, functions: RegistryFunctions, *, listed: bool) -> None:
        published = next(function for function in FUNCTIONS if function.id == FETCH)
        self._functions = functions
        self._listed = listed
        self._tool = Tool(
            name=FETCH.replace("::", "__"),
            title="Read skill documents",
            description=published.description,
            input_schema=published.request,
            annotations={"readOnlyHint": True},
        )

    def tools(self, call: Call) -> Sequence[Tool]:
        del call  # everybody sees the same
        return (self._tool,) if self._listed else ()

    def tool(self, name: str, call: Call) -> Tool | None:
        del call
        return self._tool if name == self._tool.name else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult:
        del tool
        answer = self._functions.call(FETCH, arguments, caller_of(call))
        if isinstance(answer, Refused):
            return ToolResult([{"type": "text", "text": answer.message}], is_error=True)
        return ToolResult([{"type": "text", "text": str(answer)}])


def caller_of(call: Call) -> Caller:
    return Caller(
        tenant=call.principal.tenant,
        principal=call.principal,
        ends_at=call.deadline - TO_ANSWER,
        trace=call.trace,
    )


def rejection_of(refused: Refused) -> Rejection:
    code = INTERNAL_ERROR if refused.code in OURS_TO_MEND else INVALID_PARAMS
    return Rejection(code, refused.message, refused.data or None)


def _resource(described: JsonObject) -> Resource:
    return Resource(
        uri=str(described["uri"]),
        name=str(described["name"]),
        description=_text(described, "description"),
        mime_type=_text(described, "mimeType"),
    )


def _text(fields: JsonObject, name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _is_message(message: Json) -> bool:
    fields = as_object(message)
    return fields.get("role") in ROLES and isinstance(as_object(fields.get("content")).get("type"), str)
