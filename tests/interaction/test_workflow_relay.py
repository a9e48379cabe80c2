"""What the herald makes of the stream: every step reaches the bus, every workflow that is to go on reaches the queue,
and what did not is shown to it again."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb.due import wake_attributes, wakes_in
from signpost.adapters.dynamodb.workflow_stream import workflow_events_in
from signpost.content.model import BusEvent
from signpost.entrypoints.stream_batch import BATCH_SIZE
from signpost.entrypoints.workflow_relay import LONGEST_DELAY, StreamReader, WorkflowRelay
from signpost.errors import Unavailable
from signpost.telemetry import Telemetry
from signpost.workflow.hash_links import build_link
from signpost.workflow.instance import AuditEvent, AuditRecord
from signpost.workflow.running import serialization
from signpost.workflow.wakes import QueuedWake, Wake, WakeMessage
from tests.support.memory_gateway import ManualClock

NOW = 1_800_000_000.0


class Bus:
    """Does not take events of a type that it refuses."""

    def __init__(self, refuses: str = "", fault: Exception | None = None) -> None:
        self.refuses = refuses
        self.fault = fault
        self.events: list[BusEvent] = []

    def put(self, events: Sequence[BusEvent]) -> Sequence[bool]:
        if self.fault:
            raise self.fault
        self.events += events
        return [event.type != self.refuses for event in events]


class Queue:
    """Cannot be reached when a message is about this workflow."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.posted: list[QueuedWake] = []

    def put(self, posted: QueuedWake) -> None:
        if posted.message.workflow_id == self.refuses:
            raise Unavailable("Overloaded.")
        self.posted.append(posted)


def audit(number: int, *types: str, tenant: str = "acme", **payload: Any) -> dict[str, Any]:
    """A row as the store writes it."""
    events = [AuditEvent(AuditRecord(kind, payload), NOW, f"cor_{number}", "ann") for kind in types]
    image = {
        **keys.workflow_row(tenant, f"wf_{number}", keys.audit(NOW, f"cor_{number}")),
        "correlation": {"S": f"cor_{number}"},
        "subject": {"S": "ann"},
        "text": {"S": serialization.audit_text(events)},
    }
    return record(number, image)


def head(number: int, *wakes: Wake, tenant: str = "acme") -> dict[str, Any]:
    return record(number, {**keys.workflow_row(tenant, f"wf_{number}", keys.HEAD), **wake_attributes(wakes)})


def record(number: int, image: Mapping[str, Any]) -> dict[str, Any]:
    return {"eventName": "INSERT", "dynamodb": {"SequenceNumber": f"r-{number}", "NewImage": image}}


def relay_records(bus: Bus, queue: Queue, *records: Mapping[str, Any]) -> Any:
    herald = WorkflowRelay(
        reader=StreamReader(events=workflow_events_in, wakes=wakes_in),
        bus=bus,
        queue=queue,
        clock=ManualClock(NOW),
        telemetry=Telemetry("herald-under-test"),
    )
    answer: Any = herald.handle({"Records": list(records)}, "request")
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_each_event_of_a_step_is_sent_with_its_workflow_tenant_and_actor() -> None:
    bus = Bus()
    row = audit(1, "transition.requested", "workflow.transitioned", transition="approve", version=2)
    assert relay_records(bus, Queue(), row) == []
    assert [event.type for event in bus.events] == ["transition.requested", "workflow.transitioned"]
    first = bus.events[0]
    assert first.source == "signpost"
    assert json.loads(first.detail) == {
        "workflowId": "wf_1",
        "correlationId": "cor_1",
        "at": NOW,
        "actor": "ann",
        "transition": "approve",
        "version": 2,
    }
    assert first.resources == ("urn:signpost:instance:wf_1", "urn:signpost:tenant:acme")


def test_an_event_has_the_hash_of_its_write() -> None:
    bus, row = Bus(), audit(1, "workflow.transitioned", hash="forged")
    link = build_link(None, 2, NOW, {})
    row["dynamodb"]["NewImage"]["link"] = {"S": serialization.link_text(link)}
    relay_records(bus, Queue(), row)
    assert json.loads(bus.events[0].detail)["hash"] == link.hash


def test_a_payload_never_overrides_workflow_and_actor_of_its_event() -> None:
    bus = Bus()
    relay_records(bus, Queue(), audit(1, "workflow.started", workflowId="wf_other", actor="eve"))
    detail = json.loads(bus.events[0].detail)
    assert (detail["workflowId"], detail["actor"]) == ("wf_1", "ann")


def test_the_message_of_a_rejected_transition_is_not_sent() -> None:
    bus = Bus()
    relay_records(
        bus, Queue(), audit(1, "transition.rejected", code="INPUT_SCHEMA_VIOLATION", message="'hunter2' is too short")
    )
    assert json.loads(bus.events[0].detail)["code"] == "INPUT_SCHEMA_VIOLATION"
    assert "hunter2" not in bus.events[0].detail


def test_a_due_instance_is_queued_with_its_delay() -> None:
    queue = Queue()
    row = head(1, Wake("wf_1", NOW + 30.2), Wake("wf_parent"), Wake("wf_past", NOW - 5), tenant="zed")
    assert relay_records(Bus(), queue, row) == []
    assert queue.posted == [
        QueuedWake(WakeMessage("zed", "wf_1"), 31),
        QueuedWake(WakeMessage("zed", "wf_parent"), 0),
        QueuedWake(WakeMessage("zed", "wf_past"), 0),
    ]


def test_a_wake_later_than_the_longest_delay_is_not_queued() -> None:
    queue = Queue()
    assert (
        relay_records(Bus(), queue, head(1, Wake("wf_1", NOW + LONGEST_DELAY)), head(2, Wake("wf_2", NOW + 901))) == []
    )
    assert queue.posted == [QueuedWake(WakeMessage("acme", "wf_1"), LONGEST_DELAY)]


def test_a_row_without_events_and_wakes_sends_no_message() -> None:
    bus, queue = Bus(), Queue()
    assert relay_records(bus, queue, head(1)) == []
    assert (bus.events, queue.posted) == ([], [])


@pytest.mark.parametrize(
    ("bus", "queue", "left"),
    [
        (Bus(), Queue(refuses="wf_3"), ["r-1"]),
        (Bus(refuses="b"), Queue(), ["r-2"]),
        (Bus(refuses="b"), Queue(refuses="wf_1"), ["r-1"]),
        (Bus(refuses="b"), Queue(refuses="wf_3"), ["r-1"]),
    ],
)
def test_the_first_record_not_delivered_is_reported_as_failed(bus: Bus, queue: Queue, left: list[str]) -> None:
    rows = [audit(0, "a"), head(1, Wake("wf_1")), audit(2, "a", "b"), head(3, Wake("wf_3"))]
    assert relay_records(bus, queue, *rows) == left


def test_wakes_are_queued_while_the_bus_is_unavailable() -> None:
    queue = Queue()
    assert relay_records(Bus(fault=Unavailable("Overloaded.")), queue, audit(0, "a"), head(1, Wake("wf_1"))) == ["r-0"]
    assert queue.posted == [QueuedWake(WakeMessage("acme", "wf_1"), 0)]


def test_an_unreadable_row_is_reported_as_failed_after_earlier_rows_are_sent() -> None:
    bus, broken = Bus(), audit(BATCH_SIZE, "x")
    broken["dynamodb"]["NewImage"]["text"] = {"S": "{"}
    rows = [audit(number, "a") for number in range(BATCH_SIZE)]
    assert relay_records(bus, Queue(), *rows, broken) in (["r-0"], [f"r-{BATCH_SIZE}"])
    assert len(bus.events) == BATCH_SIZE
