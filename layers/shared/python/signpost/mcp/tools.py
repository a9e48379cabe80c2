"""Lists and calls tools by canonical or portable name, and validates arguments and results against their schemas."""

from collections.abc import Mapping
from dataclasses import replace

from signpost.errors import INVALID_PARAMS, Rejection
from signpost.mcp import results, retry_state
from signpost.mcp.headers import find_parameter_mismatch
from signpost.mcp.pages import build_page
from signpost.mcp.providers import RefusalFormatter, ToolOutcome, ToolProvider
from signpost.mcp.request import McpRequest
from signpost.mcp.results import Listing
from signpost.mcp.tool_names import ToolNames, spell_links
from signpost.model import Call, CallToolResult, InputRequired, JsonObject, Task, Tool, as_object
from signpost.schema.nulls import leave_out_nulls
from signpost.schema.validation import SchemaRefusal, Violation
from signpost.spelling import suggest_name

LONGEST_NAME = 120
"""Characters that a rejection repeats of the name of an unknown tool."""


CANNOT_FOLLOW = (
    "This tool answers with a task only, which this connection cannot follow. Use a client that supports the extension "
    "io.modelcontextprotocol/tasks of MCP 2026-07-28."
)


class InvalidToolResult(Exception):  # noqa: N818 - named after the fault of the result
    """A provider returned a result that the tool's output schema does not allow."""


def list_tools(request: McpRequest) -> Listing | Rejection:
    names = ToolNames(request.surface.tools, request.call)
    texts, revision = request.services.tool_texts, request.revision
    return build_page(
        request, "tools", names.listed(), lambda tool: tool.name, lambda tool: texts.of(tool, names, revision)
    )


def call_tool(request: McpRequest) -> JsonObject | Rejection:
    name, raw_arguments = request.params.get("name"), request.params.get("arguments")
    if not isinstance(name, str) or not (raw_arguments is None or isinstance(raw_arguments, Mapping)):
        return Rejection(INVALID_PARAMS, "tools/call takes a `name` and an object `arguments`.")
    arguments = as_object(raw_arguments)  # some clients write null for none
    names = ToolNames(request.surface.tools, request.call)
    provider_and_tool = names.find(name)
    if provider_and_tool is None:
        return _reject_unknown_tool(name, names, request.call)
    provider, tool = provider_and_tool
    arguments = leave_out_nulls(request.services.validators, tool.input_schema, arguments)
    request = request.with_arguments(arguments)
    mismatch = (
        find_parameter_mismatch(tool.input_schema, arguments, request.headers) if request.revision.is_modern else None
    )
    resumed = mismatch or _find_client_fault(request, tool) or retry_state.resume(request, tool.name)
    if not isinstance(resumed, McpRequest):
        return _conclude(request, resumed)
    return _perform(resumed, provider, tool, names)


def _perform(request: McpRequest, provider: ToolProvider, tool: Tool, names: ToolNames) -> JsonObject | Rejection:
    arguments = as_object(request.params.get("arguments"))
    refusal = _find_refusal(request, tool, names, arguments)
    if refusal:
        return _build_result(request, _build_refusal(provider, arguments, refusal), tool, names)
    outcome = provider.call_tool(tool, arguments, replace(request.call, spell_tool=names.spell))
    return _build_answer(request, outcome, tool, names)


def _build_answer(request: McpRequest, outcome: ToolOutcome, tool: Tool, names: ToolNames) -> JsonObject | Rejection:
    match outcome:
        case CallToolResult():
            return _build_result(request, outcome, tool, names)
        case InputRequired():
            takes = list(as_object(tool.input_schema.get("properties")))
            return _conclude(request, retry_state.ask_back(request, outcome, tool.name, takes))
        case Task():
            # Imported on first use: most clients follow no tasks.
            from signpost.mcp.tasks_extension import build_created_task  # noqa: PLC0415

            return build_created_task(outcome)
        case Rejection():
            return _conclude(request, outcome)


def _find_client_fault(request: McpRequest, tool: Tool) -> Rejection | None:
    """Find the extension that a modern client has to declare for a tool that answers with tasks only."""
    if not tool.is_task or request.call.client.follows_tasks or not request.revision.is_modern:
        return None
    from signpost.mcp.tasks_extension import UNDECLARED  # noqa: PLC0415 - as above

    return UNDECLARED


def _reject_unknown_tool(name: str, names: ToolNames, call: Call) -> Rejection:
    """Rejects a call of an unknown tool. Only listed tools are suggested, so that no other becomes known this way."""
    close = suggest_name(name[:LONGEST_NAME], [names.spell(tool.name) for tool in names.listed()])
    advice = "Find tools with tools/list." if close is None else f"Did you mean {close}?"
    if close is not None and not call.portable_names:
        advice = f"{advice} If your host changes the names of tools, add ?names=portable to the URL of this server."
    return Rejection(INVALID_PARAMS, f"There is no tool {name[:LONGEST_NAME]!r}. {advice}")


def _find_refusal(request: McpRequest, tool: Tool, names: ToolNames, arguments: JsonObject) -> str | None:
    if tool.is_task and not request.revision.is_modern:
        return CANNOT_FOLLOW
    try:
        violation = request.services.validators.find_violation(tool.input_schema, arguments)
    except SchemaRefusal as fault:
        return f"{names.spell(tool.name)} cannot be called: its input schema is refused, because {fault}."
    return explain_violation(names.spell(tool.name), violation) if violation else None


def _build_refusal(provider: ToolProvider, arguments: JsonObject, refusal: str) -> CallToolResult:
    if isinstance(provider, RefusalFormatter):
        return provider.format_refusal(arguments, refusal)
    return _error_result(refusal)


def explain_violation(tool_name: str, violation: Violation) -> str:
    place = f"the argument `{violation.field}`" if violation.field else "the arguments"
    return f"{tool_name} was not called: {place} did not satisfy its input schema: {violation.sentence}"


def _error_result(text: str) -> CallToolResult:
    return CallToolResult(content=[{"type": "text", "text": text}], is_error=True)


def _conclude(request: McpRequest, asked: retry_state.AskedBack) -> JsonObject | Rejection:
    """Return the answer that asks the client, or that rejects it for a missing capability. For clients of older
    revisions the sentence becomes a result, which their model reads."""
    if isinstance(asked, retry_state.Unasked) or (isinstance(asked, Rejection) and not request.revision.is_modern):
        return results.build_tool_result(_error_result(asked.message), request.revision)
    return asked


def _build_result(request: McpRequest, result: CallToolResult, tool: Tool, names: ToolNames) -> JsonObject:
    if result.has_links and result.structured is not None and request.call.portable_names:
        result = replace(result, structured=spell_links(result.structured, names.spell))
    if tool.output_schema is not None and not result.is_error:
        violation = request.services.validators.find_violation(tool.output_schema, result.structured)
        if violation:
            raise InvalidToolResult(f"{tool.name}: {violation.field}")
    return results.build_tool_result(result, request.revision)
