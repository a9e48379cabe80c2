"""Wakes the workflows and schedules named by the work queue, so that pending steps go on and due workflows start, and
starts the workflows of triggers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from signpost.content.deliveries import Backoff, Delivery, find_workflow_delivery
from signpost.entrypoints.queue_batch import QueueBatches, QueueRecord, Redelivery
from signpost.model import JsonObject
from signpost.telemetry import RequestRecord, Telemetry
from signpost.workflow.wakes import SCHEDULES, message_of

if TYPE_CHECKING:
    from signpost.content.ports import DeliveryQueue
    from signpost.ports import Clock
    from signpost.workflow.ports import EventStarter, InstanceWaker, ScheduleWaker

RESERVE = 10.0
"""Seconds reserved to record the outcome of a step."""


class WorkflowWorker:
    def __init__(
        self,
        *,
        waker: "InstanceWaker",
        schedules: "ScheduleWaker",
        events: "EventStarter",
        queue: "DeliveryQueue",
        backoff: Backoff,
        clock: "Clock",
        telemetry: Telemetry,
    ) -> None:
        self._waker = waker
        self._schedules = schedules
        self._events = events
        self._batches = QueueBatches("work", telemetry, Redelivery(queue, backoff))
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> JsonObject:
        """Wakes each workflow of a batch. The messages of failed ones become visible again after a delay."""
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        return self._batches.handle(event, request_id, lambda message, record: self._process(message, record, ends_at))

    def _process(self, message: QueueRecord, record: RequestRecord, ends_at: float) -> bool:
        delivery = find_workflow_delivery(message["body"])
        return self._wake(message, record, ends_at) if delivery is None else self._start(delivery, record)

    def _start(self, delivery: Delivery, record: RequestRecord) -> bool:
        record.operation = "start"
        problem = self._events.start_for(delivery)
        if problem is not None:
            self._telemetry.log_delivery_failure(delivery.tenant, delivery.id, delivery.kind, problem)
        return problem is None

    def _wake(self, message: QueueRecord, record: RequestRecord, ends_at: float) -> bool:
        record.operation = "wake"
        wake = message_of(message["body"])
        self._telemetry.add_workflow(wake.tenant, wake.workflow_id)
        if wake.workflow_id == SCHEDULES:
            self._schedules.start_due(wake.tenant)
        else:
            self._waker.wake(wake.tenant, wake.workflow_id, ends_at)
        return True
