"""Runs the product's gateway in this process, on the emulator, and counts every call that it makes to AWS."""

import json
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
import pytest

from signpost.adapters.clock import SystemClock
from signpost.model import JsonObject
from signpost.wiring.gateway import Gateway, build_gateway
from tests.support.laptop import Laptop, Stack
from tests.support.memory_gateway import GatewayAnswer, build_modern_request, encode_as_lambda


class StoppableClock:
    """The clock of the gateway: the machine's clock, or a stopped clock that the test advances."""

    def __init__(self, *, stopped: bool) -> None:
        self._stopped_at = time.time() if stopped else None

    def now(self) -> float:
        return time.time() if self._stopped_at is None else self._stopped_at

    def advance(self, seconds: float) -> None:
        assert self._stopped_at is not None, "only a stopped clock can be advanced"
        self._stopped_at += seconds


class CountedGateway:
    def __init__(
        self,
        gateway: Gateway,
        clock: StoppableClock,
        calls: Counter[str],
        meanwhile: dict[str, Callable[[], object]],
    ) -> None:
        self.clock = clock
        self._gateway = gateway
        self._calls = calls
        self._meanwhile = meanwhile

    def run_before_next(self, operation: str, happens: Callable[[], object]) -> None:
        """Run `happens` once, right before the next call of this operation."""
        self._meanwhile[operation] = happens

    def request(
        self,
        key: str,
        method: str,
        params: JsonObject | None = None,
        remaining_ms: int = 30_000,
        *,
        path: str = "/mcp",
    ) -> tuple[GatewayAnswer, Mapping[str, int]]:
        """Send a request, and return the answer and the calls to AWS that it took."""
        message, headers = build_modern_request(method, params or {})
        return self._send(
            "POST", path, {**headers, "authorization": f"Bearer {key}"}, json.dumps(message), remaining_ms
        )

    def get(self, key: str, path: str) -> tuple[GatewayAnswer, Mapping[str, int]]:
        return self._send("GET", path, {"authorization": f"Bearer {key}"})

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: str = "", remaining_ms: int = 30_000
    ) -> tuple[GatewayAnswer, Mapping[str, int]]:
        self._calls.clear()
        event = {
            "version": "2.0",
            "rawPath": path,
            "headers": headers,
            "body": body,
            "isBase64Encoded": False,
            "requestContext": {
                "requestId": "counted",
                "timeEpoch": self.clock.now() * 1000,
                "http": {"method": method, "path": path, "sourceIp": "198.51.100.7"},
            },
        }
        answer = encode_as_lambda(self._gateway.handle(event, remaining_ms))
        return answer, dict(self._calls)


@contextmanager
def counted_gateway(laptop: Laptop, stack: Stack, *, stopped: bool = True) -> Generator[CountedGateway]:
    """Compose the gateway as on Lambda, from the environment of the deployed function.

    Its clock is stopped unless `stopped` is False: the cost of a call depends on values that are remembered for two
    seconds, and a slow machine must not change that.
    """
    name = stack.deployed.outputs["GatewayFunctionName"]
    configuration = laptop.client("lambda").get_function_configuration(FunctionName=name)
    calls, meanwhile, clock = Counter[str](), dict[str, Callable[[], object]](), StoppableClock(stopped=stopped)

    def count(model: Any, **_: Any) -> None:
        calls[model.name] += 1
        if model.name in meanwhile:
            meanwhile.pop(model.name)()

    with pytest.MonkeyPatch.context() as patch:
        for variable, value in laptop.emulator.environment().items():
            patch.setenv(variable, value)
        patch.setattr(SystemClock, "now", staticmethod(clock.now))
        boto3.setup_default_session()
        assert boto3.DEFAULT_SESSION is not None
        boto3.DEFAULT_SESSION.events.register("before-call", count)
        try:
            composed = build_gateway(configuration["Environment"]["Variables"])
            yield CountedGateway(composed, clock, calls, meanwhile)
        finally:
            boto3.DEFAULT_SESSION = None
