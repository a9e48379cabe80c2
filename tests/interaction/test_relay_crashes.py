"""The herald and the relay, killed before and after every call of a port, or failed by it, or refused one event by the
bus: the stream shows them what is left again, as Lambda does, until they have told all of it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest

from signpost.adapters.dynamodb.due import wakes_in
from signpost.adapters.dynamodb.workflow_stream import workflow_events_in
from signpost.content.model import BusEvent, ChangeEvent
from signpost.entrypoints.content_relay import ContentRelay
from signpost.entrypoints.workflow_relay import StreamReader, WorkflowRelay
from signpost.errors import Unavailable
from signpost.telemetry import Telemetry
from signpost.workflow.wakes import QueuedWake, Wake
from tests.interaction import test_workflow_relay
from tests.support.crash_points import NEVER, CrashPoints, ProcessKilled
from tests.support.memory_gateway import ManualClock

MANY = 25
"""More than the bus takes in two calls."""


@dataclass(slots=True)
class Receivers:
    """The bus and the queue. The bus does not take the event of this number, counted over all calls."""

    refused: int = NEVER
    offered: int = 0
    events: Counter[str] = field(default_factory=Counter[str])
    messages: Counter[str] = field(default_factory=Counter[str])

    def put_events(self, events: Sequence[BusEvent]) -> Sequence[bool]:
        taken = [self.offered + number != self.refused for number in range(len(events))]
        self.offered += len(events)
        told = (event for event, is_taken in zip(events, taken, strict=True) if is_taken)
        self.events.update(f"{event.type} {event.detail}" for event in told)
        return taken

    def post(self, posted: QueuedWake) -> None:
        self.messages[posted.message.workflow_id] += 1


class _Port:
    """A bus or a queue, by its one method."""

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self.put = put


type Handle = Callable[[Mapping[str, Any]], Any]
type Process = Callable[[Receivers, CrashPoints], Handle]


def start_workflow_relay(receivers: Receivers, points: CrashPoints) -> Handle:
    process = WorkflowRelay(
        reader=StreamReader(events=workflow_events_in, wakes=wakes_in),
        bus=points.wrap_port(_Port(receivers.put_events)),
        queue=points.wrap_port(_Port(receivers.post)),
        clock=ManualClock(test_workflow_relay.NOW),
        telemetry=Telemetry("herald-under-test"),
    )
    return lambda event: process.handle(event, "request")


def start_content_relay(receivers: Receivers, points: CrashPoints) -> Handle:
    def events_of(image: Mapping[str, Any]) -> Sequence[ChangeEvent]:
        return [ChangeEvent("acme", n, "skills::on-change", "register", f"s-{n}") for n in image["changes"]]

    process = ContentRelay(
        events_of=events_of,
        bus=points.wrap_port(_Port(receivers.put_events)),
        telemetry=Telemetry("relay-under-test"),
    )
    return lambda event: process.handle(event, "request")


def workflow_records() -> Sequence[Mapping[str, Any]]:
    """Rows of the workflows table: what has happened, and what is to be looked at."""
    happened = [
        test_workflow_relay.audit(number, "transition.requested", "workflow.transitioned") for number in range(MANY)
    ]
    waiting = [test_workflow_relay.head(MANY + number, Wake(f"wf_{number}")) for number in range(3)]
    return [*happened[:5], *waiting, *happened[5:]]


def outbox_records() -> Sequence[Mapping[str, Any]]:
    """Rows of the outbox: single changes around a publication."""
    numbers = [[0], [1], [*range(2, MANY)], [MANY], [MANY + 1]]
    return [test_workflow_relay.record(row, {"changes": some}) for row, some in enumerate(numbers)]


def deliver_records(process: Process, receivers: Receivers, records: Sequence[Any], points: CrashPoints) -> None:
    """As Lambda shows a batch: again if nothing was answered, and from the first failure on if one was named. The first
    process is the one with the points."""
    for _ in range(NEVER):
        with suppress(ProcessKilled):
            failures = process(receivers, points)({"Records": records})["batchItemFailures"]
            if not failures:
                return
            (left,) = failures
            numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
            records = records[numbers.index(left["itemIdentifier"]) :]
        points = CrashPoints()


def crash_points_of(process: Process, records: Sequence[Any]) -> Iterator[int]:
    points = CrashPoints()
    process(Receivers(), points)({"Records": records})
    yield from range(len(points.passed_points))


@pytest.mark.invariant(53)
def test_a_workflow_relay_killed_at_any_call_sends_each_event_at_least_once() -> None:
    assert check_all_sent(start_workflow_relay, workflow_records()) >= {
        1,
        2,
    }  # some events again: a killed process has answered nothing


@pytest.mark.invariant(44)
def test_a_content_relay_killed_at_any_call_sends_each_event_at_least_once() -> None:
    assert check_all_sent(start_content_relay, outbox_records()) >= {1, 2}


def check_all_sent(process: Process, records: Sequence[Any]) -> set[int]:
    """Whatever call it is killed at or fails at, and whatever event the bus refuses. Answers how often events were
    told."""
    whole = Receivers()
    deliver_records(process, whole, records, CrashPoints())
    assert {*whole.events.values(), *whole.messages.values()} == {1}
    seen: set[int] = set()
    for at, refused, interfere in product(crash_points_of(process, records), (NEVER, 0, 7, 20), (None, fail)):
        receivers = Receivers(refused)
        deliver_records(process, receivers, records, CrashPoints(at, interfere))
        assert receivers.events.keys() == whole.events.keys(), (at, refused)
        assert receivers.messages.keys() == whole.messages.keys(), (at, refused)
        seen |= {*receivers.events.values()}
    return seen


def fail() -> None:
    raise Unavailable("No answer came.")
