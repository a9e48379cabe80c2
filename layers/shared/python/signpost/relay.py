"""From the stream of the registry table to the bus: every change that has happened is told, at least once."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import batched
from typing import Any

from signpost.content import BusEvent, ChangeEvent
from signpost.model import JsonObject
from signpost.ports import EventBus
from signpost.records import dataclass
from signpost.telemetry import Telemetry

SOURCE = "signpost"
AT_ONCE = 10
"""Events that the bus takes in one call."""
KEY_NAMES = {"skills::on-change": "id", "prompts::on-change": "name", "workflows::on-change": "id"}
URIS = {
    "skills::on-change": "iii://{}",
    "prompts::on-change": "urn:signpost:prompt:{}",
    "workflows::on-change": "urn:signpost:workflow:{}",
}

type EventsOf = Callable[[Mapping[str, Any]], Sequence[ChangeEvent]]
"""The events of an outbox row, as the stream shows it."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """An event, and the record that it must be sent for."""

    record: str
    event: ChangeEvent


class Relay:
    def __init__(self, *, events_of: EventsOf, bus: EventBus, telemetry: Telemetry) -> None:
        self._events_of = events_of
        self._bus = bus
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], request_id: str) -> JsonObject:
        """Names the first record whose events were not all taken: Lambda shows it again, with those behind it."""
        with self._telemetry.request(request_id, "STREAM", "outbox") as record:
            record.operation = "relay"
            failed = self._relayed(event["Records"], record.failed)
            record.answered(503 if failed else 200)
        return {"batchItemFailures": [{"itemIdentifier": failed}] if failed else []}

    def _relayed(self, records: Sequence[Mapping[str, Any]], fault: Callable[[BaseException], None]) -> str | None:
        current = ""
        try:
            for batch in batched(self._pending(records), AT_ONCE, strict=False):
                current = batch[0].record
                taken = self._bus.put([bus_event(pending.event) for pending in batch])
                refused = [pending.record for pending, was_taken in zip(batch, taken, strict=True) if not was_taken]
                if refused:
                    return refused[0]
        except Exception as problem:  # noqa: BLE001 - the boundary: what was sent already is not sent again for it
            fault(problem)
            return current or _sequence_of(records[0])
        return None

    def _pending(self, records: Sequence[Mapping[str, Any]]) -> Iterator[_Pending]:
        for record in records:
            for event in self._events_of(record["dynamodb"]["NewImage"]):
                yield _Pending(_sequence_of(record), event)


def bus_event(event: ChangeEvent) -> BusEvent:
    """The detail is what subscribers are promised; whose it is and which came first stand beside it."""
    tenant = [f"urn:signpost:tenant:{event.tenant}"] if event.tenant is not None else []
    digest = {"digest": event.digest} if event.digest is not None else {}
    return BusEvent(
        source=SOURCE,
        type=event.type,
        detail=json.dumps({"op": event.op, KEY_NAMES[event.type]: event.key, **digest}, ensure_ascii=False),
        resources=(URIS[event.type].format(event.key), f"urn:signpost:seq:{event.sequence}", *tenant),
    )


def _sequence_of(record: Mapping[str, Any]) -> str:
    return record["dynamodb"]["SequenceNumber"]
