"""A call that takes longer than any client waits, on a deployed stack: begun by the gateway, made by the worker."""

import time
import uuid
from typing import Any

import pytest

from signpost.model import JsonObject
from tests.support.effort import count_repetitions
from tests.support.executors import Executors
from tests.support.slowdown import SlowdownMeter

pytestmark = pytest.mark.cloud

FLAT = "/mcp/flat"
SECONDS = count_repetitions(12, proof=90)
"""More than the answer may take; in `make prove` more than API Gateway gives anybody."""
ANSWERED_WITHIN = 10
PATIENCE = 240


class Caller:
    def __init__(self, executors: Executors, key: str) -> None:
        self._executors = executors
        self._key = key

    def call(self, tool: str, arguments: Any, token: str | None = None) -> Any:
        own: JsonObject = {} if token is None else {"_meta": {"signpost/clientToken": token}}
        params = {"name": tool, "arguments": arguments, **own}
        answer = self._executors.gateway.request(self._key, "tools/call", params, path=FLAT)
        assert answer.status == 200, answer.text
        return answer.json["result"]

    def follow_until_done(self, stand: Any) -> Any:
        """Its `self` link, until nothing is under way any more."""
        ends_at = time.monotonic() + PATIENCE
        while "pending" in stand:
            assert time.monotonic() < ends_at, stand
            time.sleep(stand["pending"]["retryAfterMs"] / 1000)
            link = next(link for link in stand["links"] if link["rel"] == "self")
            stand = self.call(link["method"], link["args"])["structuredContent"]
        return stand


@pytest.mark.invariant(69)
def test_a_long_call_is_answered_at_once_and_made_once_for_its_caller(
    executors: Executors, tenant: str, key: str
) -> None:
    executors.place_manifest("patient", tenant)
    caller, effect = Caller(executors, key), uuid.uuid4().hex
    arguments = {"effect": effect, "seconds": SECONDS}
    began = time.monotonic()
    with SlowdownMeter() as machine:
        first = caller.call("skill:linger", arguments, "monday")
        again = caller.call("skill:linger", arguments, "monday")
        answered = time.monotonic() - began
    assert answered < machine.extend(ANSWERED_WITHIN)
    assert first["isError"] is False
    run = first["structuredContent"]["workflowId"]
    assert again["structuredContent"]["workflowId"] == run
    stand = caller.follow_until_done(first["structuredContent"])
    assert time.monotonic() - began > SECONDS
    assert "fault" not in stand
    result = stand["context"]["lastResult"]
    assert (result["time"], result["tenant"]) == (1, tenant)
    assert result["step"].startswith(f"{run}.")
    assert executors.count_effect(effect) == 1
    asked_once_more = caller.call("skill:linger", arguments, "monday")["structuredContent"]
    assert asked_once_more["context"] == stand["context"]
    assert executors.count_effect(effect) == 1
