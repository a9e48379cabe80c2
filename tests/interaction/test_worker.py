"""What the worker makes of the queue: each workflow is looked at, and whatever fails is shown to it again."""

import json
from typing import Any, override

import pytest

from signpost.adapters.memory.due import MemoryDue, MemoryWorkQueue
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.content.deliveries import Backoff, Delivery
from signpost.entrypoints.sweeper import MOST_DUE_INSTANCES, DueSweeper
from signpost.entrypoints.workflow_worker import RESERVE, WorkflowWorker
from signpost.errors import Unavailable
from signpost.telemetry import Telemetry
from signpost.workflow.wakes import SCHEDULES, QueuedWake, WakeMessage
from tests.support.due_instances import write_due_instance
from tests.support.memory_gateway import ManualClock

NOW = 1_800_000_000.0


class RecordingWaker:
    """Fails at the workflow that it is told."""

    def __init__(self, failing: str = "", fault: Exception | None = None) -> None:
        self.failing = failing
        self.fault = fault
        self.calls: list[tuple[str, str, float]] = []

    def wake(self, tenant: str, workflow_id: str, ends_at: float) -> None:
        self.calls.append((tenant, workflow_id, ends_at))
        if self.fault is not None and workflow_id == self.failing:
            raise self.fault

    def start_due(self, tenant: str) -> None:
        self.wake(tenant, SCHEDULES, 0.0)

    def start_for(self, delivery: Delivery) -> str | None:
        self.wake(delivery.tenant, delivery.target, 0.0)
        return "NOT_FOUND" if delivery.target == self.failing else None


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


def handle_records(woken: RecordingWaker, queue: Queue, *records: dict[str, Any]) -> Any:
    worker = WorkflowWorker(
        waker=woken,
        schedules=woken,
        events=woken,
        queue=queue,
        backoff=Backoff(first=10, longest=300),
        clock=ManualClock(NOW),
        telemetry=Telemetry("worker-under-test"),
    )
    answer: Any = worker.handle({"Records": records}, 900_000, "request")
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_an_instance_is_woken_with_the_remaining_time_less_the_reserve() -> None:
    woken = RecordingWaker()
    assert handle_records(woken, Queue(), record("a", WakeMessage("acme", "wf_a").text)) == []
    assert woken.calls == [("acme", "wf_a", NOW + 900 - RESERVE)]


def test_a_wake_of_schedules_loads_no_instance() -> None:
    woken = RecordingWaker()
    assert handle_records(woken, Queue(), record("a", WakeMessage("acme", SCHEDULES).text)) == []
    assert woken.calls == [("acme", SCHEDULES, 0.0)]


@pytest.mark.parametrize("fault", [Unavailable("Overloaded."), KeyError("x")])
def test_a_failed_wake_is_delayed_and_the_others_are_handled(fault: Exception) -> None:
    woken, queue = RecordingWaker("wf_b", fault), Queue()
    rows = [record(name, WakeMessage("acme", f"wf_{name}").text, attempt=3) for name in "abc"]
    assert handle_records(woken, queue, *rows) == ["m-b"]
    assert [workflow_id for _, workflow_id, _ in woken.calls] == ["wf_a", "wf_b", "wf_c"]
    assert queue.put_back == [("r-b", 40)]


class UnavailableQueue(Queue):
    @override
    def put_off(self, receipt: str, seconds: int) -> None:
        raise Unavailable("Overloaded.")


def test_a_failed_wake_is_reported_even_if_it_cannot_be_delayed() -> None:
    rows = [record(name, WakeMessage("acme", f"wf_{name}").text) for name in "ab"]
    assert handle_records(RecordingWaker("wf_a", KeyError("x")), UnavailableQueue(), *rows) == ["m-a"]


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", json.dumps({"tenant": "acme"})])
def test_a_malformed_message_is_reported_as_failed(body: str) -> None:
    woken = RecordingWaker()
    assert handle_records(woken, Queue(), record("a", body)) == ["m-a"]
    assert woken.calls == []


class RefusingWorkQueue(MemoryWorkQueue):
    @override
    def put(self, posted: QueuedWake) -> None:
        if posted.message.workflow_id == "wf_10":
            raise Unavailable("Overloaded.")
        super().put(posted)


def sweep_due(instances: MemoryInstanceStore, queue: MemoryWorkQueue, clock: ManualClock) -> Any:
    sweeper = DueSweeper(due=MemoryDue(instances), queue=queue, clock=clock, telemetry=Telemetry("sweeper-under-test"))
    return sweeper.handle("request")


def test_due_instances_are_queued_oldest_first() -> None:
    clock, instances = ManualClock(NOW), MemoryInstanceStore()
    queue = MemoryWorkQueue(clock)
    for number in range(25):
        write_due_instance(instances, "acme", f"wf_{number:02}", NOW - number)
    write_due_instance(instances, "acme", "wf_later", NOW + 0.5)
    assert sweep_due(instances, queue, clock) == {"woken": 25}
    assert queue.take() == [WakeMessage("acme", f"wf_{number:02}") for number in reversed(range(25))]
    write_due_instance(instances, "acme", "wf_00", None)
    clock.advance(1)
    sweep_due(instances, queue, clock)
    woken = queue.take()
    assert WakeMessage("acme", "wf_later") in woken
    assert WakeMessage("acme", "wf_00") not in woken


def test_the_number_of_instances_queued_by_a_sweep_is_limited() -> None:
    clock, instances = ManualClock(NOW), MemoryInstanceStore()
    for number in range(MOST_DUE_INSTANCES + 1):
        write_due_instance(instances, "acme", f"wf_{number}", NOW - 1)
    assert sweep_due(instances, MemoryWorkQueue(clock), clock) == {"woken": MOST_DUE_INSTANCES}


def test_a_sweep_queues_other_instances_and_raises_for_a_refused_one() -> None:
    clock, instances = ManualClock(NOW), MemoryInstanceStore()
    queue = RefusingWorkQueue(clock)
    for number in range(12):
        write_due_instance(instances, "acme", f"wf_{number}", NOW - 12 + number)
    with pytest.raises(Unavailable):
        sweep_due(instances, queue, clock)
    assert len(queue.take()) == 10
