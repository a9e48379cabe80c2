"""Tools: listed and called in either spelling, with arguments and results that satisfy their schemas."""

from collections.abc import Mapping, Sequence

from signpost.errors import INVALID_PARAMS, DeadlinePassed, Rejection
from signpost.model import Call, InputRequired, Json, JsonObject, Tool, ToolResult, as_object
from signpost.ports import HidesTools, RefusesInItsOwnForm, ToolProvider
from signpost.protocol import results, state
from signpost.protocol.exchange import Exchange
from signpost.protocol.headers import parameter_mismatch
from signpost.protocol.names import portable_names, simplest
from signpost.protocol.pages import page
from signpost.protocol.results import Listing
from signpost.protocol.surface import Surface
from signpost.schema.validation import SchemaRefused, Violation

CHECKED_WITHIN = 2.0
"""Seconds for holding one value against its schema."""
CANNOT_ASK = (
    "This tool has to ask you or your user something first, which this connection cannot carry. "
    "If the tool has an argument for the answer, pass it; otherwise use a client that speaks MCP 2026-07-28."
)


class ResultRefused(Exception):  # noqa: N818 - it names what happened to the result
    """A provider returned something that its own schema does not allow."""


def listed(exchange: Exchange) -> Listing | Rejection:
    tools = [tool for provider in exchange.surface.tools for tool in provider.tools(exchange.call)]
    names = [tool.name for tool in tools]
    portable = exchange.call.portable_names
    spelled = spellings(exchange.surface.tools, exchange.call) if portable else dict(zip(names, names, strict=True))

    texts, era = exchange.services.tool_texts, exchange.era
    return page(exchange, "tools", tools, lambda tool: tool.name, lambda tool: texts.of(tool, spelled[tool.name], era))


def called(exchange: Exchange) -> JsonObject | Rejection:
    name, given = exchange.params.get("name"), exchange.params.get("arguments")
    if not isinstance(name, str) or not (given is None or isinstance(given, Mapping)):
        return Rejection(INVALID_PARAMS, "tools/call takes a `name` and an object `arguments`.")
    arguments = as_object(given)  # some clients write null for none
    found = _find(name, exchange.surface, exchange.call)
    if found is None:
        return Rejection(INVALID_PARAMS, f"There is no tool {name[:120]!r}. tools/list names those there are.")
    provider, tool = found
    mismatch = parameter_mismatch(tool.input_schema, arguments, exchange.headers) if exchange.era.modern else None
    round_ = mismatch or state.resumed(exchange, tool.name)
    if isinstance(round_, Rejection):
        return round_
    refusal = _refusal_of_arguments(round_, tool, arguments)
    if refusal:
        return results.tool_result(_refused(provider, arguments, refusal), exchange.era)
    outcome = provider.call_tool(tool, arguments, round_.call)
    return _required(round_, outcome, tool) if isinstance(outcome, InputRequired) else _result(round_, outcome, tool)


def _find(name: str, surface: Surface, call: Call) -> tuple[ToolProvider, Tool] | None:
    for provider in surface.tools:
        tool = provider.tool(name, call)
        if tool is not None:
            return provider, tool
    return _find_by_portable_name(name, surface, call)


def _find_by_portable_name(name: str, surface: Surface, call: Call) -> tuple[ToolProvider, Tool] | None:
    spelled = spellings(surface.tools, call)
    tools = ((provider, tool) for provider in surface.tools for tool in _all_of(provider, call))
    return next((found for found in tools if spelled[found[1].name] == name), None)


def spellings(providers: Sequence[ToolProvider], call: Call) -> Mapping[str, str]:
    """The portable spelling of every tool. Those that are not listed are callable too, so that their names are taken
    as well."""
    names = [tool.name for provider in providers for tool in _all_of(provider, call)]
    simple = {simplest(name) for name in names} - set(names)
    unlisted = [name for name in sorted(simple) if any(provider.tool(name, call) for provider in providers)]
    return portable_names([*names, *unlisted])


def _all_of(provider: ToolProvider, call: Call) -> Sequence[Tool]:
    return [*provider.tools(call), *hidden_of(provider, call)]


def hidden_of(provider: ToolProvider, call: Call) -> Sequence[Tool]:
    return provider.hidden_tools(call) if isinstance(provider, HidesTools) else ()


def _refusal_of_arguments(exchange: Exchange, tool: Tool, arguments: JsonObject) -> str | None:
    try:
        violation = _violation(exchange, tool.input_schema, arguments)
    except SchemaRefused as fault:
        return f"{tool.name} cannot be called: its input schema is refused, because {fault}."
    return explained(tool, violation) if violation else None


def _refused(provider: ToolProvider, arguments: JsonObject, refusal: str) -> ToolResult:
    if isinstance(provider, RefusesInItsOwnForm):
        return provider.refused(arguments, refusal)
    return _sentence(refusal)


def _violation(exchange: Exchange, schema: JsonObject, value: Json) -> Violation | None:
    """Some schemas take for ever on some values, however small both are."""
    try:
        with exchange.services.alarm(CHECKED_WITHIN):
            return exchange.services.validators.violation(schema, value)
    except DeadlinePassed:
        return Violation("", "takes too long to check")


def explained(tool: Tool, violation: Violation) -> str:
    place = f"the argument `{violation.field}`" if violation.field else "the arguments"
    return f"{tool.name} was not called: {place} did not satisfy its input schema: {violation.message}."


def _sentence(text: str) -> ToolResult:
    return ToolResult(content=[{"type": "text", "text": text}], is_error=True)


def _required(exchange: Exchange, required: InputRequired, tool: Tool) -> JsonObject | Rejection:
    if exchange.era.modern:
        return state.asked(exchange, required, tool.name)
    return results.tool_result(_sentence(CANNOT_ASK), exchange.era)


def _result(exchange: Exchange, result: ToolResult, tool: Tool) -> JsonObject:
    if tool.output_schema is not None and not result.is_error:
        violation = _violation(exchange, tool.output_schema, result.structured)
        if violation:
            raise ResultRefused(f"{tool.name}: {violation.field}")
    return results.tool_result(result, exchange.era)
