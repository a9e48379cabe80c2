"""An HTTP answer, and the forms it is given."""

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from signpost.model import Json

COMPRESSED_FROM = 32 * 1024
"""Bytes above which an answer is compressed for a client that accepts it."""
GZIP_LEVEL = 5


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def with_headers(self, headers: Mapping[str, str]) -> "Response":
        return replace(self, headers={**self.headers, **headers})

    def for_api_gateway(self, *, accepts_gzip: bool = False) -> dict[str, Any]:
        body = self.body.encode()
        if not accepts_gzip or len(body) <= COMPRESSED_FROM:
            return {
                "statusCode": self.status,
                "headers": dict(self.headers),
                "body": self.body,
                "isBase64Encoded": False,
            }
        return {
            "statusCode": self.status,
            "headers": {**self.headers, "content-encoding": "gzip"},
            "body": base64.b64encode(gzip.compress(body, compresslevel=GZIP_LEVEL, mtime=0)).decode(),
            "isBase64Encoded": True,
        }


def to_json(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text if _is_encodable(text) else json.dumps(value, separators=(",", ":"), allow_nan=False)


def _is_encodable(text: str) -> bool:
    """A provider's text may contain half a surrogate pair. Lambda would fail on it after the handler returned,
    and take the sandbox down; escaped, it does no harm."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def json_response(status: int, value: Json, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status, to_json(value), {"content-type": "application/json", **(headers or {})})


def refusal(status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """A request that never reached the protocol. The body is a JSON-RPC error all the same: a client that
    probes for the protocol's era would take any other 4xx for a server of another kind."""
    error: Json = {"code": status, "message": message, "data": {"reason": reason}}
    return json_response(status, {"jsonrpc": "2.0", "id": None, "error": error}, headers)
