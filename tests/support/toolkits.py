"""Toolkits of one tool or more, hosted alone or behind a gateway."""

import json
import time
from collections.abc import Mapping
from typing import Any, cast

from signpost.adapters.memory import MemoryDirectory
from signpost.contract import Executor, Failure
from signpost.directory.manifest import parse_manifest
from signpost.model import JsonObject, as_object
from signpost.toolkit import Function, Toolkit
from signpost.toolkit.hosting import functions_by_id
from signpost.toolkit.registration import RegisteredToolkit
from tests.support.hosted import Hosted, MemoryKeptResults, as_lambda_sends
from tests.support.memory_gateway import MODERN, MemoryGateway

BRIDGE = "/mcp/functions"
WORKSHOP = Executor("arn:workshop", "secret:workshop", 60_000)


class Taken:
    """A tool that records its arguments."""

    def __init__(self, fields: Any, **settings: Any) -> None:
        self.kit = Toolkit("yard")
        self.given: list[Any] = []

        def take(args: Any) -> None:
            self.given.append(args)

        self.kit.tool(input=fields, **settings)(take)
        (self.function,) = self.kit.functions

    def of(self, arguments: Mapping[str, Any]) -> Any:
        """Return the value that the function receives for these arguments."""
        assert self.kit.test("take", arguments).value is None
        return self.given.pop()

    def refusal(self, arguments: Mapping[str, Any]) -> str:
        """Return the message with which these arguments are refused."""
        failed = self.kit.test("take", arguments).failure
        assert isinstance(failed, Failure)
        assert (failed.code, failed.outcome, self.given) == ("invalid_arguments", "none", [])
        return failed.message

    def takes(self, arguments: Mapping[str, Any]) -> bool:
        failed = self.kit.test("take", arguments).failure
        self.given.clear()
        return failed is None


def published(fields: Any, **settings: Any) -> JsonObject:
    """Return the schema of a field spec."""
    schema = Taken(fields, **settings).function.input_schema
    assert schema is not None
    return schema


def property_of(field: Any) -> JsonObject:
    """Return the schema of one field."""
    properties = cast("Mapping[str, JsonObject]", published({"one": field})["properties"])
    return properties["one"]


class AnyToken:
    """Replaces the check of tokens, which has its own tests."""

    def refusal(self, token: str, call: object) -> str | None:
        del token, call
        return None


class Served:
    """Toolkits behind a gateway, as a client sees them at /mcp/functions or another endpoint."""

    def __init__(
        self,
        *hosts: Toolkit | Function | RegisteredToolkit,
        version: str = MODERN,
        endpoint: str = BRIDGE,
        **environment: str,
    ) -> None:
        self.version = version
        self.endpoint = endpoint
        self.gateway = MemoryGateway(None, **environment)
        self.key = str(self.gateway.make_key())
        tokens: Any = AnyToken()
        self.executor = Hosted(list(functions_by_id(hosts).values()), tokens=tokens, kept_results=MemoryKeptResults())
        self.called: list[str] = []
        """The called functions in their order."""
        self.gateway.executors[WORKSHOP.arn] = self._handle
        manifest = self.executor.harness.handle({"signpost": 1, "operation": "manifest"}, 1000)
        placed = MemoryDirectory(self.gateway.functions).place(
            "default", WORKSHOP, parse_manifest(as_lambda_sends(manifest)).functions
        )
        assert placed == []

    def ask(self, method: str, params: JsonObject | None = None) -> Any:
        return self.answer(method, params)["result"]

    def error(self, method: str, params: JsonObject | None = None) -> Any:
        return self.answer(method, params)["error"]

    def answer(self, method: str, params: JsonObject | None = None) -> Any:
        # The gateway's clock sets deadlines, and executors compare them with the machine's clock.
        self.gateway.clock.advance(time.time() - self.gateway.clock.now())
        if self.version == MODERN:
            return self.gateway.ask(method, params, credential=self.key, path=self.endpoint).json
        return self.gateway.ask_legacy(method, params, self.version, self.key, self.endpoint).json

    def _handle(self, message: JsonObject) -> JsonObject:
        self.called.append(str(as_object(message["call"])["function"]))
        return self.executor.harness.handle(message, 60_000)

    def tools(self) -> Mapping[str, Any]:
        return {tool["name"]: tool for tool in self.ask("tools/list")["tools"]}

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": json.loads(json.dumps(arguments))})
