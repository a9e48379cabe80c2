"""A whole gateway in memory: the real pipeline and protocol on the in-memory adapters, with a clock that tests
advance."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from signpost.adapters.alarm import alarm
from signpost.adapters.memory import (
    FixedKeySet,
)
from signpost.cli.keys import new_key, stored_key
from signpost.identity.api_keys import PresentedKey
from signpost.mcp.revisions import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from signpost.mcp.surface import Surface
from signpost.model import Call, CallToolResult, CatalogueItem, JsonObject, Tool, as_object
from signpost.testing.clock import ManualClock
from signpost.testing.embedded_gateway import EmbeddedGateway
from signpost.testing.http_messages import MODERN, read_body
from tests.support.catalogues import store_catalogue
from tests.support.oracle import check_exchange
from tests.support.tokens import Signer

META: JsonObject = {PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: {}}
RECORDER_TOOL = Tool("witness", "Records every call.", {"type": "object"})


class CallRecorder:
    """A tool provider that records every call that it receives; none if the front door refused the request."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def tools(self, call: Call) -> Sequence[Tool]:
        self.calls.append(call)
        return [RECORDER_TOOL]

    def tool(self, name: str, call: Call) -> Tool | None:
        self.calls.append(call)
        return RECORDER_TOOL if name == RECORDER_TOOL.name else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
        del tool, arguments
        self.calls.append(call)
        return CallToolResult([{"type": "text", "text": call.principal.subject}])


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


LONGEST_LAMBDA_ANSWER = 6_291_556


def encode_as_lambda(answered: Mapping[str, Any]) -> GatewayAnswer:
    """Convert an answer as Lambda's runtime does, which encodes the whole answer. An answer that it cannot encode
    crashes the function, and one that is too long is not delivered."""
    assert len(json.dumps(answered, ensure_ascii=False).encode()) <= LONGEST_LAMBDA_ANSWER
    return GatewayAnswer(answered["statusCode"], answered["headers"], read_body(answered))


class MemoryGateway(EmbeddedGateway):
    def __init__(self, surface: Surface | None = None, **environment: str) -> None:
        self.signer = Signer()
        self.key_set_source = FixedKeySet({self.signer.kid: self.signer.jwk})
        super().__init__(environment, clock=ManualClock(), key_set_source=self.key_set_source, alarm=alarm)
        self.start()
        if surface is not None:
            self.serve_surface(surface)

    def replace_adapters(self, **adapters: Any) -> None:
        """Replace these adapters, and compose the gateway again."""
        self.adapters = replace(self.adapters, **adapters)
        self.start()

    def serve_surface(self, surface: Surface) -> None:
        """Serve this surface at /mcp."""
        self.serve({"/mcp": lambda: surface})

    def store_catalogue(self, tenant: str, *items: CatalogueItem) -> None:
        """Replace the catalogue by these items. They cannot be started, because there are no definitions."""
        store_catalogue(self.adapters.content, self.adapters.values, tenant, items)

    def make_key(self, tenant: str = "default", *, lasting: float | None = None) -> PresentedKey:
        key = new_key(tenant)
        assert self.adapters.api_keys.add(stored_key(key, "a test", created_at=self.clock.now(), lifetime=lasting))
        return key

    def make_token(self, **claims: Any) -> str:
        return self.signer.make_token(self.clock.now(), **claims)

    def send(
        self,
        method: str = "POST",
        path: str = "/mcp",
        *,
        body: str | bytes = "",
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        source_ip: str = "198.51.100.7",
        remaining_ms: int = 30_000,
    ) -> GatewayAnswer:
        event = {
            "version": "2.0",
            "rawPath": path,
            "headers": dict(headers or {}),
            "queryStringParameters": dict(query or {}),
            "body": body if isinstance(body, str) else body.decode("latin-1"),
            "isBase64Encoded": False,
            "requestContext": {
                "requestId": "request-1",
                "timeEpoch": self.clock.now() * 1000,
                "http": {"method": method, "path": path, "sourceIp": source_ip},
            },
        }
        answer = encode_as_lambda(self.front_door.handle(event, remaining_ms=remaining_ms))
        check_exchange(body, headers or {}, answer.headers, answer.text)
        return answer

    def request(
        self,
        method: str,
        params: JsonObject | None = None,
        *,
        credential: str | None = None,
        path: str = "/mcp",
        query: Mapping[str, str] | None = None,
    ) -> GatewayAnswer:
        """Send one modern request as a well-behaved client does."""
        message, headers = build_modern_request(method, params or {})
        token = credential or str(self.make_key())
        authorized = {**headers, "authorization": f"Bearer {token}"}
        return self.send(path=path, body=json.dumps(message), headers=authorized, query=query)

    def request_legacy(
        self, method: str, params: JsonObject | None, version: str, credential: str, path: str = "/mcp"
    ) -> GatewayAnswer:
        """Send one request of an older revision."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        headers = {"content-type": "application/json", "mcp-protocol-version": version}
        authorized = {**headers, "authorization": f"Bearer {credential}"}
        return self.send(path=path, body=json.dumps(message), headers=authorized)


def build_modern_request(method: str, params: JsonObject, meta: JsonObject = META) -> tuple[JsonObject, dict[str, str]]:
    """Return the body and the headers of a request of the newest revision."""
    merged_meta = {**meta, **as_object(params.get("_meta"))}
    message: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": merged_meta}}
    headers = {"content-type": "application/json", "mcp-protocol-version": MODERN, "mcp-method": method}
    name = next((params[field] for field in ("name", "uri", "taskId") if field in params), None)
    return message, {**headers, "mcp-name": name} if isinstance(name, str) else headers
