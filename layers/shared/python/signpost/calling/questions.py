"""Checks the requests for input that a function returns, before any client gets one.

A form is a flat object of texts, numbers, truth values and choices, as MCP 2026-07-28 permits, and asks for no secret.
A message for the model of a client has bounded texts without orders over its instructions. Import this module on first
use: few functions ask."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from signpost.calling.question_forms import find_elicitation_faults
from signpost.calling.question_members import (
    Members,
    are_objects,
    are_texts,
    find_misfits,
    find_missing,
    find_strangers,
    is_anything,
    is_count,
    is_number,
    is_object,
    is_one_of,
    is_text,
    is_truth,
)
from signpost.hazards.names import quote_name
from signpost.hazards.orders import find_order
from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.schema.limits import is_too_deep

MOST_QUESTIONS = 20
LARGEST_SAMPLING = 1_000_000
"""Characters of the JSON of a request to a model, images included."""


def find_question_fault(required: InputRequired) -> str | None:
    """Return why the questions are not sent, as a clause with advice; None if they may be sent.

    Each check below relies on those before it, so only the first fault is looked for."""
    if not required.requests and required.state is None:
        return "it has neither a question nor a state. Return a question for the client."
    if len(required.requests) > MOST_QUESTIONS:
        return f"it has more than {MOST_QUESTIONS} questions. Ask in several rounds."
    faults = (f"the question {quote_name(key)} {fault}" for key, request in required.requests.items()
              for fault in _faults_of(request))  # fmt: skip
    return next(faults, None)


def find_request_fault(request: JsonObject) -> str | None:
    """Return why this one question is not sent, as a clause that follows the words "the question"; None if it may be
    sent."""
    return next(_faults_of(request), None)


def _faults_of(request: JsonObject) -> Iterator[str]:
    method, params = request.get("method"), request.get("params")
    if not isinstance(method, str) or method not in _METHODS:
        yield f"has an unknown method. Use {', '.join(_METHODS)}."
    elif not (isinstance(params, Mapping) or (params is None and method == "roots/list")):
        yield "has no `params`, which must be an object."
    elif is_too_deep(params):
        yield "is nested too deeply. Make it flat."
    else:
        yield from find_strangers(request, ("method", "params"), "")
        yield from _METHODS[method](as_object(params))


_SAMPLING: Members = {
    "messages": are_objects,
    "maxTokens": lambda value: is_count(value) and value != 0,
    "systemPrompt": is_text,
    "includeContext": is_one_of("none", "thisServer", "allServers"),
    "temperature": is_number,
    "stopSequences": are_texts,
    "metadata": is_object,
    "modelPreferences": is_object,
    "tools": are_objects,
    "toolChoice": is_object,
}
_MESSAGE: Members = {"role": is_one_of("user", "assistant"), "content": is_anything, "_meta": is_object}
_BLOCK: Members = {"type": is_text, "annotations": is_object, "_meta": is_object}
_MEDIA: Members = {**_BLOCK, "data": is_text, "mimeType": is_text}
_BLOCKS: Mapping[str, tuple[Members, Sequence[str]]] = {
    "text": ({**_BLOCK, "text": is_text}, ("text",)),
    "image": (_MEDIA, ("data", "mimeType")),
    "audio": (_MEDIA, ("data", "mimeType")),
    "tool_use": ({**_BLOCK, "id": is_text, "name": is_text, "input": is_object}, ("id", "name", "input")),
    "tool_result": (
        {
            **_BLOCK,
            "toolUseId": is_text,
            "content": are_objects,
            "structuredContent": is_anything,
            "isError": is_truth,
        },
        ("toolUseId", "content"),
    ),
}
"""The blocks of a message to a model: the members that each kind may have, and those that it must have."""


def _faults_of_sampling(params: JsonObject) -> Iterator[str]:
    if len(json.dumps(params)) > LARGEST_SAMPLING:
        yield f"has more than {LARGEST_SAMPLING} characters. Shorten it."
    yield from find_missing(params, ("messages", "maxTokens"))
    yield from find_misfits(params, _SAMPLING, "")
    messages = params["messages"]
    if not isinstance(messages, list) or not messages:
        yield "has no messages. Add one."
        return
    yield from (fault for message in messages for fault in _faults_of_message(as_object(message)))
    for text in _texts_in(params):
        if (order := find_order(text)) is not None:
            yield f"has {order}"


def _faults_of_message(message: JsonObject) -> Iterator[str]:
    yield from find_missing(message, ("role", "content"), " in a message")
    yield from find_misfits(message, _MESSAGE, " in a message")
    content = message["content"]
    for block in content if isinstance(content, list) else [content]:
        yield from _faults_of_block(as_object(block))


def is_model_block(block: JsonObject, *, has_tools: bool) -> bool:
    """Tell whether an object is a content block that a model of a client may answer. Only a model that was offered
    tools uses one."""
    return next(_faults_of_block(block), None) is None and (has_tools or block.get("type") != "tool_use")


def _faults_of_block(block: JsonObject) -> Iterator[str]:
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _BLOCKS:
        yield f"has a message with content of an unknown type. Use {', '.join(_BLOCKS)}."
        return
    members, needed = _BLOCKS[kind]
    yield from find_missing(block, needed, f" in a content block of type {kind}")
    yield from find_misfits(block, members, f" in a content block of type {kind}")


def _texts_in(value: Json) -> Iterator[str]:
    """Yield all texts that a model of the client reads. Images and audio have no words."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        is_media = value.get("type") in ("image", "audio")
        for name, member in value.items():
            yield from () if is_media and name == "data" else _texts_in(member)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)


def _faults_of_roots(params: JsonObject) -> Iterator[str]:
    yield from find_misfits(params, {"_meta": is_object}, "")


_METHODS: Mapping[str, Callable[[JsonObject], Iterator[str]]] = {
    "elicitation/create": find_elicitation_faults,
    "sampling/createMessage": _faults_of_sampling,
    "roots/list": _faults_of_roots,
}
"""What a client can be asked."""
