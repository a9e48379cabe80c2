"""From the queue of what is to be looked at again to the workflow: whatever is to go on there goes on."""

from collections.abc import Mapping
from typing import Any

from signpost.model import JsonObject
from signpost.ports import Clock, DeliveryQueue, Wakeful
from signpost.queued import put_off, shown
from signpost.registry.deliveries import Backoff
from signpost.telemetry import Telemetry
from signpost.wakes import message_of

RESERVE = 10.0
"""Seconds to write down what came of a step."""


class Worker:
    def __init__(
        self, *, wakeful: Wakeful, queue: DeliveryQueue, backoff: Backoff, clock: Clock, telemetry: Telemetry
    ) -> None:
        self._wakeful = wakeful
        self._queue = queue
        self._backoff = backoff
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> JsonObject:
        """Those of which nothing came are shown again after a while."""
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        return shown(event, lambda record: self._looked_at(record, ends_at, request_id))

    def _looked_at(self, record: Mapping[str, Any], ends_at: float, request_id: str) -> bool:
        with self._telemetry.request(request_id, "QUEUE", "work") as about:
            about.operation = "wake"
            try:
                message = message_of(record["body"])
                self._telemetry.woken(message.tenant, message.workflow_id)
                self._wakeful.wake(message.tenant, message.workflow_id, ends_at)
            except Exception as fault:  # noqa: BLE001 - the boundary: the other workflows have nothing to do with it
                about.failed(fault)
                about.answered(503)
                put_off(self._queue, self._backoff, record)
                return False
            about.answered(200)
        return True
