"""Wakes the workflows named by the work queue, so that their pending steps go on."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from signpost.content.deliveries import Backoff
from signpost.entrypoints.queue_batch import handle_messages, postpone
from signpost.model import JsonObject
from signpost.telemetry import Telemetry
from signpost.workflow.wakes import message_of

if TYPE_CHECKING:
    from signpost.content.ports import DeliveryQueue
    from signpost.ports import Clock
    from signpost.workflow.ports import InstanceWaker

RESERVE = 10.0
"""Seconds reserved to queue_record the outcome of a step."""


class WorkflowWorker:
    def __init__(
        self, *, waker: "InstanceWaker", queue: "DeliveryQueue", backoff: Backoff, clock: "Clock", telemetry: Telemetry
    ) -> None:
        self._waker = waker
        self._queue = queue
        self._backoff = backoff
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> JsonObject:
        """Wakes each workflow of a batch. The messages of failed ones become visible again after a delay."""
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        return handle_messages(event, lambda queue_record: self._handle_message(queue_record, ends_at, request_id))

    def _handle_message(self, queue_record: Mapping[str, Any], ends_at: float, request_id: str) -> bool:
        with self._telemetry.record_request(request_id, "QUEUE", "work") as record:
            record.operation = "wake"
            try:
                message = message_of(queue_record["body"])
                self._telemetry.add_workflow(message.tenant, message.workflow_id)
                self._waker.wake(message.tenant, message.workflow_id, ends_at)
            except Exception as fault:  # noqa: BLE001 - the boundary: the other workflows are independent
                record.set_fault(fault)
                record.set_status(503)
                postpone(self._queue, self._backoff, queue_record)
                return False
            record.set_status(200)
        return True
