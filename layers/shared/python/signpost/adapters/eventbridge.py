"""The stack's event bus on EventBridge."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from signpost.adapters.aws import call
from signpost.content.model import BusEvent

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef


class EventBridge:
    def __init__(self, client: "Callable[[], EventBridgeClient]", bus: str) -> None:
        self._make_client = client
        self._bus = bus

    @cached_property
    def _client(self) -> "EventBridgeClient":
        return self._make_client()

    def put(self, events: Sequence[BusEvent]) -> Sequence[bool]:
        """Put the events and tell of each whether the bus took it: the call succeeds even if it took none."""
        answer = call(self._client.put_events, Entries=[self._entry_of(event) for event in events])
        return ["EventId" in entry and "ErrorCode" not in entry for entry in answer["Entries"]]

    def _entry_of(self, event: BusEvent) -> "PutEventsRequestEntryTypeDef":
        return {
            "EventBusName": self._bus,
            "Source": event.source,
            "DetailType": event.type,
            "Detail": event.detail,
            "Resources": list(event.resources),
        }
