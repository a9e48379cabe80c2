"""Many workflows in parallel, of three steps each that functions carry out, the last one after the caller has got its
answer: thirty in `make test`, a hundred in `make prove`."""

import time
import uuid
from collections.abc import Collection, Mapping
from statistics import quantiles
from typing import Any

import pytest

from tests.support.deployed_workflows import DeployedWorkflows, deploy_workflows, run_concurrently
from tests.support.effort import count_repetitions
from tests.support.laptop import Laptop
from tests.support.line_output import ShowLine

pytestmark = pytest.mark.cloud

WORKFLOWS = count_repetitions(30, proof=100)
CLIENTS = 8
"""Who start them, as fast as they are answered."""
HANDED_OVER = "handed-over"
LONGEST_SECONDS = 150.0
"""Many times what it takes on a machine that has nothing else to do."""


def _define_step(target: str, timeout_ms: int) -> Mapping[str, Any]:
    executor: Mapping[str, Any] = {"kind": "function", "function": "trials::show", "arguments": {}, "idempotent": True}
    reliability = {"timeoutMs": timeout_ms, "retry": {"maxAttempts": 5}}
    step: Mapping[str, Any] = {
        "actor": "deterministic",
        "target": target,
        "executor": executor,
        "reliability": reliability,
    }
    return {"transitions": {f"to-{target}": step}}


STATES = {
    "a": _define_step("b", 8_000),
    "b": _define_step("c", 8_000),
    "c": _define_step("done", 40_000),
    "done": {"terminal": True},
}
MANIFEST = {"version": 1, "workflows": {HANDED_OVER: {"initialState": "a", "states": STATES}}}
"""The last step does not fit into a call."""


@pytest.fixture(scope="module")
def workflows(laptop: Laptop) -> DeployedWorkflows:
    return deploy_workflows(laptop, "throughput", MANIFEST)


def test_many_parallel_workflows_finish(workflows: DeployedWorkflows, show_line: ShowLine) -> None:
    """The bar catches a collapse only (a queue that stands still, a conflict that is repeated for ever): what is
    measured is the laptop cloud, in which every call of a function is a process of this machine."""
    wait_until_finished(workflows, start_workflows(workflows, CLIENTS))  # so that all that takes part has been started
    began = time.monotonic()
    with workflows.functions.disable_event_sources("Worker"):
        open_ones = start_workflows(workflows, WORKFLOWS)
        assert {workflows.load_instance(one).state for one in open_ones} == {
            "c"
        }  # all of them at once wait for the worker
    woke = time.monotonic()
    ended = wait_until_finished(workflows, open_ones)
    took = time.monotonic() - began
    show_line(
        f"{WORKFLOWS} workflows of three steps, all open at once after {woke - began:.1f} s "
        f"(answered {format_summary(open_ones.values())}), all done {took - (woke - began):.1f} s later: "
        f"{WORKFLOWS / took:.1f} a second; the worker's part {format_summary([at - woke for at in ended.values()])}"
    )
    assert took < LONGEST_SECONDS


def start_workflows(workflows: DeployedWorkflows, count: int) -> Mapping[str, float]:
    """How long each answer took."""
    return dict(run_concurrently(lambda _: _start_workflow(workflows), range(count), CLIENTS))


def _start_workflow(workflows: DeployedWorkflows) -> tuple[str, float]:
    """Whoever is told that the service is busy asks again."""
    asked, token = time.monotonic(), uuid.uuid4().hex
    answer = workflows.send("workflow.start", {"definitionId": HANDED_OVER, "clientToken": token})
    while answer.status == 503:
        answer = workflows.send("workflow.start", {"definitionId": HANDED_OVER, "clientToken": token})
    return answer.json["result"]["structuredContent"]["workflowId"], time.monotonic() - asked


def wait_until_finished(workflows: DeployedWorkflows, asked: Collection[str]) -> Mapping[str, float]:
    """When each had ended, seen a moment later at most."""
    ends_at, ended = time.monotonic() + LONGEST_SECONDS, dict[str, float]()
    while left := [one for one in asked if one not in ended]:
        assert time.monotonic() < ends_at, f"not done yet: {[workflows.load_instance(one) for one in left]}"
        for one in left:
            stand = workflows.load_instance(one)
            if stand.state == "done":
                assert (stand.version, stand.fault) == (4, None)
                ended[one] = time.monotonic()
    return ended


def format_summary(seconds: Collection[float]) -> str:
    twentieths = quantiles(seconds, n=20)
    return f"p50 {twentieths[9]:.2f} s, p95 {twentieths[18]:.2f} s"
