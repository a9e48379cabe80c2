"""An HTTP answer, and the forms it is given."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from signpost.model import Json


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def with_headers(self, headers: Mapping[str, str]) -> "Response":
        return replace(self, headers={**self.headers, **headers})

    def for_api_gateway(self) -> dict[str, Any]:
        return {"statusCode": self.status, "headers": dict(self.headers), "body": self.body, "isBase64Encoded": False}


def to_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def json_response(status: int, value: Json, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status, to_json(value), {"content-type": "application/json", **(headers or {})})


def refusal(status: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """A request that never reached the protocol. The body is a JSON-RPC error all the same: a client that
    probes for the protocol's era would take any other 4xx for a server of another kind."""
    error: Json = {"code": status, "message": message, "data": {"reason": reason}}
    return json_response(status, {"jsonrpc": "2.0", "id": None, "error": error}, headers)
