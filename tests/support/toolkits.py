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
from signpost.toolkit.gateway_calls import GatewayCalls
from signpost.toolkit.hosting import functions_by_id
from signpost.toolkit.registration import RegisteredToolkit
from tests.support.function_host import FunctionHost, MemoryKeptResults, encode_reply
from tests.support.memory_gateway import MODERN, MemoryGateway
from tests.support.stateful_functions import NESTED_CALLS_ARN, InterruptedTransport

BRIDGE = "/mcp/functions"
TOOLKIT_EXECUTOR = Executor("arn:workshop", "secret:workshop", 60_000)


class RecordingTool:
    """A tool that records its arguments."""

    def __init__(self, fields: Any, **settings: Any) -> None:
        self.kit = Toolkit("yard")
        self.received_arguments: list[Any] = []

        def take(args: Any) -> None:
            self.received_arguments.append(args)

        self.kit.tool(input=fields, **settings)(take)
        (self.function,) = self.kit.functions

    def cast_arguments(self, arguments: Mapping[str, Any]) -> Any:
        """Return the value that the function receives for these arguments."""
        assert self.kit.test("take", arguments).value is None
        return self.received_arguments.pop()

    def read_refusal(self, arguments: Mapping[str, Any]) -> str:
        """Return the message with which these arguments are refused."""
        failed = self.kit.test("take", arguments).failure
        assert isinstance(failed, Failure)
        assert (failed.code, failed.outcome, self.received_arguments) == ("invalid_arguments", "none", [])
        return failed.message

    def accepts(self, arguments: Mapping[str, Any]) -> bool:
        failed = self.kit.test("take", arguments).failure
        self.received_arguments.clear()
        return failed is None


def read_schema(fields: Any, **settings: Any) -> JsonObject:
    """Return the schema of a field spec."""
    schema = RecordingTool(fields, **settings).function.input_schema
    assert schema is not None
    return schema


def read_field_schema(field: Any) -> JsonObject:
    """Return the schema of one field."""
    properties = cast("Mapping[str, JsonObject]", read_schema({"one": field})["properties"])
    return properties["one"]


class AnyTokenCheck:
    """Replaces the check of tokens, which has its own tests."""

    def refusal(self, token: str, call: object) -> str | None:
        del token, call
        return None


class ServedToolkits:
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
        tokens: Any = AnyTokenCheck()
        self.transport = InterruptedTransport(self.gateway)
        """Brings context operations of the functions to the gateway."""
        calls = GatewayCalls(self.transport, NESTED_CALLS_ARN)
        self.executor = FunctionHost(
            list(functions_by_id(hosts).values()),
            tokens=tokens,
            kept_results=MemoryKeptResults(),
            nested=calls,
            operations=calls,
        )
        self.called_functions: list[str] = []
        """The called functions in their order."""
        self.received_calls: list[JsonObject] = []
        """The calls as their executor received them."""
        self.gateway.executors[TOOLKIT_EXECUTOR.arn] = self._handle
        manifest = self.executor.harness.handle({"signpost": 1, "operation": "manifest"}, 1000)
        placed = MemoryDirectory(self.gateway.functions).place(
            "default", TOOLKIT_EXECUTOR, parse_manifest(encode_reply(manifest)).functions
        )
        assert placed == []

    def request_result(self, method: str, params: JsonObject | None = None) -> Any:
        return self.request(method, params)["result"]

    def request_error(self, method: str, params: JsonObject | None = None) -> Any:
        return self.request(method, params)["error"]

    def request(self, method: str, params: JsonObject | None = None) -> Any:
        # The gateway's clock sets deadlines, and executors compare them with the machine's clock.
        self.gateway.clock.advance(time.time() - self.gateway.clock.now())
        if self.version == MODERN:
            return self.gateway.request(method, params, credential=self.key, path=self.endpoint).json
        return self.gateway.request_legacy(method, params, self.version, self.key, self.endpoint).json

    def _handle(self, message: JsonObject) -> JsonObject:
        self.received_calls.append(as_object(message["call"]))
        self.called_functions.append(str(as_object(message["call"])["function"]))
        return self.executor.harness.handle(message, 60_000)

    def list_tools(self) -> Mapping[str, Any]:
        return {tool["name"]: tool for tool in self.request_result("tools/list")["tools"]}

    def call(self, name: str, **arguments: Any) -> Any:
        return self.request_result("tools/call", {"name": name, "arguments": json.loads(json.dumps(arguments))})
