"""The wire form of OpenAI's Chat Completions, as a server of models needs it."""

import json
from collections.abc import Iterator, Sequence

from signpost.model import JsonObject, as_object
from tests.frameworks.following_model import OfferedTool, ToolCall
from tests.frameworks.json_lists import as_list
from tests.frameworks.wire_values import join_parts, read_function

_USAGE: JsonObject = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def read_tools(request: JsonObject) -> Sequence[OfferedTool]:
    functions = [as_object(as_object(tool).get("function")) for tool in as_list(request.get("tools"))]
    return [read_function(it) for it in functions]


def read_results(request: JsonObject) -> Sequence[str]:
    messages = [as_object(message) for message in as_list(request.get("messages"))]
    return [join_parts(message.get("content")) for message in messages if message.get("role") == "tool"]


def build_answer(request: JsonObject, decided: ToolCall | str, number: int) -> JsonObject:
    message = {"role": "assistant", **_content(decided, number)}
    choice: JsonObject = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(decided)}
    return {**_envelope(request, "chat.completion", number), "choices": [choice], "usage": _USAGE}


def stream_answer(request: JsonObject, decided: ToolCall | str, number: int) -> Iterator[str]:
    envelope = _envelope(request, "chat.completion.chunk", number)
    content = _content(decided, number)
    calls = [{"index": at, **as_object(call)} for at, call in enumerate(as_list(content.get("tool_calls")))]
    delta: JsonObject = {"role": "assistant", **content, **({"tool_calls": calls} if calls else {})}
    yield _event({**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**envelope, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason(decided)}]})
    yield _event({**envelope, "choices": [], "usage": _USAGE})
    yield "data: [DONE]\n\n"


def _content(decided: ToolCall | str, number: int) -> JsonObject:
    if isinstance(decided, str):
        return {"content": decided}
    function: JsonObject = {"name": decided.name, "arguments": json.dumps(decided.arguments)}
    return {"content": None, "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}]}


def _reason(decided: ToolCall | str) -> str:
    return "stop" if isinstance(decided, str) else "tool_calls"


def _envelope(request: JsonObject, kind: str, number: int) -> JsonObject:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_700_000_000, "model": request.get("model", "")}


def _event(value: JsonObject) -> str:
    return f"data: {json.dumps(value)}\n\n"
