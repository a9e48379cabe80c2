"""An HTTP answer, and the forms it is given."""

import base64
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from signpost.model import Json
from signpost.protocol.messages import encode
from signpost.records import dataclass

COMPRESSED_FROM = 32 * 1024
"""Bytes above which an answer is compressed for a client that accepts it."""
GZIP_LEVEL = 5
LONGEST_TEXT = 1024 * 1024
"""Bytes of text in an answer. Lambda writes it as JSON once more, in which quotation marks double, and fails at six
million; base64 adds a third and no more."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def with_headers(self, headers: Mapping[str, str]) -> "Response":
        return replace(self, headers={**self.headers, **headers})

    def for_api_gateway(self, *, accepts_gzip: bool = False) -> dict[str, Any]:
        body = self.body.encode()
        if accepts_gzip and len(body) > COMPRESSED_FROM:
            packed = gzip.compress(body, compresslevel=GZIP_LEVEL, mtime=0)
            return self._binary(packed, {"content-encoding": "gzip"})
        if len(body) > LONGEST_TEXT:
            return self._binary(body, {})
        return {"statusCode": self.status, "headers": dict(self.headers), "body": self.body, "isBase64Encoded": False}

    def _binary(self, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        return {
            "statusCode": self.status,
            "headers": {**self.headers, **headers},
            "body": base64.b64encode(body).decode(),
            "isBase64Encoded": True,
        }


def json_response(status: int, value: Json, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status, encode(value), {"content-type": "application/json", **(headers or {})})


def event_stream(events: Sequence[str]) -> Response:
    """Messages as server-sent events, all at once: API Gateway hands an answer over when it is whole."""
    body = "".join(f"event: message\ndata: {event}\n\n" for event in events)
    headers = {"content-type": "text/event-stream", "cache-control": "no-cache", "x-accel-buffering": "no"}
    return Response(200, body, headers)


def refusal(status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """A request that never reached the protocol. The body is a JSON-RPC error all the same: a client that
    probes for the protocol's era would take any other 4xx for a server of another kind."""
    error: Json = {"code": status, "message": message, "data": {"reason": reason}}
    return json_response(status, {"jsonrpc": "2.0", "id": None, "error": error}, headers)
