"""Clients that toolkits behind a gateway ask, over its HTTP entry."""

import json
import time
from collections.abc import Mapping
from typing import Any

from signpost.content.callers import Caller
from signpost.mcp.revisions import CLIENT_CAPABILITIES, CLIENT_INFO
from signpost.model import Json, JsonObject, Principal
from signpost.toolkit import Toolkit
from tests.support.memory_gateway import META, GatewayAnswer, build_modern_request
from tests.support.toolkits import BRIDGE, ServedToolkits

EVERYTHING: JsonObject = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}
INFO: JsonObject = {"name": "a-host", "version": "2.1"}
OPERATOR = Principal("operator", "default", "test", permissions=frozenset({"signpost.admin"}))


class MemoryUsedNonces:
    """A record of used answers in memory."""

    def __init__(self) -> None:
        self.used: dict[tuple[Principal, str], float] = {}

    def use(self, principal: Principal, nonce: str, expires_at: float) -> bool:
        is_new = (principal, nonce) not in self.used
        self.used.setdefault((principal, nonce), expires_at)
        return is_new


class AskedClient:
    """A client of toolkits, with the capabilities that it declares in each request."""

    def __init__(
        self,
        *kits: Toolkit,
        capabilities: JsonObject = EVERYTHING,
        endpoint: str = BRIDGE,
        used: MemoryUsedNonces | None = None,
    ) -> None:
        self.served = ServedToolkits(*kits, endpoint=endpoint)
        if used is not None:
            self.served.gateway.replace_adapters(used_nonces=lambda: used)
        self.capabilities = capabilities
        self.credential = self.served.key

    @property
    def runs(self) -> int:
        """How often a function was called."""
        return len(self.served.called_functions)

    def send(self, method: str, params: JsonObject, **more: Json) -> GatewayAnswer:
        gateway = self.served.gateway
        # The gateway's clock sets deadlines, and executors compare them with the machine's clock.
        gateway.clock.advance(max(time.time() - gateway.clock.now(), 0))
        meta = {**META, CLIENT_CAPABILITIES: self.capabilities, CLIENT_INFO: INFO}
        message, headers = build_modern_request(method, {**params, **more}, meta)
        headers |= {"authorization": f"Bearer {self.credential}"}
        return gateway.send(path=self.served.endpoint, body=json.dumps(message), headers=headers)

    def request(self, method: str, params: JsonObject, **more: Json) -> Any:
        return self.send(method, params, **more).json["result"]

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, **more: Json) -> Any:
        return self.request("tools/call", {"name": name, "arguments": arguments or {}}, **more)

    def call_legacy(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        params: JsonObject = {"name": name, "arguments": arguments or {}}
        gateway = self.served.gateway
        return gateway.request_legacy("tools/call", params, "2025-11-25", self.credential, self.served.endpoint).json

    def register_prompt(self, name: str, function: str) -> None:
        gateway = self.served.gateway
        payload: JsonObject = {"name": name, "description": "Asks.", "function_id": function}
        caller = Caller("default", OPERATOR, gateway.clock.now() + 20)
        functions = gateway.composition.documents.functions
        assert "registered_at" in str(functions.call("prompts::register", payload, caller))


def accept(**content: Json) -> JsonObject:
    return {"action": "accept", "content": content}


DECLINED: JsonObject = {"action": "decline"}
CANCELLED: JsonObject = {"action": "cancel"}
