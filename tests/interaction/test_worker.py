"""What the worker makes of the queue: each workflow is looked at, and whatever fails is shown to it again."""

import json
from typing import Any, override

import pytest

from signpost.adapters.memory.due import MemoryDue, MemoryWorkQueue
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.content.deliveries import Backoff
from signpost.entrypoints.sweeper import MOST_DUE_INSTANCES, DueSweeper
from signpost.entrypoints.workflow_worker import RESERVE, WorkflowWorker
from signpost.errors import Unavailable
from signpost.telemetry import Telemetry
from signpost.workflow.wakes import QueuedWake, WakeMessage
from tests.support.due import write_due
from tests.support.memory_gateway import SetClock

NOW = 1_800_000_000.0


class Woken:
    """Fails at the workflow that it is told."""

    def __init__(self, failing: str = "", fault: Exception | None = None) -> None:
        self.failing = failing
        self.fault = fault
        self.calls: list[tuple[str, str, float]] = []

    def wake(self, tenant: str, workflow_id: str, ends_at: float) -> None:
        self.calls.append((tenant, workflow_id, ends_at))
        if self.fault is not None and workflow_id == self.failing:
            raise self.fault


class Queue:
    def __init__(self) -> None:
        self.put_back: list[tuple[str, int]] = []

    def put(self, text: str) -> None:
        raise AssertionError(text)

    def put_off(self, receipt: str, seconds: int) -> None:
        self.put_back.append((receipt, seconds))


def record(name: str, body: str, attempt: int = 1) -> dict[str, Any]:
    return {
        "messageId": f"m-{name}",
        "receiptHandle": f"r-{name}",
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(attempt)},
    }


def handled(woken: Woken, queue: Queue, *records: dict[str, Any]) -> Any:
    worker = WorkflowWorker(
        waker=woken,
        queue=queue,
        backoff=Backoff(first=10, longest=300),
        clock=SetClock(NOW),
        telemetry=Telemetry("worker-under-test"),
    )
    answer: Any = worker.handle({"Records": records}, 900_000, "request")
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_a_workflow_is_looked_at_with_the_time_that_there_is_but_for_writing_down_what_came_of_it() -> None:
    woken = Woken()
    assert handled(woken, Queue(), record("a", WakeMessage("acme", "wf_a").text)) == []
    assert woken.calls == [("acme", "wf_a", NOW + 900 - RESERVE)]


@pytest.mark.parametrize("fault", [Unavailable("Overloaded."), KeyError("x")])
def test_what_fails_is_shown_again_a_while_later_and_the_others_are_looked_at(fault: Exception) -> None:
    woken, queue = Woken("wf_b", fault), Queue()
    rows = [record(name, WakeMessage("acme", f"wf_{name}").text, attempt=3) for name in "abc"]
    assert handled(woken, queue, *rows) == ["m-b"]
    assert [workflow_id for _, workflow_id, _ in woken.calls] == ["wf_a", "wf_b", "wf_c"]
    assert queue.put_back == [("r-b", 40)]


class Deaf(Queue):
    @override
    def put_off(self, receipt: str, seconds: int) -> None:
        raise Unavailable("Overloaded.")


def test_what_fails_is_named_also_if_the_queue_hears_nothing_of_a_while() -> None:
    rows = [record(name, WakeMessage("acme", f"wf_{name}").text) for name in "ab"]
    assert handled(Woken("wf_a", KeyError("x")), Deaf(), *rows) == ["m-a"]


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", json.dumps({"tenant": "acme"})])
def test_a_message_that_says_nothing_is_set_aside_in_the_end(body: str) -> None:
    woken = Woken()
    assert handled(woken, Queue(), record("a", body)) == ["m-a"]
    assert woken.calls == []


class Refusing(MemoryWorkQueue):
    @override
    def put(self, posted: QueuedWake) -> None:
        if posted.message.workflow_id == "wf_10":
            raise Unavailable("Overloaded.")
        super().put(posted)


def swept(instances: MemoryInstanceStore, queue: MemoryWorkQueue, clock: SetClock) -> Any:
    sweeper = DueSweeper(due=MemoryDue(instances), queue=queue, clock=clock, telemetry=Telemetry("sweeper-under-test"))
    return sweeper.handle("request")


def test_what_is_due_is_woken_oldest_first_and_what_is_not_waits() -> None:
    clock, instances = SetClock(NOW), MemoryInstanceStore()
    queue = MemoryWorkQueue(clock)
    for number in range(25):
        write_due(instances, "acme", f"wf_{number:02}", NOW - number)
    write_due(instances, "acme", "wf_later", NOW + 0.5)
    assert swept(instances, queue, clock) == {"woken": 25}
    assert queue.take() == [WakeMessage("acme", f"wf_{number:02}") for number in reversed(range(25))]
    write_due(instances, "acme", "wf_00", None)
    clock.advance(1)
    swept(instances, queue, clock)
    woken = queue.take()
    assert WakeMessage("acme", "wf_later") in woken
    assert WakeMessage("acme", "wf_00") not in woken


def test_a_run_wakes_so_many_that_it_is_over_before_the_next() -> None:
    clock, instances = SetClock(NOW), MemoryInstanceStore()
    for number in range(MOST_DUE_INSTANCES + 1):
        write_due(instances, "acme", f"wf_{number}", NOW - 1)
    assert swept(instances, MemoryWorkQueue(clock), clock) == {"woken": MOST_DUE_INSTANCES}


def test_a_queue_that_does_not_take_all_is_told_of_and_takes_what_it_can() -> None:
    clock, instances = SetClock(NOW), MemoryInstanceStore()
    queue = Refusing(clock)
    for number in range(12):
        write_due(instances, "acme", f"wf_{number}", NOW - 12 + number)
    with pytest.raises(Unavailable):
        swept(instances, queue, clock)
    assert len(queue.take()) == 10
