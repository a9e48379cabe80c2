"""Functions as tools, for all surfaces: the definition of a tool, and a call of it with its result."""

import json
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Protocol

from signpost.calling.caller import CALLER_MARGIN, GRACE
from signpost.calling.client_needs import reject_lacking_client
from signpost.calling.function_schemas import client_schema
from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import LONGEST_WAIT_MS, is_declared_long, is_long_call, placement_of
from signpost.content.uris import skill_uri
from signpost.contract import (
    CallClient,
    CallReply,
    CallRequest,
    ClientPresentation,
    Failure,
    HostedFunction,
    KeptResult,
    Result,
)
from signpost.errors import Rejection
from signpost.mcp.results import link_content
from signpost.model import (
    Call,
    CallToolResult,
    InputRequired,
    Json,
    JsonObject,
    Tool,
)
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep
from signpost.surfaces.call_clients import call_client_of, notice_receiver_of

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionInvoker
    from signpost.content.ports import AnswerStore
    from signpost.ports import Clock

LONGEST_STRUCTURED = 100_000
"""Characters of a result that is sent a second time as structured content."""
NOTHING = ClientPresentation()


class LongCallStarter(Protocol):
    """Starts calls that take longer than a client waits; see `long_calls.LongCalls`."""

    def start(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> CallToolResult: ...

    def find_started(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> CallToolResult | None: ...


class FunctionCalls:
    """Calls the functions behind tools."""

    def __init__(
        self,
        *,
        functions: FunctionView,
        executors: "FunctionInvoker",
        long_calls: Callable[[], LongCallStarter],
        long_answers: "AnswerStore",
        clock: "Clock",
    ) -> None:
        self._functions = functions
        self._executors = executors
        self._long_calls = long_calls
        self._long_answers = long_answers
        self._clock = clock

    def call_function(
        self, function: str, arguments: JsonObject, tool: Tool, call: Call
    ) -> CallToolResult | InputRequired | Rejection:
        """Call `function` for the tool `tool` and return the tool's result."""
        client = call_client_of(call)
        if (rejection := self._reject_lacking_client(function, call.principal.tenant, client)) is not None:
            return rejection
        # Clients expect the result of a tool with an output schema, so a run cannot be its answer.
        if tool.output_schema is None and is_long_call(self._functions.state(call.principal.tenant, function)):
            return self._long_calls().start(function, arguments, tool, call)
        if call.client.token is not None:
            # The client may be repeating a call that started a run before the declared timeout was lowered.
            started = self._long_calls().find_started(function, arguments, tool, call)
            if started is not None:
                return started
        request = CallRequest(
            function=function,
            arguments=arguments,
            principal=call.principal,
            ends_at=min(call.deadline, self._clock.now() + LONGEST_WAIT_MS / 1000 + GRACE + CALLER_MARGIN),
            trace=call.trace,
            answers=call.answers,
            state=call.state,
            client=client,
            notify=notice_receiver_of(call),
        )
        return self._build_tool_result(self._executors.invoke(request), tool)

    def _reject_lacking_client(self, function: str, tenant: str, client: CallClient) -> Rejection | None:
        """Reject a call whose client lacks what the function needs, before anything is started for it."""
        placement = placement_of(self._functions.state(tenant, function))
        return None if placement is None else reject_lacking_client(placement.hosted, client)

    def _build_tool_result(self, reply: CallReply, tool: Tool) -> CallToolResult | InputRequired:
        match reply:
            case InputRequired():
                return reply
            case Result(value, shown=shown) if not is_too_deep(value):
                return _success_result(value, shown or NOTHING, tool)
            case Result():
                return _error_result(
                    f"The function ran, but its result is nested more than {DEEPEST_VALUE} deep and was not sent."
                )
            case KeptResult(key):
                # Clients validate a result that is no error against the output schema, which a link does not satisfy.
                is_error = tool.output_schema is not None
                return CallToolResult(link_content(self._long_answers.address(key)), is_error=is_error)
            case Failure(message=message, retry_after_ms=wait, shown=shown):
                return _error_result(add_retry_hint(message, wait), shown or NOTHING)


def add_retry_hint(message: str, wait_ms: int | None) -> str:
    return message if wait_ms is None else f"{message} Try again in {ceil(wait_ms / 1000)} s."


def tool_of(hosted: HostedFunction, name: str, description: str, input_schema: JsonObject) -> Tool:
    """Build the tool of a function as clients see it."""
    return Tool(
        name,
        description,
        input_schema,
        title=hosted.title,
        output_schema=_client_output_schema(hosted),
        annotations=hosted.annotations,
        icons=hosted.icons,
        meta=_client_meta(hosted),
    )


def text_block(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _client_meta(hosted: HostedFunction) -> JsonObject:
    """Return `_meta` with the members that MCP has no place for."""
    category: JsonObject = {"category": hosted.category} if hosted.category else {}
    document: JsonObject = {"doc": skill_uri(hosted.doc)} if hosted.doc else {}
    return {**hosted.meta, **category, **document}


def _client_output_schema(hosted: HostedFunction) -> JsonObject | None:
    """Return the output schema for clients; None if it is not that of an object, or if the call is long. In both cases
    no structured content would satisfy it."""
    schema = hosted.output_schema
    if schema is None or schema.get("type") != "object" or is_declared_long(hosted):
        return None
    return client_schema(schema)


def _success_result(value: Json, shown: ClientPresentation, tool: Tool) -> CallToolResult:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    is_short = len(text) <= LONGEST_STRUCTURED
    structured = value if isinstance(value, Mapping) and (is_short or tool.output_schema is not None) else None
    # A long result with structured content is not sent again as text.
    blocks: Sequence[JsonObject] = [text_block(text)] if is_short or structured is None else []
    return CallToolResult(shown.content or blocks, structured, meta=shown.meta)


def _error_result(sentence: str, shown: ClientPresentation = NOTHING) -> CallToolResult:
    return CallToolResult(shown.content or [text_block(sentence)], is_error=True, meta=shown.meta)
