"""Lists and calls tools by canonical or portable name, and validates arguments and results against their schemas."""

from collections.abc import Mapping, Sequence

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.mcp import results, retry_state
from signpost.mcp.headers import find_parameter_mismatch
from signpost.mcp.names import portable_names, simplify_name
from signpost.mcp.pages import build_page
from signpost.mcp.providers import HiddenToolProvider, RefusalFormatter, ToolProvider
from signpost.mcp.request import McpRequest
from signpost.mcp.results import Listing
from signpost.mcp.surface import Surface
from signpost.model import Call, CallToolResult, InputRequired, JsonObject, Tool, as_object
from signpost.schema.validation import SchemaRefusal, Violation

CANNOT_ASK = (
    "This tool first needs an answer from you or your user, and this connection cannot carry its question. "
    "If the tool has an argument for the answer, pass it; otherwise use a client that speaks MCP 2026-07-28."
)


class InvalidToolResult(Exception):  # noqa: N818 - named after the fault of the result
    """A provider returned a result that the tool's output schema does not allow."""


def list_tools(request: McpRequest) -> Listing | Rejection:
    tools = [tool for provider in request.surface.tools for tool in provider.tools(request.call)]
    names = [tool.name for tool in tools]
    wire_names = (
        portable_spellings(request.surface.tools, request.call)
        if request.call.portable_names
        else dict(zip(names, names, strict=True))
    )

    texts, revision = request.services.tool_texts, request.revision
    return build_page(
        request,
        "tools",
        tools,
        lambda tool: tool.name,
        lambda tool: texts.of(tool, wire_names[tool.name], revision),
    )


def call_tool(request: McpRequest) -> JsonObject | Rejection:
    name, raw_arguments = request.params.get("name"), request.params.get("arguments")
    if not isinstance(name, str) or not (raw_arguments is None or isinstance(raw_arguments, Mapping)):
        return Rejection(INVALID_PARAMS, "tools/call takes a `name` and an object `arguments`.")
    arguments = as_object(raw_arguments)  # some clients write null for none
    provider_and_tool = _find_tool(name, request.surface, request.call)
    if provider_and_tool is None:
        return Rejection(INVALID_PARAMS, f"There is no tool {name[:120]!r}. Find tools with tools/list.")
    provider, tool = provider_and_tool
    mismatch = (
        find_parameter_mismatch(tool.input_schema, arguments, request.headers) if request.revision.is_modern else None
    )
    resumed = mismatch or retry_state.resume(request, tool.name)
    if isinstance(resumed, Rejection):
        return resumed
    refusal = _find_refusal(resumed, tool, arguments)
    if refusal:
        return results.build_tool_result(_build_refusal(provider, arguments, refusal), request.revision)
    outcome = provider.call_tool(tool, arguments, resumed.call)
    return (
        _request_input(resumed, outcome, tool)
        if isinstance(outcome, InputRequired)
        else _build_result(resumed, outcome, tool)
    )


def _find_tool(name: str, surface: Surface, call: Call) -> tuple[ToolProvider, Tool] | None:
    for provider in surface.tools:
        tool = provider.tool(name, call)
        if tool is not None:
            return provider, tool
    return _find_by_portable_name(name, surface, call)


def _find_by_portable_name(name: str, surface: Surface, call: Call) -> tuple[ToolProvider, Tool] | None:
    portable_by_name = portable_spellings(surface.tools, call)
    pairs = ((provider, tool) for provider in surface.tools for tool in _all_tools_of(provider, call))
    return next((pair for pair in pairs if portable_by_name[pair[1].name] == name), None)


def portable_spellings(providers: Sequence[ToolProvider], call: Call) -> Mapping[str, str]:
    """Returns the portable name of every tool, hidden ones included, since they can be called too and so take names."""
    names = [tool.name for provider in providers for tool in _all_tools_of(provider, call)]
    simple = {simplify_name(name) for name in names} - set(names)
    unlisted = [name for name in sorted(simple) if any(provider.tool(name, call) for provider in providers)]
    return portable_names([*names, *unlisted])


def _all_tools_of(provider: ToolProvider, call: Call) -> Sequence[Tool]:
    return [*provider.tools(call), *hidden_tools_of(provider, call)]


def hidden_tools_of(provider: ToolProvider, call: Call) -> Sequence[Tool]:
    return provider.hidden_tools(call) if isinstance(provider, HiddenToolProvider) else ()


def _find_refusal(request: McpRequest, tool: Tool, arguments: JsonObject) -> str | None:
    try:
        violation = request.services.validators.find_violation(tool.input_schema, arguments)
    except SchemaRefusal as fault:
        return f"{tool.name} cannot be called: its input schema is refused, because {fault}."
    return explain_violation(tool, violation) if violation else None


def _build_refusal(provider: ToolProvider, arguments: JsonObject, refusal: str) -> CallToolResult:
    if isinstance(provider, RefusalFormatter):
        return provider.format_refusal(arguments, refusal)
    return _error_result(refusal)


def explain_violation(tool: Tool, violation: Violation) -> str:
    place = f"the argument `{violation.field}`" if violation.field else "the arguments"
    return f"{tool.name} was not called: {place} did not satisfy its input schema: {violation.message}."


def _error_result(text: str) -> CallToolResult:
    return CallToolResult(content=[{"type": "text", "text": text}], is_error=True)


def _request_input(request: McpRequest, required: InputRequired, tool: Tool) -> JsonObject | Rejection:
    if request.revision.is_modern:
        return retry_state.build_input_required(request, required, tool.name)
    return results.build_tool_result(_error_result(CANNOT_ASK), request.revision)


def _build_result(request: McpRequest, result: CallToolResult, tool: Tool) -> JsonObject:
    if tool.output_schema is not None and not result.is_error:
        violation = request.services.validators.find_violation(tool.output_schema, result.structured)
        if violation:
            raise InvalidToolResult(f"{tool.name}: {violation.field}")
    return results.build_tool_result(result, request.revision)
