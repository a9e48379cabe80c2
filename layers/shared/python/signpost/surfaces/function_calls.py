"""Functions as tools, for all surfaces: the definition of a tool, and a call of it with its result."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from signpost.calling.caller import CALLER_MARGIN, GRACE
from signpost.calling.client_needs import reject_lacking_client
from signpost.calling.function_schemas import listed_output_schema
from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import LONGEST_WAIT_MS, is_long_call, placement_of
from signpost.content.uris import skill_uri
from signpost.contract import TASK_REQUIRED, CallClient, CallReply, CallRequest, FunctionState, HostedFunction
from signpost.errors import Rejection
from signpost.mcp.providers import ToolOutcome
from signpost.model import Call, CallToolResult, InputRequired, JsonObject, Task, Tool
from signpost.surfaces.call_clients import call_client_of, notice_receiver_of
from signpost.surfaces.reply_results import ReplyResults

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionInvoker
    from signpost.ports import Clock


class LongCallStarter(Protocol):
    """Starts calls that take longer than a client waits; see `long_calls.LongCalls`."""

    def start(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> CallToolResult | Task: ...

    def find_started(
        self, function: str, arguments: JsonObject, tool: Tool, call: Call
    ) -> CallToolResult | Task | None: ...


class FunctionCalls:
    """Calls the functions behind tools."""

    def __init__(
        self,
        *,
        functions: FunctionView,
        executors: "FunctionInvoker",
        long_calls: Callable[[], LongCallStarter],
        results: ReplyResults,
        clock: "Clock",
    ) -> None:
        self._functions = functions
        self._executors = executors
        self._long_calls = long_calls
        self._results = results
        self._clock = clock

    def call_function(self, function: str, arguments: JsonObject, tool: Tool, call: Call) -> ToolOutcome:
        """Call `function` for the tool `tool` and return the tool's result."""
        client = call_client_of(call)
        if (rejection := self._reject_lacking_client(function, call.principal.tenant, client)) is not None:
            return rejection
        if self._is_left_to_worker(function, tool, call):
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
        """Reject a call before anything is started for it, if its client did not declare a needed capability."""
        placement = placement_of(self._functions.state(tenant, function))
        return None if placement is None else reject_lacking_client(placement.hosted, client)

    def _build_tool_result(self, reply: CallReply, tool: Tool) -> CallToolResult | InputRequired:
        if isinstance(reply, InputRequired):
            return reply
        return self._results.build(reply, has_output_schema=tool.output_schema is not None)

    def _is_left_to_worker(self, function: str, tool: Tool, call: Call) -> bool:
        """Tell whether a run makes the call: as a task for a client that follows tasks, else as a run that the client
        reads. A client without tasks expects the result of a tool with an output schema, so a run cannot be its answer.
        """
        state = self._functions.state(call.principal.tenant, function)
        if not call.client.follows_tasks:
            return tool.output_schema is None and is_long_call(state)
        return is_long_call(state) or (tool.is_task and not _asks_first(state, call))


def _asks_first(state: FunctionState, call: Call) -> bool:
    """Tell whether this is the first round of a call of a function that cannot work without a client's answers: it asks
    in the call itself, and the task starts with the answers. A long function asks in the task."""
    placement = placement_of(state)
    return placement is not None and bool(placement.hosted.needs) and not call.answers


def tool_of(hosted: HostedFunction, name: str, description: str, input_schema: JsonObject) -> Tool:
    """Build the tool of a function as clients see it."""
    return Tool(
        name,
        description,
        input_schema,
        title=hosted.title,
        output_schema=listed_output_schema(hosted),
        annotations=hosted.annotations,
        icons=hosted.icons,
        meta=_client_meta(hosted),
        is_task=hosted.task == TASK_REQUIRED,
    )


def _client_meta(hosted: HostedFunction) -> JsonObject:
    """Return `_meta` with the members that MCP has no place for."""
    category: JsonObject = {"category": hosted.category} if hosted.category else {}
    document: JsonObject = {"doc": skill_uri(hosted.doc)} if hosted.doc else {}
    return {**hosted.meta, **category, **document}
