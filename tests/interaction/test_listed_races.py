"""Two processes act on one run at once, or one of them dies: lists of runs and requests have what the run has."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.model import JsonObject, Principal
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.ports import StepAttempt
from tests.support.crash_points import NEVER, CrashPoints, ProcessKilled
from tests.support.listed_runs import check_listed
from tests.support.memory_gateway import ManualClock
from tests.support.memory_workflows import TENANT, MemoryWorkflows, check_verified
from tests.support.played_executors import PlayedExecutor

pytestmark = pytest.mark.no_cover

AGENT, FAY, GIL = (
    Principal("agent", TENANT, "t"),
    *(Principal(name, TENANT, "t", human=True) for name in ("fay", "gil")),
)
STATES: JsonObject = {
    "wanted": {"transitions": {"ask": {"target": "asked", "executor": {"kind": "human", "expiresMs": 20_000}}}},
    "asked": {
        "timeoutMs": 30_000,
        "onTimeout": {"target": "late"},
        "transitions": {
            "approve": {"target": "working", "actor": "human", "decision": "approve"},
            "refuse": {"target": "wanted", "actor": "human", "decision": "reject"},
            "work": {
                "target": "working",
                "executor": {"kind": "act"},
                "reliability": {"timeoutMs": 5_000, "retry": {"maxAttempts": 2, "initialDelayMs": 60_000}},
            },
        },
    },
    "working": {"timeoutMs": 10_000, "onTimeout": {"target": "wanted"}, "transitions": {"end": {"target": "done"}}},
    "late": {"transitions": {"ask": {"target": "asked", "executor": {"kind": "human"}}}},
    "done": {"terminal": True},
}


class AskedRun:
    """A run with an open approval request, and the processes that act on it."""

    def __init__(self, fate: str) -> None:
        self.clock, self.instances, self.fate = ManualClock(), MemoryInstanceStore(), fate
        shop = self.start_process()
        self.id: str = shop.start(AGENT)["workflowId"]
        shop.submit(self.id, "ask", AGENT)

    def start_process(self, points: CrashPoints | None = None) -> MemoryWorkflows:
        store = None if points is None else points.wrap_port(self.instances)
        shop = MemoryWorkflows(
            {"act": PlayedExecutor(self._execute)}, clock=self.clock, instances=self.instances, store=store
        )
        shop.publish("demo", {"initialState": "wanted", "states": STATES})
        return shop

    def _execute(self, attempt: StepAttempt) -> ExecutorOutcome | ExecutorFailure:
        del attempt
        if self.fate == "done":
            return ExecutorOutcome(1)
        return ExecutorFailure("timeout" if self.fate == "unknown" else "rate_limited", "No.", self.fate_outcome)

    @property
    def fate_outcome(self) -> Any:
        return "unknown" if self.fate == "unknown" else "none"

    def check(self) -> None:
        loaded = self.start_process().workflows.load_instance(TENANT, self.id)
        assert loaded is not None
        check_listed(self.instances, loaded.definition, self.id, self.clock.now())
        check_verified(self.instances, self.id)


type Action = Callable[[AskedRun, MemoryWorkflows], Any]


def submit(transition: str, by: Principal) -> Action:
    return lambda run, shop: shop.submit(run.id, transition, by)


def wake_late(run: AskedRun, shop: MemoryWorkflows) -> None:
    """The time of the request, of the state and of every lease is over."""
    run.clock.advance(3_600)
    shop.wake(run.id)


def wake_expired(run: AskedRun, shop: MemoryWorkflows) -> None:
    """The time of the request is over, that of its state is not."""
    run.clock.advance(25)
    shop.wake(run.id)


def read_late(run: AskedRun, shop: MemoryWorkflows) -> Any:
    run.clock.advance(31)
    return shop.get(run.id, AGENT)


ACTIONS: Mapping[str, Action] = {
    "approve": submit("approve", FAY),
    "approve twice": submit("approve", GIL),
    "refuse": submit("refuse", GIL),
    "work": submit("work", AGENT),
    "cancel": submit("$cancel", AGENT),
    "wake late": wake_late,
    "wake after the expiry": wake_expired,
    "read late": read_late,
}
FATES = ("done", "failed", "unknown")


def play(first: str, second: str | None, fate: str) -> Iterator[AskedRun]:
    """Play `first` once for each call of its ports: the other action happens there or, for None, the process dies."""
    for at in range(NEVER):
        run = AskedRun(fate)
        other = None if second is None else lambda: ACTIONS[second](run, run.start_process())  # noqa: B023 - run at once
        points = CrashPoints(at, other)
        with suppress(ProcessKilled):
            ACTIONS[first](run, run.start_process(points))
        if not points.was_reached:
            assert at > 0
            return
        yield run


@pytest.mark.invariant(141)
@pytest.mark.parametrize(("first", "second"), list(product(ACTIONS, [None, *ACTIONS])))
def test_lists_have_what_a_run_has_after_each_crash_and_each_race(first: str, second: str | None) -> None:
    for fate in FATES:
        for run in play(first, second, fate):
            run.check()
            shop = run.start_process()
            run.clock.advance(10_000)
            shop.run_until_idle()
            run.check()
