"""A client of the endpoints that have functions for tools."""

from collections.abc import Sequence
from typing import Any

from signpost.adapters.memory import MemoryDirectory, MemoryRuntimeSettings
from signpost.calling import wire
from signpost.contract import CallReply, Executor, HostedFunction, KeptResult, Result
from signpost.model import Json, JsonObject
from tests.support.memory_gateway import MODERN, MemoryGateway

LEGACY = "2025-11-25"
TENANT = "default"
YARD = Executor("arn:yard", "secret:yard", 60_000)
SHELF = Executor("arn:shelf", "secret:shelf", 60_000)


class FunctionToolClient:
    """A client of an endpoint that has functions for tools, with the executors that host these."""

    def __init__(self, version: str, endpoint: str, **environment: str) -> None:
        self.version = version
        self.endpoint = endpoint
        self.gateway = MemoryGateway(None, **environment)
        self.key = str(self.gateway.make_key())
        self.directory = MemoryDirectory(self.gateway.functions)
        self.settings = MemoryRuntimeSettings(self.gateway.functions)
        self.replies: dict[str, CallReply] = {}
        self.calls: list[Any] = []
        for executor in (YARD, SHELF):
            self.gateway.executors[executor.arn] = self._answer

    def _answer(self, message: JsonObject) -> JsonObject:
        call: Any = message["call"]
        self.calls.append(call)
        reply = self.replies.get(call["function"], Result(call["arguments"]))
        if isinstance(reply, KeptResult):
            reply = KeptResult(call["keepAt"], reply.size, reply.sha256)
        return wire.reply_message(reply)

    def host(self, *hosted: HostedFunction | str) -> None:
        """Replace the hosted functions of the executor `YARD`."""
        all_of_them = [item if isinstance(item, HostedFunction) else HostedFunction(item) for item in hosted]
        assert self.directory.place(TENANT, YARD, all_of_them) == []

    def request(self, method: str, params: JsonObject | None = None, path: str | None = None) -> Any:
        path = path or self.endpoint
        if self.version == MODERN:
            return self.gateway.request(method, params, credential=self.key, path=path).json
        return self.gateway.request_legacy(method, params, self.version, self.key, path).json

    def list_tools(self) -> Sequence[Any]:
        return self.request("tools/list")["result"]["tools"]

    def list_tool_names(self) -> Sequence[str]:
        return [tool["name"] for tool in self.list_tools()]

    def call(self, name: str, arguments: Json = None, *, token: Json = None) -> Any:
        """Call a tool and return its result. The token is the client's own name for the call."""
        return self.request_call(name, arguments, token=token)["result"]

    def request_call(self, name: str, arguments: Json = None, *, token: Json = None) -> Any:
        meta: JsonObject = {} if token is None else {"_meta": {"signpost/clientToken": token}}
        return self.request("tools/call", {"name": name, "arguments": arguments or {}, **meta})

    def is_unknown(self, name: str) -> bool:
        """Return whether a call of the tool is refused with the error for a tool that does not exist."""
        error = self.request("tools/call", {"name": name, "arguments": {}}).get("error", {})
        message = error.get("message", "")
        is_advice = message.endswith("Find tools with tools/list.") or "Did you mean " in message
        return error.get("code") == -32602 and message.startswith(f"There is no tool {name!r}. ") and is_advice

    def advance_clock(self, seconds: float) -> None:
        self.gateway.clock.advance(seconds)


def read_text(result: Any) -> str:
    (content,) = result["content"]
    assert content["type"] == "text"
    return content["text"]
