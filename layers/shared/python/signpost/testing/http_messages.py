"""The HTTP requests of an MCP client as events of API Gateway, and the answers to them."""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from signpost.mcp.headers import ENCODED_END, ENCODED_START, NAME_PARAMETER, PARAMETER_HEADER, TASK_PARAMETER
from signpost.mcp.revisions import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass

MODERN = "2026-07-28"
ACCEPTED = "application/json, text/event-stream"
NONE: JsonObject = {}
NO_HEADERS: Mapping[str, str] = {}
SOURCE_IP = "198.51.100.7"
_ids = count(1)


@dataclass(frozen=True, slots=True)
class HttpMessage:
    """A POST of a client: its headers and its JSON body."""

    headers: Mapping[str, str]
    body: JsonObject


def build_modern_message(
    method: str, params: JsonObject, meta: JsonObject, mirrored: Mapping[str, str] = NO_HEADERS
) -> HttpMessage:
    """Build a request of the newest revision. Members of `_meta` in `params` replace those of `meta`; `mirrored` are
    the headers that repeat arguments."""
    merged_meta: JsonObject = {
        PROTOCOL_VERSION: MODERN,
        CLIENT_CAPABILITIES: NONE,
        **meta,
        **as_object(params.get("_meta")),
    }
    headers = {
        "content-type": "application/json",
        "accept": ACCEPTED,
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
        **mirrored,
    }
    name = params.get(NAME_PARAMETER.get(method, TASK_PARAMETER))
    if isinstance(name, str):
        headers["mcp-name"] = encode_header(name)
    return HttpMessage(headers, build_request(method, {**params, "_meta": merged_meta}))


def mirror_arguments(schema: JsonObject, arguments: JsonObject) -> Mapping[str, str]:
    """Build the headers that repeat arguments, as the input schema of the tool asks for by `x-mcp-header`."""
    headers: dict[str, str] = {}
    for name, definition in as_object(schema.get("properties")).items():
        part, value = as_object(definition), arguments.get(name)
        header = part.get(PARAMETER_HEADER)
        if isinstance(header, str) and isinstance(value, str | int | float):
            headers[f"mcp-param-{header.lower()}"] = encode_header(
                value if isinstance(value, str) else json.dumps(value)
            )
        headers |= mirror_arguments(part, as_object(value))
    return headers


def build_legacy_message(method: str, params: JsonObject, meta: JsonObject, revision: str) -> HttpMessage:
    """Build a request of an older revision, which knows only the progress token of `meta`."""
    headers = {"content-type": "application/json", "accept": ACCEPTED, "mcp-protocol-version": revision}
    merged_meta: JsonObject = {**meta, **as_object(params.get("_meta"))}
    return HttpMessage(headers, build_request(method, {**params, "_meta": merged_meta} if merged_meta else params))


def build_request(method: str, params: JsonObject) -> JsonObject:
    """Build a request with an id of its own."""
    return {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}


def encode_header(value: str) -> str:
    """Encode a text for a header: as it is if a header can carry it, else as base64 in a marker."""
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith(ENCODED_START):
        return value
    return f"{ENCODED_START}{base64.b64encode(value.encode()).decode()}{ENCODED_END}"


def build_event(message: HttpMessage, path: str, credential: str, now: float) -> Mapping[str, Any]:
    """Build the event with which API Gateway passes the request on."""
    return {
        "version": "2.0",
        "rawPath": path,
        "headers": {**message.headers, "authorization": f"Bearer {credential}"},
        "queryStringParameters": {},
        "body": json.dumps(message.body),
        "isBase64Encoded": False,
        "requestContext": {
            "requestId": "request-1",
            "timeEpoch": now * 1000,
            "http": {"method": "POST", "path": path, "sourceIp": SOURCE_IP},
        },
    }


def read_body(answered: Mapping[str, Any]) -> str:
    """Read the body of the gateway's answer to API Gateway."""
    body: bytes = answered["body"].encode()
    if answered["isBase64Encoded"]:
        body = base64.b64decode(body)
    if answered["headers"].get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return body.decode()


def parse_messages(content_type: str, body: str) -> Sequence[JsonObject]:
    """Parse the messages of a body: of an event stream the notifications and the answer, else the answer alone."""
    if content_type.startswith("text/event-stream"):
        texts = [line.removeprefix("data:") for line in body.split("\n") if line.startswith("data:")]
    else:
        texts = [body] if body else []
    parsed: list[Json] = [json.loads(text) for text in texts]
    return [as_object(message) for message in parsed]
