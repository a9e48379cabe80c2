"""An HTTP request as API Gateway hands it over (payload version 2.0)."""

import base64
from collections.abc import Mapping
from typing import Any

from signpost.records import dataclass

API_GATEWAY_PATIENCE = 28.0
"""Seconds after API Gateway received the request by which we answer; it gives up after 30."""
LAST_SECOND = 1.0


class MalformedEvent(Exception):  # noqa: N818 - whoever calls can cause it, it is no error of ours
    """Not an event of an HTTP API, or a body that is not what it claims to be."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case, values without the white space around them."""
    query: Mapping[str, str]
    body: bytes
    source_ip: str
    request_id: str
    deadline: float


def from_event(event: Mapping[str, Any], *, now: float, remaining_ms: int) -> Request:
    try:
        return _request(event, now, remaining_ms)
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise MalformedEvent from fault


def _request(event: Mapping[str, Any], now: float, remaining_ms: int) -> Request:
    context = event["requestContext"]
    http = context["http"]
    query: Mapping[str, str] = event.get("queryStringParameters") or {}
    if not isinstance(event["rawPath"], str):
        raise MalformedEvent
    return Request(
        method=http["method"].upper(),
        path=event["rawPath"],
        headers={name.lower(): value.strip(" \t") for name, value in event.get("headers", {}).items()},
        query=dict(query.items()),
        body=_body(event),
        source_ip=http["sourceIp"],
        request_id=context["requestId"],
        deadline=_deadline(context.get("timeEpoch"), now, remaining_ms),
    )


def _body(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    if event.get("isBase64Encoded"):
        return base64.b64decode(body, validate=True)
    return body.encode("utf-8", "surrogatepass")


def _deadline(received_ms: float | None, now: float, remaining_ms: int) -> float:
    """A cold start counts on API Gateway's clock, but not in the remaining time of the function."""
    received = received_ms / 1000 if received_ms else now
    return min(received + API_GATEWAY_PATIENCE, now + remaining_ms / 1000 - LAST_SECOND)
