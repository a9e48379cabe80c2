"""The product's gateway in this process, on the emulator, with every call that it makes to AWS counted."""

import json
import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
import pytest

from signpost.model import JsonObject
from signpost.wiring.gateway import Gateway, gateway
from tests.support.laptop import Laptop, Stack
from tests.support.memory_gateway import Answer, as_lambda_would, modern


class CountedGateway:
    def __init__(self, gateway: Gateway, calls: Counter[str]) -> None:
        self._gateway = gateway
        self._calls = calls

    def ask(self, key: str, method: str, params: JsonObject | None = None) -> tuple[Answer, Mapping[str, int]]:
        """The answer, and which calls it took."""
        self._calls.clear()
        message, headers = modern(method, params or {})
        event = {
            "version": "2.0",
            "rawPath": "/mcp",
            "headers": {**headers, "authorization": f"Bearer {key}"},
            "body": json.dumps(message),
            "isBase64Encoded": False,
            "requestContext": {
                "requestId": "counted",
                "timeEpoch": time.time() * 1000,
                "http": {"method": "POST", "path": "/mcp", "sourceIp": "198.51.100.7"},
            },
        }
        answer = as_lambda_would(self._gateway.handle(event, 30_000))
        return answer, dict(self._calls)


@contextmanager
def counted_gateway(laptop: Laptop, stack: Stack) -> Generator[CountedGateway]:
    """Composed as on Lambda, from the environment of the deployed function."""
    name = stack.deployed.outputs["GatewayFunctionName"]
    configuration = laptop.client("lambda").get_function_configuration(FunctionName=name)
    calls = Counter[str]()

    def count(model: Any, **_: Any) -> None:
        calls[model.name] += 1

    with pytest.MonkeyPatch.context() as patch:
        for variable, value in laptop.emulator.environment().items():
            patch.setenv(variable, value)
        boto3.setup_default_session()
        assert boto3.DEFAULT_SESSION is not None
        boto3.DEFAULT_SESSION.events.register("before-call", count)
        try:
            yield CountedGateway(gateway(configuration["Environment"]["Variables"]), calls)
        finally:
            boto3.DEFAULT_SESSION = None
