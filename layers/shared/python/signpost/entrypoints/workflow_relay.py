"""Relays the stream of the workflows table: audit events of steps to the bus, and wakes to the queue of the worker.
Both are relayed at least once."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from signpost.content.model import BusEvent
from signpost.entrypoints.stream_batch import Image, RecordFault, StreamRecord, handle_records, put_records
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.telemetry import Telemetry
from signpost.workflow.running.bus_events import WorkflowAuditEvent, build_bus_event
from signpost.workflow.wakes import QueuedWake, Wake, WakeMessage

if TYPE_CHECKING:
    from signpost.content.ports import EventBus
    from signpost.ports import Clock
    from signpost.workflow.ports import WorkQueue

LONGEST_DELAY = 900
"""The longest delay of a queue message in seconds. The sweeper finds workflows that are due later."""


@dataclass(frozen=True, slots=True)
class StreamReader:
    """The parsers of rows of the workflows table."""

    events: Callable[[Image], Sequence[WorkflowAuditEvent]]
    wakes: Callable[[Image], Sequence[tuple[str, Wake]]]
    """The wakes with their tenants."""


class WorkflowRelay:
    def __init__(
        self, *, reader: StreamReader, bus: "EventBus", queue: "WorkQueue", clock: "Clock", telemetry: Telemetry
    ) -> None:
        self._reader = reader
        self._bus = bus
        self._queue = queue
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], request_id: str) -> JsonObject:
        return handle_records(event, request_id, self._telemetry, self._relay, path="workflows", operation="herald")

    def _relay(self, records: Sequence[StreamRecord], report_fault: RecordFault) -> int | None:
        """Enqueues wakes even if the bus fails. A workflow that is woken twice is only checked twice, without
        effect."""
        first_unqueued = put_records(records, self._wake_messages, self._enqueue, report_fault)
        first_unannounced = put_records(records, self._bus_events, self._bus.put, report_fault)
        return min((index for index in (first_unqueued, first_unannounced) if index is not None), default=None)

    def _enqueue(self, wakes: Sequence[QueuedWake]) -> Sequence[bool]:
        for wake in wakes:
            self._queue.put(wake)
        return [True] * len(wakes)

    def _wake_messages(self, image: Image) -> Sequence[QueuedWake]:
        now = self._clock.now()
        delays = [(tenant, wake, max(0, ceil(wake.at - now))) for tenant, wake in self._reader.wakes(image)]
        return [
            QueuedWake(WakeMessage(tenant, wake.workflow_id), delay)
            for tenant, wake, delay in delays
            if delay <= LONGEST_DELAY
        ]

    def _bus_events(self, image: Image) -> Sequence[BusEvent]:
        return [build_bus_event(event) for event in self._reader.events(image)]
