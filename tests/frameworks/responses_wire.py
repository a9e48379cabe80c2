"""The wire form of OpenAI's Responses, as a server of models needs it."""

import json
from collections.abc import Iterator, Sequence

from signpost.model import Json, JsonObject, as_object
from tests.frameworks.following_model import OfferedTool, ToolCall
from tests.frameworks.json_lists import as_list
from tests.frameworks.wire_values import join_parts, read_function

_USAGE: JsonObject = {
    "input_tokens": 1,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 1,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 2,
}


def read_tools(request: JsonObject) -> Sequence[OfferedTool]:
    functions = [as_object(tool) for tool in as_list(request.get("tools"))]
    return [read_function(it) for it in functions]


def read_results(request: JsonObject) -> Sequence[str]:
    items = [as_object(item) for item in as_list(request.get("input"))]
    return [join_parts(item.get("output")) for item in items if item.get("type") == "function_call_output"]


def build_answer(request: JsonObject, decided: ToolCall | str, number: int) -> JsonObject:
    return _response(request, number, "completed", [_item(decided, number)])


def stream_answer(request: JsonObject, decided: ToolCall | str, number: int) -> Iterator[str]:
    item = _item(decided, number)
    started = _response(request, number, "in_progress", [])
    ended = _response(request, number, "completed", [item])
    events = [
        ("response.created", {"response": started}),
        *_item_events(decided, item),
        ("response.completed", {"response": ended}),
    ]
    for at, (kind, members) in enumerate(events):
        yield f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': at, **members})}\n\n"


def _item_events(decided: ToolCall | str, item: JsonObject) -> Sequence[tuple[str, JsonObject]]:
    """Return the events that build one item of the output."""
    place: JsonObject = {"output_index": 0, "item_id": item["id"]}
    added, done = {"output_index": 0, "item": {**item, **_empty(decided)}}, {"output_index": 0, "item": item}
    within: Sequence[tuple[str, JsonObject]]
    if isinstance(decided, str):
        part: JsonObject = {**place, "content_index": 0}
        within = [
            ("response.content_part.added", {**part, "part": _text_part("")}),
            ("response.output_text.delta", {**part, "delta": decided, "logprobs": []}),
            ("response.output_text.done", {**part, "text": decided, "logprobs": []}),
            ("response.content_part.done", {**part, "part": _text_part(decided)}),
        ]
    else:
        within = [
            ("response.function_call_arguments.delta", {**place, "delta": item["arguments"]}),
            ("response.function_call_arguments.done", {**place, "arguments": item["arguments"], "name": decided.name}),
        ]
    return [("response.output_item.added", added), *within, ("response.output_item.done", done)]


def _empty(decided: ToolCall | str) -> JsonObject:
    """Return the members of an item that are still empty when it is added."""
    return {"status": "in_progress", **({"content": []} if isinstance(decided, str) else {"arguments": ""})}


def _item(decided: ToolCall | str, number: int) -> JsonObject:
    if isinstance(decided, str):
        content = [_text_part(decided)]
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "call_id": f"call_{number}",
        "name": decided.name,
        "arguments": json.dumps(decided.arguments),
        "status": "completed",
    }


def _text_part(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _response(request: JsonObject, number: int, status: str, output: Sequence[Json]) -> JsonObject:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "model": request.get("model", ""),
        "output": output,
        "usage": _USAGE if status == "completed" else None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "temperature": 1,
        "top_p": 1,
    }
