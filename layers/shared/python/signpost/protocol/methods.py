"""The methods of the protocol, as a table: who may call them, what they need, what they answer."""

from collections.abc import Callable, Mapping
from typing import Literal

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.model import LOG_LEVELS, InputRequired, Json, JsonObject, as_object
from signpost.protocol import results, skills, state, tools
from signpost.protocol.eras import LEGACY, MODERN, NEWEST_LEGACY, Era
from signpost.protocol.exchange import Exchange
from signpost.protocol.messages import encode
from signpost.protocol.pages import page
from signpost.protocol.results import DISCOVERY, LISTS, Freshness, Listing
from signpost.protocol.surface import SKILLS, Surface
from signpost.records import dataclass

RESOURCE_NOT_FOUND_LEGACY = -32002
CANNOT_ASK = Rejection(
    INVALID_PARAMS, "This needs an answer first, which only clients of MCP 2026-07-28 can give here."
)


@dataclass(frozen=True, slots=True)
class Method:
    answer: Callable[[Exchange], JsonObject | Listing | Rejection]
    eras: Literal["modern", "legacy", "both"] = "both"
    needs: str | None = None
    """The capability or extension without which the method does not exist."""
    freshness: Freshness | None = None

    def serves(self, era: Era) -> bool:
        return self.eras == "both" or era.modern == (self.eras == "modern")


def find(name: str, era: Era, surface: Surface) -> Method | None:
    method = METHODS.get(name)
    if method is None or not method.serves(era):
        return None
    return method if method.needs is None or surface.offers(method.needs) else None


def _initialize(exchange: Exchange) -> JsonObject | Rejection:
    """Answers and remembers nothing: the revision comes again with every request."""
    requested, client = exchange.params.get("protocolVersion"), as_object(exchange.params.get("clientInfo"))
    capabilities = exchange.params.get("capabilities")
    texts = (requested, client.get("name"), client.get("version"))
    if not all(isinstance(text, str) for text in texts) or not isinstance(capabilities, Mapping):
        return Rejection(INVALID_PARAMS, "initialize takes `protocolVersion`, `capabilities` and `clientInfo`.")
    return {
        "protocolVersion": requested if requested in LEGACY else NEWEST_LEGACY,
        "capabilities": exchange.surface.capabilities,
        "serverInfo": results.SERVER_INFO,
        "instructions": exchange.surface.instructions,
    }


def _ping(_exchange: Exchange) -> JsonObject | Rejection:
    return {}


def _set_level(exchange: Exchange) -> JsonObject | Rejection:
    """Never advertised, and forgotten at once: a level cannot outlive its request here. Some clients send one all the
    same before they call a tool, and would give up at an error; messages come with each answer, from info on."""
    if exchange.params.get("level") not in LOG_LEVELS:
        return Rejection(INVALID_PARAMS, f"The level is one of {', '.join(LOG_LEVELS)}.")
    return {}


def _discover(exchange: Exchange) -> JsonObject | Rejection:
    surface = exchange.surface
    extensions: JsonObject = {"extensions": surface.extensions} if surface.extensions else {}
    return {
        "supportedVersions": list(MODERN),
        "capabilities": {**surface.capabilities, **extensions},
        "instructions": surface.instructions,
    }


def _list_resources(exchange: Exchange) -> Listing | Rejection:
    found = [resource for provider in exchange.surface.resources for resource in provider.resources(exchange.call)]
    return page(
        exchange,
        "resources",
        found,
        lambda resource: resource.uri,
        lambda resource: encode(results.resource(resource, exchange.era)),
    )


def _list_resource_templates(exchange: Exchange) -> Listing | Rejection:
    providers = exchange.surface.resources
    return page(
        exchange,
        "resourceTemplates",
        [template for provider in providers for template in provider.resource_templates(exchange.call)],
        lambda template: template.uri_template,
        lambda template: encode(results.resource_template(template, exchange.era)),
    )


def _read_resource(exchange: Exchange) -> JsonObject | Rejection:
    uri = exchange.params.get("uri")
    if not isinstance(uri, str):
        return Rejection(INVALID_PARAMS, "resources/read takes a `uri`.")
    round_ = state.resumed(exchange, uri)
    if isinstance(round_, Rejection):
        return round_
    for provider in exchange.surface.resources:
        contents = provider.read_resource(uri, round_.call)
        if isinstance(contents, InputRequired):
            return _asked(round_, contents, uri)
        if isinstance(contents, Rejection):
            return contents
        if contents is not None:
            return {"contents": list(contents)}
    code = INVALID_PARAMS if exchange.era.modern else RESOURCE_NOT_FOUND_LEGACY
    return Rejection(code, "Resource not found: there is nothing at this URI.", {"uri": uri})


def _list_prompts(exchange: Exchange) -> Listing | Rejection:
    return page(
        exchange,
        "prompts",
        [prompt for provider in exchange.surface.prompts for prompt in provider.prompts(exchange.call)],
        lambda prompt: prompt.name,
        lambda prompt: encode(results.prompt(prompt, exchange.era)),
    )


def _get_prompt(exchange: Exchange) -> JsonObject | Rejection:
    name = exchange.params.get("name")
    arguments = _texts(exchange.params.get("arguments", {}))
    if not isinstance(name, str) or arguments is None:
        return Rejection(INVALID_PARAMS, "prompts/get takes a `name` and `arguments` whose values are text.")
    round_ = state.resumed(exchange, name)
    if isinstance(round_, Rejection):
        return round_
    for provider in exchange.surface.prompts:
        result = provider.get_prompt(name, arguments, round_.call)
        if isinstance(result, InputRequired):
            return _asked(round_, result, name)
        if isinstance(result, Rejection):
            return result
        if result is not None:
            return results.prompt_result(result, exchange.era)
    return Rejection(INVALID_PARAMS, "There is no prompt of that name. prompts/list names those there are.")


def _asked(exchange: Exchange, required: InputRequired, subject: str) -> JsonObject | Rejection:
    return state.asked(exchange, required, subject) if exchange.era.modern else CANNOT_ASK


REFERENCE_BY = {"ref/prompt": "name", "ref/resource": "uri"}
"""What a reference to complete names its prompt or template by."""


def _complete(exchange: Exchange) -> JsonObject | Rejection:
    reference, argument = as_object(exchange.params.get("ref")), as_object(exchange.params.get("argument"))
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        return Rejection(INVALID_PARAMS, "completion/complete takes an `argument` with a `name` and a `value`.")
    if not isinstance(reference.get(REFERENCE_BY.get(str(reference.get("type")), "")), str):
        return Rejection(INVALID_PARAMS, "A `ref` is a ref/prompt with a `name` or a ref/resource with a `uri`.")
    context = exchange.params.get("context", {})
    given = _texts(context.get("arguments", {})) if isinstance(context, Mapping) else None
    if given is None:
        return Rejection(INVALID_PARAMS, "The `context` of completion/complete has `arguments`, which are text.")
    for provider in exchange.surface.completions:
        found = provider.complete(reference, name, value, given, exchange.call)
        if isinstance(found, Rejection):
            return found
        if found is not None:
            return results.completion(found)
    return Rejection(INVALID_PARAMS, "There is nothing to complete under this `ref`.")


def _texts(arguments: Json) -> Mapping[str, str] | None:
    """Some clients write null for none."""
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        return None
    texts = {name: value for name, value in arguments.items() if isinstance(value, str)}
    return texts if len(texts) == len(arguments) else None


METHODS: Mapping[str, Method] = {
    "initialize": Method(_initialize, "legacy"),
    "ping": Method(_ping, "legacy"),
    "logging/setLevel": Method(_set_level, "legacy"),
    "server/discover": Method(_discover, "modern", freshness=DISCOVERY),
    "tools/list": Method(tools.listed, needs="tools", freshness=LISTS),
    "tools/call": Method(tools.called, needs="tools"),
    "resources/list": Method(_list_resources, needs="resources", freshness=LISTS),
    "resources/templates/list": Method(_list_resource_templates, needs="resources", freshness=LISTS),
    "resources/read": Method(_read_resource, needs="resources", freshness=LISTS),
    "resources/directory/read": Method(skills.directory_read, "modern", needs=SKILLS),
    "skills/list": Method(skills.listed, "modern", needs=SKILLS, freshness=LISTS),
    "skills/get": Method(skills.got, "modern", needs=SKILLS, freshness=LISTS),
    "prompts/list": Method(_list_prompts, needs="prompts", freshness=LISTS),
    "prompts/get": Method(_get_prompt, needs="prompts"),
    "completion/complete": Method(_complete, needs="completions"),
}
