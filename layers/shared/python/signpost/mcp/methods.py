"""The table of the MCP methods: in which revisions each is served, which capability it needs, and its handler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from signpost.errors import INVALID_PARAMS, RESOURCE_NOT_FOUND_LEGACY, Rejection
from signpost.mcp import agent_skills_extension, results, retry_state, tools
from signpost.mcp.messages import encode
from signpost.mcp.pages import build_page
from signpost.mcp.providers import HiddenPromptProvider, PromptProvider
from signpost.mcp.request import McpRequest
from signpost.mcp.results import DISCOVERY, LISTS, Freshness, Listing
from signpost.mcp.revisions import LEGACY_VERSIONS, MODERN_VERSIONS, NEWEST_LEGACY_VERSION, ProtocolRevision
from signpost.mcp.surface import SKILLS, TASKS, Surface
from signpost.mcp.tool_names import ToolNames, spell_mentions
from signpost.model import LOG_LEVELS, Call, InputRequired, Json, JsonObject, Prompt, as_object
from signpost.records import dataclass

CAPABILITIES_SINCE: Mapping[str, str] = {"completions": "2025-03-26"}
"""The first revision of capabilities that not every legacy revision knows."""


@dataclass(frozen=True, slots=True)
class Method:
    answer: Callable[[McpRequest], JsonObject | Listing | Rejection]
    revisions: Literal["modern", "legacy", "both"] = "both"
    needed_capability: str | None = None
    """The capability or extension that the surface must have; without it the method does not exist."""
    freshness: Freshness | None = None

    def is_served_in(self, revision: ProtocolRevision) -> bool:
        return self.revisions == "both" or revision.is_modern == (self.revisions == "modern")


def find_method(name: str, revision: ProtocolRevision, surface: Surface) -> Method | None:
    method = METHODS.get(name)
    if method is None or not method.is_served_in(revision):
        return None
    return method if method.needed_capability is None or surface.has_capability(method.needed_capability) else None


def _initialize(request: McpRequest) -> JsonObject | Rejection:
    """Answers the handshake of a legacy client. Nothing is stored, since every request names its revision again."""
    requested, client = request.params.get("protocolVersion"), as_object(request.params.get("clientInfo"))
    capabilities = request.params.get("capabilities")
    texts = (requested, client.get("name"), client.get("version"))
    if not all(isinstance(text, str) for text in texts) or not isinstance(capabilities, Mapping):
        return Rejection(INVALID_PARAMS, "initialize takes `protocolVersion`, `capabilities` and `clientInfo`.")
    server = request.services.server.load(request.call.principal.tenant)
    version = requested if isinstance(requested, str) and requested in LEGACY_VERSIONS else NEWEST_LEGACY_VERSION
    return {
        "protocolVersion": version,
        "capabilities": {
            name: value
            for name, value in request.surface.capabilities.items()
            if version >= CAPABILITIES_SINCE.get(name, version)
        },
        "serverInfo": server.info,
        "instructions": server.complete_instructions(_spell_instructions(request)),
    }


def _spell_instructions(request: McpRequest) -> str:
    names, surface = ToolNames(request.surface.tools, request.call), request.surface
    return spell_mentions(surface.instructions, surface.mentions, names.spell)


def _ping(_request: McpRequest) -> JsonObject | Rejection:
    return {}


def _set_level(request: McpRequest) -> JsonObject | Rejection:
    """Accepts a log level and ignores it.

    Levels are not advertised, and none can outlive its request here. Some clients send one all the same before they
    call a tool and would give up at an error. Messages of level info and above come with each answer.
    """
    if request.params.get("level") not in LOG_LEVELS:
        return Rejection(INVALID_PARAMS, f"The level must be one of {', '.join(LOG_LEVELS)}.")
    return {}


def _discover(request: McpRequest) -> JsonObject | Rejection:
    surface, server = request.surface, request.services.server.load(request.call.principal.tenant)
    extensions: JsonObject = {"extensions": surface.extensions} if surface.extensions else {}
    return {
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": {**surface.capabilities, **extensions},
        "instructions": server.complete_instructions(_spell_instructions(request)),
    }


def _list_resources(request: McpRequest) -> Listing | Rejection:
    resources = [resource for provider in request.surface.resources for resource in provider.resources(request.call)]
    return build_page(
        request,
        "resources",
        resources,
        lambda resource: resource.uri,
        lambda resource: encode(results.build_resource_entry(resource, request.revision)),
    )


def _list_resource_templates(request: McpRequest) -> Listing | Rejection:
    providers = request.surface.resources
    return build_page(
        request,
        "resourceTemplates",
        [template for provider in providers for template in provider.resource_templates(request.call)],
        lambda template: template.uri_template,
        lambda template: encode(results.build_template_entry(template, request.revision)),
    )


def _read_resource(request: McpRequest) -> JsonObject | Rejection:
    uri = request.params.get("uri")
    if not isinstance(uri, str):
        return Rejection(INVALID_PARAMS, "resources/read takes a `uri`.")
    resumed = retry_state.resume(request, uri)
    if not isinstance(resumed, McpRequest):
        return _conclude(resumed)
    call = replace(resumed.call, spell_tool=ToolNames(request.surface.tools, request.call).spell)
    for provider in request.surface.resources:
        contents = provider.read_resource(uri, call)
        if isinstance(contents, InputRequired):
            return _conclude(retry_state.ask_back(resumed, contents, uri))
        if isinstance(contents, Rejection):
            return contents
        if contents is not None:
            return {"contents": list(contents)}
    code = INVALID_PARAMS if request.revision.is_modern else RESOURCE_NOT_FOUND_LEGACY
    return Rejection(code, "Resource not found: there is no resource at this URI.", {"uri": uri})


def _list_prompts(request: McpRequest) -> Listing | Rejection:
    return build_page(
        request,
        "prompts",
        [prompt for provider in request.surface.prompts for prompt in provider.prompts(request.call)],
        lambda prompt: prompt.name,
        lambda prompt: encode(results.build_prompt_entry(prompt, request.revision)),
    )


def _get_prompt(request: McpRequest) -> JsonObject | Rejection:
    parsed = _parse_prompt_request(request)
    if isinstance(parsed, Rejection):
        return parsed
    name, arguments = parsed
    resumed = retry_state.resume(request.with_arguments(arguments), name)
    if not isinstance(resumed, McpRequest):
        return _conclude(resumed)
    for provider in request.surface.prompts:
        result = provider.get_prompt(name, arguments, resumed.call)
        if isinstance(result, InputRequired):
            return _conclude(retry_state.ask_back(resumed, result, name))
        if isinstance(result, Rejection):
            return result
        if result is not None:
            return results.build_prompt_result(result, request.revision)
    return Rejection(INVALID_PARAMS, "There is no prompt of that name. Find prompts with prompts/list.")


def _parse_prompt_request(request: McpRequest) -> tuple[str, Mapping[str, str]] | Rejection:
    name = request.params.get("name")
    arguments = _parse_texts(request.params.get("arguments", {}))
    if not isinstance(name, str) or arguments is None:
        return Rejection(INVALID_PARAMS, "prompts/get takes a `name` and `arguments` whose values are text.")
    required = _find_required_null(request, name)
    if required is not None:
        return Rejection(INVALID_PARAMS, f"The prompt {name} needs a text as its argument `{required}`.")
    return name, arguments


def _find_required_null(request: McpRequest, name: str) -> str | None:
    """Finds an argument that is null although the prompt requires it. Lists are read only if an argument is null."""
    nulls = {argument for argument, value in as_object(request.params.get("arguments")).items() if value is None}
    if not nulls:
        return None
    prompts = (
        prompt
        for provider in request.surface.prompts
        for prompt in (*provider.prompts(request.call), *_hidden_prompts_of(provider, request.call))
    )
    required = (
        argument.name for prompt in prompts if prompt.name == name for argument in prompt.arguments if argument.required
    )
    return next((argument for argument in required if argument in nulls), None)


def _hidden_prompts_of(provider: PromptProvider, call: Call) -> Sequence[Prompt]:
    return provider.hidden_prompts(call) if isinstance(provider, HiddenPromptProvider) else ()


def _conclude(asked: retry_state.AskedBack) -> JsonObject | Rejection:
    return asked.rejection if isinstance(asked, retry_state.Unasked) else asked


REFERENCE_FIELD = {"ref/prompt": "name", "ref/resource": "uri"}
"""The field by which a completion reference names its prompt or template, by the reference's type."""


def _complete(request: McpRequest) -> JsonObject | Rejection:
    reference, argument = as_object(request.params.get("ref")), as_object(request.params.get("argument"))
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        return Rejection(INVALID_PARAMS, "completion/complete takes an `argument` with a `name` and a `value`.")
    if not isinstance(reference.get(REFERENCE_FIELD.get(str(reference.get("type")), "")), str):
        return Rejection(INVALID_PARAMS, "A `ref` must be a ref/prompt with a `name` or a ref/resource with a `uri`.")
    context = request.params.get("context", {})
    other_arguments = _parse_texts(context.get("arguments", {})) if isinstance(context, Mapping) else None
    if other_arguments is None:
        return Rejection(INVALID_PARAMS, "The `context` of completion/complete must have `arguments`, which are text.")
    for provider in request.surface.completions:
        completion = provider.complete(reference, name, value, other_arguments, request.call)
        if isinstance(completion, Rejection):
            return completion
        if completion is not None:
            return results.build_completion_result(completion)
    return Rejection(INVALID_PARAMS, "There are no completions for this `ref`.")


def _parse_texts(arguments: Json) -> Mapping[str, str] | None:
    """Returns the arguments if all are text, otherwise None. Null means that an argument, or all, were left out."""
    if not (arguments is None or isinstance(arguments, Mapping)):
        return None
    given = {name: value for name, value in as_object(arguments).items() if value is not None}
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    return texts if len(texts) == len(given) else None


def _answer_about_task(request: McpRequest) -> JsonObject | Rejection:
    # Imported on first use: most clients follow no tasks.
    from signpost.mcp import tasks_extension  # noqa: PLC0415

    return tasks_extension.TASK_METHODS[request.method](request)


METHODS: Mapping[str, Method] = {
    "initialize": Method(_initialize, "legacy"),
    "ping": Method(_ping, "legacy"),
    "logging/setLevel": Method(_set_level, "legacy"),
    "server/discover": Method(_discover, "modern", freshness=DISCOVERY),
    "tools/list": Method(tools.list_tools, needed_capability="tools", freshness=LISTS),
    "tools/call": Method(tools.call_tool, needed_capability="tools"),
    "resources/list": Method(_list_resources, needed_capability="resources", freshness=LISTS),
    "resources/templates/list": Method(_list_resource_templates, needed_capability="resources", freshness=LISTS),
    "resources/read": Method(_read_resource, needed_capability="resources", freshness=LISTS),
    "resources/directory/read": Method(agent_skills_extension.read_directory, "modern", needed_capability=SKILLS),
    "skills/list": Method(agent_skills_extension.list_skills, "modern", needed_capability=SKILLS, freshness=LISTS),
    "skills/get": Method(agent_skills_extension.get_skill, "modern", needed_capability=SKILLS, freshness=LISTS),
    "tasks/get": Method(_answer_about_task, "modern", needed_capability=TASKS),
    "tasks/update": Method(_answer_about_task, "modern", needed_capability=TASKS),
    "tasks/cancel": Method(_answer_about_task, "modern", needed_capability=TASKS),
    "prompts/list": Method(_list_prompts, needed_capability="prompts", freshness=LISTS),
    "prompts/get": Method(_get_prompt, needed_capability="prompts"),
    "completion/complete": Method(_complete, needed_capability="completions"),
}
