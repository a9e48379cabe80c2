"""Events as API Gateway hands them over, around whatever the fuzzing run puts into them."""

import base64
from collections.abc import Mapping
from typing import Any, cast

type Event = dict[str, Any]


def event(
    body: bytes | str, headers: Mapping[str, str], *, method: str = "POST", path: str = "/mcp", now: float
) -> Event:
    """Bytes travel as base64, as API Gateway sends what is not text; text as it is."""
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "names=portable",
        "queryStringParameters": {"names": "portable"},
        "headers": dict(headers),
        "body": body if isinstance(body, str) else base64.b64encode(body).decode(),
        "isBase64Encoded": isinstance(body, bytes),
        "requestContext": {
            "requestId": "request-1",
            "timeEpoch": now * 1000,
            "http": {"method": method, "path": path, "sourceIp": "198.51.100.7"},
        },
    }


def body_of(sent: Event) -> bytes:
    """The body as the function reads it; empty if nothing can be read."""
    body = sent.get("body")
    if not isinstance(body, str):
        return b""
    try:
        return base64.b64decode(body, validate=True) if sent.get("isBase64Encoded") else body.encode()
    except ValueError:
        return b""


def headers_of(sent: Event) -> Mapping[str, str]:
    """The headers, if they are such."""
    found = sent.get("headers")
    return cast("Mapping[str, str]", found) if isinstance(found, Mapping) else {}
