"""Wakes the workflows named by the work queue, so that their pending steps go on."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from signpost.content.deliveries import Backoff
from signpost.entrypoints.queue_batch import QueueBatches, QueueRecord, Redelivery
from signpost.model import JsonObject
from signpost.telemetry import RequestRecord, Telemetry
from signpost.workflow.wakes import message_of

if TYPE_CHECKING:
    from signpost.content.ports import DeliveryQueue
    from signpost.ports import Clock
    from signpost.workflow.ports import InstanceWaker

RESERVE = 10.0
"""Seconds reserved to record the outcome of a step."""


class WorkflowWorker:
    def __init__(
        self, *, waker: "InstanceWaker", queue: "DeliveryQueue", backoff: Backoff, clock: "Clock", telemetry: Telemetry
    ) -> None:
        self._waker = waker
        self._batches = QueueBatches("work", telemetry, Redelivery(queue, backoff))
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> JsonObject:
        """Wakes each workflow of a batch. The messages of failed ones become visible again after a delay."""
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        return self._batches.handle(event, request_id, lambda message, record: self._wake(message, record, ends_at))

    def _wake(self, message: QueueRecord, record: RequestRecord, ends_at: float) -> bool:
        record.operation = "wake"
        wake = message_of(message["body"])
        self._telemetry.add_workflow(wake.tenant, wake.workflow_id)
        self._waker.wake(wake.tenant, wake.workflow_id, ends_at)
        return True
