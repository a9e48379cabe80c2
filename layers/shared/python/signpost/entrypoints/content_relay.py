"""Relays content changes from the stream of the registry table to the bus, each at least once."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from signpost.content.changes import EVENTS
from signpost.content.model import EVENT_SOURCE, BusEvent, ChangeEvent
from signpost.entrypoints.stream_batch import Image, RecordFault, StreamRecord, handle_records, put_records
from signpost.model import JsonObject
from signpost.telemetry import Telemetry

if TYPE_CHECKING:
    from signpost.content.ports import EventBus

type EventsOf = Callable[[Image], Sequence[ChangeEvent]]
"""The events of an outbox row."""


class ContentRelay:
    def __init__(self, *, events_of: EventsOf, bus: "EventBus", telemetry: Telemetry) -> None:
        self._events_of = events_of
        self._bus = bus
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], request_id: str) -> JsonObject:
        return handle_records(event, request_id, self._telemetry, self._relay, path="outbox", operation="relay")

    def _relay(self, records: Sequence[StreamRecord], report_fault: RecordFault) -> int | None:
        return put_records(records, self._bus_events, self._bus.put, report_fault)

    def _bus_events(self, image: Image) -> Sequence[BusEvent]:
        return [content_bus_event(event) for event in self._events_of(image)]


def content_bus_event(event: ChangeEvent) -> BusEvent:
    """Builds the bus event of a change. Subscribers rely on the detail; the tenant and the order are in the
    resources."""
    form = EVENTS[event.type]
    tenant = [f"urn:signpost:tenant:{event.tenant}"] if event.tenant is not None else []
    digest = {"digest": event.digest} if event.digest is not None else {}
    return BusEvent(
        source=EVENT_SOURCE,
        type=event.type,
        detail=json.dumps({"op": event.op, form.key: event.key, **digest}, ensure_ascii=False),
        resources=(form.uri.format(event.key), f"urn:signpost:seq:{event.sequence}", *tenant),
    )
