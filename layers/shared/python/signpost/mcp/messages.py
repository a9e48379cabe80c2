"""Decodes request bodies, parses JSON-RPC messages and encodes answers."""

import json
from collections.abc import Mapping

from signpost import strict_json
from signpost.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Rejection
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.schema.limits import is_too_deep

type MessageId = str | int


@dataclass(frozen=True, slots=True)
class JsonRpcMessage:
    """A JSON-RPC request, or a notification if it has no id."""

    method: str
    params: JsonObject
    id: MessageId | None = None


@dataclass(frozen=True, slots=True)
class PostedResponse:
    """A JSON-RPC response that a client posted. The gateway sends no requests, so it answers none of them."""


DEEPEST_MESSAGE = 100


def decode(body: bytes) -> Json | Rejection:
    try:
        document = strict_json.parse_bytes(body, unique_keys=True)
        if body.count(b"[") + body.count(b"{") > DEEPEST_MESSAGE and is_too_deep(document, DEEPEST_MESSAGE):
            return Rejection(PARSE_ERROR, f"The body is nested more than {DEEPEST_MESSAGE} levels deep.")
    except (ValueError, RecursionError):
        return Rejection(PARSE_ERROR, "The body is not a JSON document.")
    return document


# Built once, as json.dumps would build an encoder each call. Answers are trees and need no check for cycles.
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)
_escaping_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


def encode(value: Json) -> str:
    text = _encoder.encode(value)
    return text if strict_json.is_encodable(text) else _escaping_encoder.encode(value)


def parse_message(document: Json) -> JsonRpcMessage | PostedResponse | Rejection:
    if not isinstance(document, Mapping) or document.get("jsonrpc") != "2.0":
        return Rejection(INVALID_REQUEST, "The body is not a JSON-RPC 2.0 message.")
    method = document.get("method")
    if not isinstance(method, str):
        return PostedResponse() if _is_response(document) else _reject_missing_method()
    if "id" in document and not is_message_id(document["id"]):
        return Rejection(INVALID_REQUEST, "The id of a request must be a string or an integer.")
    params = document.get("params")
    if not (params is None or isinstance(params, Mapping)):
        return Rejection(INVALID_PARAMS, "The params of a message must be an object.")
    return JsonRpcMessage(method, as_object(params), find_message_id(document))  # some clients write null for none


def find_message_id(document: Json) -> MessageId | None:
    """The id to answer under, or None if the document has no valid id."""
    message_id = document.get("id") if isinstance(document, Mapping) else None
    return message_id if is_message_id(message_id) and isinstance(message_id, str | int) else None


def is_message_id(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_response(document: JsonObject) -> bool:
    """The id of an error is null where its request had none that could be read."""
    if "error" in document and "id" in document and document["id"] is None:
        return True
    return ("result" in document or "error" in document) and is_message_id(document.get("id"))


def _reject_missing_method() -> Rejection:
    return Rejection(INVALID_REQUEST, "The message has no method.")
