"""Parses HTTP requests from events of API Gateway (payload version 2.0)."""

import base64
from collections.abc import Mapping
from typing import Any

from signpost.records import dataclass

API_GATEWAY_TIMEOUT = 28.0
"""Seconds after API Gateway received the request until the answer must be sent; API Gateway gives up after 30."""
STALE_AFTER = 30.0
"""Seconds after which API Gateway has given up on a request, so an event with an older time was not sent by it now."""
LAMBDA_RESERVE = 1.0
REPLACEMENT = "\ufffd".encode()
"""The character that stands for bytes which are no UTF-8."""
NO_UTF8 = b"\xff"


class MalformedEvent(Exception):  # noqa: N818 - the caller causes it; it is no error of the gateway
    """The event is not one of an HTTP API, or its body does not match its declared encoding."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: str
    """The path. One slash at its end is left out, because clients and people add it."""
    headers: Mapping[str, str]
    """The headers: names in lower case, values without surrounding white space."""
    query: Mapping[str, str]
    body: bytes
    source_ip: str
    request_id: str
    deadline: float


def parse_event(event: Mapping[str, Any], *, now: float, remaining_ms: int) -> HttpRequest:
    try:
        return _parse_request(event, now, remaining_ms)
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise MalformedEvent from fault


def _parse_request(event: Mapping[str, Any], now: float, remaining_ms: int) -> HttpRequest:
    context = event["requestContext"]
    http = context["http"]
    query: Mapping[str, str] = event.get("queryStringParameters") or {}
    if not isinstance(event["rawPath"], str):
        raise MalformedEvent
    headers = {name.lower(): value.strip(" \t") for name, value in event.get("headers", {}).items()}
    return HttpRequest(
        method=http["method"].upper(),
        path=event["rawPath"].removesuffix("/") or "/",
        headers=headers,
        query=dict(query.items()),
        body=_body_of(event, headers.get("content-length", "")),
        source_ip=http["sourceIp"],
        request_id=context["requestId"],
        deadline=_deadline_of(context.get("timeEpoch"), now, remaining_ms),
    )


def _body_of(event: Mapping[str, Any], content_length: str) -> bytes:
    """Returns the bytes that the client sent.

    The event of a JSON body has text, in which bytes that are no UTF-8 were replaced. That changed the length, so the
    text is not what the client sent, and gets a byte again which the protocol refuses.
    """
    body = event.get("body") or ""
    if event.get("isBase64Encoded"):
        return base64.b64decode(body, validate=True)
    encoded = body.encode("utf-8", "surrogatepass")
    is_changed = REPLACEMENT in encoded and content_length.isdecimal() and int(content_length) != len(encoded)
    return encoded.replace(REPLACEMENT, NO_UTF8) if is_changed else encoded


def _deadline_of(received_ms: float | None, now: float, remaining_ms: int) -> float:
    """The time by which the answer must be sent. A cold start counts towards API Gateway's timeout, but not towards the
    remaining time of the function. The time of an event from a file or of `sam local` may be stale, and is ignored."""
    received = received_ms / 1000 if received_ms else now
    if now - received > STALE_AFTER:
        received = now
    return min(received + API_GATEWAY_TIMEOUT, now + remaining_ms / 1000 - LAMBDA_RESERVE)
