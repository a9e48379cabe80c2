"""From the stream of the workflows table: every step that was taken is told to the bus, and whatever is to be looked at
again goes to the queue of the worker. Both at least once."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

from signpost.content import BusEvent
from signpost.model import JsonObject
from signpost.ports import Clock, EventBus, WorkQueue
from signpost.records import dataclass
from signpost.stream import Failed, Image, StreamRecord, first_untold, shown
from signpost.telemetry import Telemetry
from signpost.wakes import Message, Posted, Wake
from signpost.workflow.announcing import Happened, bus_event

LONGEST_DELAY = 900
"""Seconds that the queue keeps a message to itself. What is due later, the sweeper finds."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is written in the rows of the workflows table."""

    happened: Callable[[Image], Sequence[Happened]]
    wakes: Callable[[Image], Sequence[tuple[str, Wake]]]
    """With their tenants."""


class Herald:
    def __init__(
        self, *, reading: Reading, bus: EventBus, queue: WorkQueue, clock: Clock, telemetry: Telemetry
    ) -> None:
        self._reading = reading
        self._bus = bus
        self._queue = queue
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], request_id: str) -> JsonObject:
        return shown(event, request_id, self._telemetry, self._tell, path="workflows", operation="herald")

    def _tell(self, records: Sequence[StreamRecord], failed: Failed) -> int | None:
        """Work goes on whatever the bus says: what was posted twice is looked at twice, and nothing comes of it."""
        unposted = first_untold(records, self._posted, self._post, failed)
        untold = first_untold(records, self._bus_events, self._bus.put, failed)
        return min((place for place in (unposted, untold) if place is not None), default=None)

    def _post(self, some: Sequence[Posted]) -> Sequence[bool]:
        for posted in some:
            self._queue.put(posted)
        return [True] * len(some)

    def _posted(self, image: Image) -> Sequence[Posted]:
        now = self._clock.now()
        pauses = [(tenant, wake, max(0, ceil(wake.at - now))) for tenant, wake in self._reading.wakes(image)]
        return [
            Posted(Message(tenant, wake.workflow_id), pause) for tenant, wake, pause in pauses if pause <= LONGEST_DELAY
        ]

    def _bus_events(self, image: Image) -> Sequence[BusEvent]:
        return [bus_event(happened) for happened in self._reading.happened(image)]
