"""Many workflows in parallel, of three steps each that functions carry out, the last one after the caller has got its
answer: thirty in `make test`, a hundred in `make prove`."""

import time
import uuid
from collections.abc import Collection, Mapping
from statistics import quantiles
from typing import Any

import pytest

from tests.support.driven_workflows import DrivenWorkflows, at_once, driven
from tests.support.effort import times
from tests.support.laptop import Laptop
from tests.support.saying import Say

pytestmark = pytest.mark.cloud

WORKFLOWS = times(30, proof=100)
CLIENTS = 8
"""Who start them, as fast as they are answered."""
HANDED_OVER = "handed-over"
LONGEST_SECONDS = 150.0
"""Many times what it takes on a machine that has nothing else to do."""


def _step(target: str, timeout_ms: int) -> Mapping[str, Any]:
    executor: Mapping[str, Any] = {"kind": "function", "function": "trials::show", "arguments": {}, "idempotent": True}
    reliability = {"timeoutMs": timeout_ms, "retry": {"maxAttempts": 5}}
    step: Mapping[str, Any] = {
        "actor": "deterministic",
        "target": target,
        "executor": executor,
        "reliability": reliability,
    }
    return {"transitions": {f"to-{target}": step}}


STATES = {"a": _step("b", 8_000), "b": _step("c", 8_000), "c": _step("done", 40_000), "done": {"terminal": True}}
MANIFEST = {"version": 1, "workflows": {HANDED_OVER: {"initialState": "a", "states": STATES}}}
"""The last step does not fit into a call."""


@pytest.fixture(scope="module")
def workflows(laptop: Laptop) -> DrivenWorkflows:
    return driven(laptop, "throughput", MANIFEST)


def test_many_workflows_in_parallel_finish(workflows: DrivenWorkflows, say: Say) -> None:
    """The bar catches a collapse only (a queue that stands still, a conflict that is repeated for ever): what is
    measured is the laptop cloud, in which every call of a function is a process of this machine."""
    finished(workflows, started(workflows, CLIENTS))  # so that all that takes part has been started
    began = time.monotonic()
    with workflows.functions.asleep("Worker"):
        open_ones = started(workflows, WORKFLOWS)
        assert {workflows.stand(one).state for one in open_ones} == {"c"}  # all of them at once wait for the worker
    woke = time.monotonic()
    ended = finished(workflows, open_ones)
    took = time.monotonic() - began
    say(
        f"{WORKFLOWS} workflows of three steps, all open at once after {woke - began:.1f} s "
        f"(answered {summary(open_ones.values())}), all done {took - (woke - began):.1f} s later: "
        f"{WORKFLOWS / took:.1f} a second; the worker's part {summary([at - woke for at in ended.values()])}"
    )
    assert took < LONGEST_SECONDS


def started(workflows: DrivenWorkflows, count: int) -> Mapping[str, float]:
    """How long each answer took."""
    return dict(at_once(lambda _: _started(workflows), range(count), CLIENTS))


def _started(workflows: DrivenWorkflows) -> tuple[str, float]:
    """Whoever is told that the service is busy asks again."""
    asked, token = time.monotonic(), uuid.uuid4().hex
    answer = workflows.call("workflow.start", {"definitionId": HANDED_OVER, "clientToken": token})
    while answer.status == 503:
        answer = workflows.call("workflow.start", {"definitionId": HANDED_OVER, "clientToken": token})
    return answer.json["result"]["structuredContent"]["workflowId"], time.monotonic() - asked


def finished(workflows: DrivenWorkflows, asked: Collection[str]) -> Mapping[str, float]:
    """When each had ended, seen a moment later at most."""
    ends_at, ended = time.monotonic() + LONGEST_SECONDS, dict[str, float]()
    while left := [one for one in asked if one not in ended]:
        assert time.monotonic() < ends_at, f"not done yet: {[workflows.stand(one) for one in left]}"
        for one in left:
            stand = workflows.stand(one)
            if stand.state == "done":
                assert (stand.version, stand.fault) == (4, None)
                ended[one] = time.monotonic()
    return ended


def summary(seconds: Collection[float]) -> str:
    twentieths = quantiles(seconds, n=20)
    return f"p50 {twentieths[9]:.2f} s, p95 {twentieths[18]:.2f} s"
