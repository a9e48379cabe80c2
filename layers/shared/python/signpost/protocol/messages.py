"""The text of a body, and the JSON-RPC messages in it."""

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, NoReturn

from signpost.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Rejection
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.schema.limits import is_too_deep

type MessageId = str | int


@dataclass(frozen=True, slots=True)
class Message:
    """A request, or without an id a notification."""

    method: str
    params: JsonObject
    id: MessageId | None = None


@dataclass(frozen=True, slots=True)
class PostedResponse:
    """An answer to a request that no server of ours has ever sent."""


DEEPEST_MESSAGE = 100
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def decode(body: bytes) -> Json | Rejection:
    try:
        document = json.loads(
            body.decode("utf-8"), parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique
        )
        if body.count(b"[") + body.count(b"{") > DEEPEST_MESSAGE and is_too_deep(document, DEEPEST_MESSAGE):
            return Rejection(PARSE_ERROR, f"The body is nested more than {DEEPEST_MESSAGE} levels deep.")
        if _SURROGATE_ESCAPE.search(body):
            # Half a pair is no text: nothing that repeats it, an answer or a log line, could be encoded.
            json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return Rejection(PARSE_ERROR, "The body is not a JSON document.")
    return document


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(text: str) -> float:
    """1e400 would become infinity, which no answer could repeat."""
    value = float(text)
    return value if isfinite(value) else _refuse(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers of one message must not see different values, so a repeated key is a fault."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("repeated key")
    return found


# Made once: json.dumps would make one a call. What we encode is a tree, so looking for circles is lost time.
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)
_escaping_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


def encode(value: Json) -> str:
    text = _encoder.encode(value)
    return text if _is_encodable(text) else _escaping_encoder.encode(value)


def _is_encodable(text: str) -> bool:
    """A provider's text may contain half a surrogate pair. Lambda would fail on it after the handler returned,
    and take the sandbox down; escaped, it does no harm."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read(document: Json) -> Message | PostedResponse | Rejection:
    if not isinstance(document, Mapping) or document.get("jsonrpc") != "2.0":
        return Rejection(INVALID_REQUEST, "The body is not a JSON-RPC 2.0 message.")
    method = document.get("method")
    if not isinstance(method, str):
        return PostedResponse() if _is_response(document) else _no_method()
    if "id" in document and not is_message_id(document["id"]):
        return Rejection(INVALID_REQUEST, "The id of a request is a string or an integer.")
    params = document.get("params")
    if not (params is None or isinstance(params, Mapping)):
        return Rejection(INVALID_PARAMS, "The params of a message are an object.")
    return Message(method, as_object(params), message_id(document))  # some clients write null for none


def message_id(document: Json) -> MessageId | None:
    """The id to answer under, as far as one can be read."""
    found = document.get("id") if isinstance(document, Mapping) else None
    return found if is_message_id(found) and isinstance(found, str | int) else None


def is_message_id(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_response(document: JsonObject) -> bool:
    """The id of an error is null where its request had none that could be read."""
    if "error" in document and "id" in document and document["id"] is None:
        return True
    return ("result" in document or "error" in document) and is_message_id(document.get("id"))


def _no_method() -> Rejection:
    return Rejection(INVALID_REQUEST, "The message names no method.")
