"""A function that fails is left alone by all gateways, and one of them finds out for all whether it works again."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from signpost.contract import HostedFunction
from tests.support.executors import Executors
from tests.support.gateway_sandboxes import start_gateways
from tests.support.slowdown import measure_slowdown

pytestmark = pytest.mark.cloud

CALLERS = 16
PAUSE_MS = 3_000
LONGEST_PROBE_MS = 10_000
"""All callers have to be turned away while the probe lasts, however slow the machine."""
FUNCTION = "shaky::thing"


def call_concurrently(call: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(CALLERS) as threads:
        return [future.result() for future in [threads.submit(call) for _ in range(CALLERS)]]


def read_outcome(reply: Any) -> str:
    return reply["failure"]["code"] if "failure" in reply else "result"


@pytest.mark.invariant(30)
def test_s262_sixteen_gateways_make_one_probe_after_the_pause(executors: Executors, tenant: str, key: str) -> None:
    executors.set_settings(tenant, breaker_failures=3, breaker_pause_ms=PAUSE_MS)
    executors.place("stub", [HostedFunction(FUNCTION)], tenant, timeout_ms=LONGEST_PROBE_MS + 5_000)
    failing = [{"error": "transient_error"}] * 3
    probe = {"delayMs": min(LONGEST_PROBE_MS, 2_500 * measure_slowdown()), "output": "works again"}
    executors.write_script(tenant, FUNCTION, [*failing, probe, {"output": "works"}])
    start_gateways(executors.gateway, key, CALLERS)
    time.sleep(2)
    assert [read_outcome(executors.call(key, FUNCTION)) for _ in range(4)] == ["reported"] * 3 + ["circuit_open"]
    assert len(executors.list_calls(tenant, FUNCTION)) == 3
    time.sleep(PAUSE_MS / 1000)
    replies = call_concurrently(lambda: executors.call(key, FUNCTION))
    assert Counter(map(read_outcome, replies)) == {"result": 1, "circuit_open": CALLERS - 1}
    assert len(executors.list_calls(tenant, FUNCTION)) == 4
    time.sleep(2)
    assert read_outcome(executors.call(key, FUNCTION)) == "result"


@pytest.mark.invariant(91)
def test_failures_of_one_key_stop_only_that_key(executors: Executors, tenant: str, key: str) -> None:
    other, function = executors.make_key(tenant), "shaky::other"
    executors.set_settings(tenant, breaker_failures=3, breaker_pause_ms=60_000)
    executors.place("stub", [HostedFunction(function)], tenant)
    executors.write_script(tenant, function, [*[{"error": "transient_error"}] * 3, *[{"output": "works"}] * 3])
    time.sleep(2)
    outcomes = [read_outcome(executors.call(key, function)) for _ in range(4)]
    assert outcomes == ["reported"] * 3 + ["circuit_open"]
    assert [read_outcome(executors.call(other, function)) for _ in range(3)] == ["result"] * 3
    assert read_outcome(executors.call(key, function)) == "circuit_open"
