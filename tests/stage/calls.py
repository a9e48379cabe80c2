"""A tool that calls any function, through the same invoker as the calls of every surface."""

from collections.abc import Sequence

from signpost.calling import wire
from signpost.calling.ports import FunctionInvoker
from signpost.contract import CallClient, CallRequest
from signpost.model import Call, CallToolResult, Json, JsonObject, Tool, as_object

CALL_FUNCTION = Tool(
    "test_call_function",
    "Calls a function and answers with its reply as it came.",
    {
        "type": "object",
        "properties": {
            "function": {"type": "string"},
            "arguments": {"type": "object"},
            "endsAt": {"type": "number"},
            "step": {"type": "string"},
            "idempotencyKey": {"type": "string"},
            "thread": {"type": "string"},
        },
        "required": ["function"],
    },
)


class CallFunctionProvider:
    def __init__(self, executors: FunctionInvoker) -> None:
        self._executors = executors

    def tools(self, call: Call) -> Sequence[Tool]:
        del call
        return ()

    def tool(self, name: str, call: Call) -> Tool | None:
        del call
        return CALL_FUNCTION if name == CALL_FUNCTION.name else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
        del tool
        ends_at = arguments.get("endsAt")
        request = CallRequest(
            function=str(arguments["function"]),
            arguments=as_object(arguments.get("arguments")),
            principal=call.principal,
            ends_at=min(call.deadline, ends_at) if isinstance(ends_at, int | float) else call.deadline,
            idempotency_key=_text(arguments.get("idempotencyKey")),
            step=_text(arguments.get("step")),
            trace=call.trace,
            client=CallClient(thread=_text(arguments.get("thread")) or ""),
        )
        reply = wire.reply_message(self._executors.invoke(request))
        return CallToolResult([{"type": "text", "text": "See the structured content."}], structured=reply)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
