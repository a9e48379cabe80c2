"""HTTP responses and their encoding for API Gateway."""

import base64
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from signpost.mcp.messages import encode
from signpost.model import Json
from signpost.records import dataclass

COMPRESSED_FROM = 32 * 1024
"""Bytes above which a response is compressed for a client that accepts it."""
GZIP_LEVEL = 5
LONGEST_TEXT = 1024 * 1024
"""Bytes up to which a response is sent as text. Lambda encodes it as JSON once more, which can double quotation marks,
and fails at six million bytes; base64 adds only a third."""
HSTS_MAX_AGE = 31_536_000
"""Seconds for which a browser that has seen an answer over https uses https alone for this host: a year."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def with_headers(self, headers: Mapping[str, str]) -> "HttpResponse":
        return replace(self, headers={**self.headers, **headers})

    def with_default_headers(self, headers: Mapping[str, str]) -> "HttpResponse":
        return replace(self, headers={**headers, **self.headers})

    def to_api_gateway(self, *, accepts_gzip: bool = False) -> dict[str, Any]:
        body = self.body.encode()
        if accepts_gzip and len(body) > COMPRESSED_FROM:
            compressed = gzip.compress(body, compresslevel=GZIP_LEVEL, mtime=0)
            return self._to_binary(compressed, {"content-encoding": "gzip"})
        if len(body) > LONGEST_TEXT:
            return self._to_binary(body, {})
        return {"statusCode": self.status, "headers": dict(self.headers), "body": self.body, "isBase64Encoded": False}

    def _to_binary(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        return {
            "statusCode": self.status,
            "headers": {**self.headers, **headers},
            "body": base64.b64encode(body).decode(),
            "isBase64Encoded": True,
        }


def build_protective_headers(public_url: str) -> Mapping[str, str]:
    """Builds the headers of every answer that sets no others: no guessing of content types, no storing in caches.

    Strict-Transport-Security is left out where clients use http, as on a laptop: by RFC 6797 only an answer over https
    may have it.
    """
    headers = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
    if public_url.startswith("https://"):
        headers["strict-transport-security"] = f"max-age={HSTS_MAX_AGE}"
    return headers


def json_response(status: int, value: Json, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(status, encode(value), {"content-type": "application/json", **(headers or {})})


def event_stream_response(events: Sequence[str]) -> HttpResponse:
    """Builds a response of server-sent events, sent all at once, since API Gateway passes on only complete
    responses."""
    body = "".join(f"event: message\ndata: {event}\n\n" for event in events)
    headers = {"content-type": "text/event-stream", "x-accel-buffering": "no"}
    return HttpResponse(200, body, headers)


def refusal_response(status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Builds the response to a request that never reached the protocol.

    The body is a JSON-RPC error all the same: a client that probes for the protocol revision would take any other 4xx
    for a server of another kind.
    """
    error: Json = {"code": status, "message": message, "data": {"reason": reason}}
    return json_response(status, {"jsonrpc": "2.0", "id": None, "error": error}, headers)
