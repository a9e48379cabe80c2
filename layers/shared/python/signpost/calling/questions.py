"""Checks the requests for input that a function returns, before any client gets one.

A form is a flat object of texts, numbers, truth values and choices, as MCP 2026-07-28 permits, and asks for no secret.
A message for the model of a client has bounded texts without orders over its instructions. Import this module on first
use: few functions ask."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from signpost.hazards.names import quote_name
from signpost.hazards.orders import find_order
from signpost.hazards.secret_words import find_secret_words
from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.schema.limits import is_too_deep

MOST_QUESTIONS = 20
MOST_FIELDS = 50
LARGEST_FORM = 64_000
"""Characters of the JSON of a form, or of a request to open a page."""
LARGEST_SAMPLING = 1_000_000
"""Characters of the JSON of a request to a model, images included."""

type Check = Callable[[Json], bool]
type Members = Mapping[str, Check]


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


def _faults_of(request: JsonObject) -> Iterator[str]:
    method, params = request.get("method"), request.get("params")
    if not isinstance(method, str) or method not in _METHODS:
        yield f"has an unknown method. Use {', '.join(_METHODS)}."
    elif not (isinstance(params, Mapping) or (params is None and method == "roots/list")):
        yield "has no `params`, which must be an object."
    elif is_too_deep(params):
        yield "is nested too deeply. Make it flat."
    else:
        yield from _strangers(request, ("method", "params"), "")
        yield from _METHODS[method](as_object(params))


def _strangers(fields: JsonObject, known: Iterable[str], place: str) -> Iterator[str]:
    """Yield a fault for members that MCP does not permit there."""
    for name in fields:
        if name not in known:
            permitted = ", ".join(f"`{it}`" for it in known)
            yield f"has the member {quote_name(name)}{place}, which is not permitted there. Permitted are {permitted}."


def _misfits(fields: JsonObject, members: Members, place: str) -> Iterator[str]:
    yield from _strangers(fields, members, place)
    for name, value in fields.items():
        if not members[name](value):
            yield f"has a `{name}`{place} of a type or value that is not permitted there. Correct it."


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_truth(value: Json) -> bool:
    return isinstance(value, bool)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_object(value: Json) -> bool:
    return isinstance(value, Mapping)


def _are_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _are_objects(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _is_anything(_value: Json) -> bool:
    return True


def _is_one_of(*values: str) -> Check:
    return lambda value: value in values


def _are_choices(value: Json) -> bool:
    items = [as_object(item) for item in value] if isinstance(value, list) else []
    return bool(items) and all(set(item) == {"const", "title"} and all(map(_is_text, item.values())) for item in items)


def _is_item_schema(value: Json) -> bool:
    fields = as_object(value)
    if set(fields) == {"anyOf"}:
        return _are_choices(fields["anyOf"])
    return set(fields) == {"type", "enum"} and fields["type"] == "string" and _are_texts(fields["enum"])


_DESCRIBED: Members = {"type": _is_text, "title": _is_text, "description": _is_text}
_NUMBER: Members = {**_DESCRIBED, "default": _is_number, "minimum": _is_number, "maximum": _is_number}
_CHOICE: Members = {**_DESCRIBED, "default": _is_text, "enum": _are_texts, "enumNames": _are_texts}
_TITLED_CHOICE: Members = {**_DESCRIBED, "default": _is_text, "oneOf": _are_choices}
_FIELDS: Mapping[str, Members] = {
    "boolean": {**_DESCRIBED, "default": _is_truth},
    "integer": _NUMBER,
    "number": _NUMBER,
    "string": {
        **_DESCRIBED,
        "default": _is_text,
        "minLength": _is_count,
        "maxLength": _is_count,
        "format": _is_one_of("date", "date-time", "email", "uri"),
    },
    "array": {
        **_DESCRIBED,
        "default": _are_texts,
        "items": _is_item_schema,
        "minItems": _is_count,
        "maxItems": _is_count,
    },
}
"""The fields of a form by their type. A text with `enum` or `oneOf` is a choice."""
_FORM: Members = {"mode": _is_one_of("form"), "message": _is_text, "requestedSchema": _is_object}
_FORM_SCHEMA: Members = {
    "$schema": _is_text,
    "type": _is_one_of("object"),
    "properties": _is_object,
    "required": _are_texts,
}
_FLAT = "Use a flat form of texts, numbers, truth values and choices."


def _faults_of_elicitation(params: JsonObject) -> Iterator[str]:
    if len(json.dumps(params)) > LARGEST_FORM:
        yield f"has more than {LARGEST_FORM} characters. Shorten it."
    yield from _faults_of_page(params) if params.get("mode") == "url" else _faults_of_form(params)


def _faults_of_form(params: JsonObject) -> Iterator[str]:
    schema = as_object(params.get("requestedSchema"))
    yield from _lacking(params, ("message", "requestedSchema"))
    yield from _misfits(params, _FORM, "")
    yield from (f"{fault} {_FLAT}" for fault in _misfits(schema, _FORM_SCHEMA, " in its schema"))
    yield from _lacking(schema, ("type", "properties"), " in its schema")
    fields = as_object(schema["properties"])
    if len(fields) > MOST_FIELDS:
        yield f"has more than {MOST_FIELDS} fields. Ask in several rounds."
    yield from (fault for name, declared in fields.items() for fault in _faults_of_field(name, as_object(declared)))
    required = schema.get("required")
    if isinstance(required, list) and not set(map(str, required)) <= fields.keys():
        yield "requires a field that it does not have. Correct `required`."
    yield from _faults_of_secrets(str(params["message"]), fields)


def _lacking(fields: JsonObject, names: Sequence[str], place: str = "") -> Iterator[str]:
    yield from (f"has no `{name}`{place}. Add it." for name in names if name not in fields)


def _faults_of_field(name: str, declared: JsonObject) -> Iterator[str]:
    kind, place = declared.get("type"), f" in its field {quote_name(name)}"
    members = _FIELDS.get(kind) if isinstance(kind, str) else None
    if members is None:
        yield f"has no `type`{place} that a form can have. {_FLAT}"
        return
    if kind == "string" and "enum" in declared:
        members = _CHOICE
    elif kind == "string" and "oneOf" in declared:
        members = _TITLED_CHOICE
    yield from (f"{fault} {_FLAT}" for fault in _misfits(declared, members, place))
    if kind == "array":
        yield from _lacking(declared, ("items",), place)


def _faults_of_secrets(message: str, fields: JsonObject) -> Iterator[str]:
    """Yield the fields that ask for a secret. Only a field that a person fills in freely can take one, so the message
    counts if there is any such field."""
    free = {name: as_object(declared) for name, declared in fields.items() if _is_free(as_object(declared))}
    for name, declared in free.items():
        texts = (name, *(str(declared.get(member, "")) for member in ("title", "description", "default")))
        yield from _faults_of_texts(texts, f"in its field {quote_name(name)}")
    yield from _faults_of_texts([message] if free else [], "in its message")


def _is_free(declared: JsonObject) -> bool:
    return declared["type"] in ("integer", "number") or (
        declared["type"] == "string" and not {"enum", "oneOf"} & declared.keys()
    )


def _faults_of_texts(texts: Iterable[str], place: str) -> Iterator[str]:
    for text in texts:
        if (words := find_secret_words(text)) is not None:
            yield (
                f"names a secret {place} ({quote_name(words)}), and a form must not ask for one. Ask for secrets on a "
                'page of your own (`"mode": "url"`), or name the field otherwise.'
            )


_PAGE: Members = {"mode": _is_text, "message": _is_text, "url": _is_text}
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))


def _faults_of_page(params: JsonObject) -> Iterator[str]:
    yield from _lacking(params, ("message", "url"))
    yield from _misfits(params, _PAGE, "")
    if not _is_page(str(params["url"])):
        yield "has a `url` that is no address of a page over https. Correct it."


def _is_page(url: str) -> bool:
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    is_secure = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    return is_secure and bool(host) and "@" not in parts.netloc


_SAMPLING: Members = {
    "messages": _are_objects,
    "maxTokens": lambda value: _is_count(value) and value != 0,
    "systemPrompt": _is_text,
    "includeContext": _is_one_of("none", "thisServer", "allServers"),
    "temperature": _is_number,
    "stopSequences": _are_texts,
    "metadata": _is_object,
    "modelPreferences": _is_object,
    "tools": _are_objects,
    "toolChoice": _is_object,
}
_MESSAGE: Members = {"role": _is_one_of("user", "assistant"), "content": _is_anything, "_meta": _is_object}
_BLOCK: Members = {"type": _is_text, "annotations": _is_object, "_meta": _is_object}
_MEDIA: Members = {**_BLOCK, "data": _is_text, "mimeType": _is_text}
_BLOCKS: Mapping[str, tuple[Members, Sequence[str]]] = {
    "text": ({**_BLOCK, "text": _is_text}, ("text",)),
    "image": (_MEDIA, ("data", "mimeType")),
    "audio": (_MEDIA, ("data", "mimeType")),
    "tool_use": ({**_BLOCK, "id": _is_text, "name": _is_text, "input": _is_object}, ("id", "name", "input")),
    "tool_result": (
        {
            **_BLOCK,
            "toolUseId": _is_text,
            "content": _are_objects,
            "structuredContent": _is_anything,
            "isError": _is_truth,
        },
        ("toolUseId", "content"),
    ),
}
"""The blocks of a message to a model: the members that each kind may have, and those that it must have."""


def _faults_of_sampling(params: JsonObject) -> Iterator[str]:
    if len(json.dumps(params)) > LARGEST_SAMPLING:
        yield f"has more than {LARGEST_SAMPLING} characters. Shorten it."
    yield from _lacking(params, ("messages", "maxTokens"))
    yield from _misfits(params, _SAMPLING, "")
    messages = params["messages"]
    if not isinstance(messages, list) or not messages:
        yield "has no messages. Add one."
        return
    yield from (fault for message in messages for fault in _faults_of_message(as_object(message)))
    for text in _texts_in(params):
        if (order := find_order(text)) is not None:
            yield f"has {order}"


def _faults_of_message(message: JsonObject) -> Iterator[str]:
    yield from _lacking(message, ("role", "content"), " in a message")
    yield from _misfits(message, _MESSAGE, " in a message")
    content = message["content"]
    for block in content if isinstance(content, list) else [content]:
        yield from _faults_of_block(as_object(block))


def _faults_of_block(block: JsonObject) -> Iterator[str]:
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _BLOCKS:
        yield f"has a message with content of an unknown type. Use {', '.join(_BLOCKS)}."
        return
    members, needed = _BLOCKS[kind]
    yield from _lacking(block, needed, f" in a content block of type {kind}")
    yield from _misfits(block, members, f" in a content block of type {kind}")


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
    yield from _misfits(params, {"_meta": _is_object}, "")


_METHODS: Mapping[str, Callable[[JsonObject], Iterator[str]]] = {
    "elicitation/create": _faults_of_elicitation,
    "sampling/createMessage": _faults_of_sampling,
    "roots/list": _faults_of_roots,
}
"""What a client can be asked."""
