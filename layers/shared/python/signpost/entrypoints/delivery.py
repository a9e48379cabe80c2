"""Delivers queued messages to trigger functions and webhooks, and retries failed deliveries with growing delays."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from signpost.content.deliveries import Backoff, Delivery, body_of, from_text, principal_of
from signpost.contract import CallClient, CallRequest, Failure
from signpost.entrypoints.queue_batch import QueueBatches, QueueRecord, Redelivery
from signpost.model import InputRequired, JsonObject
from signpost.signing import webhook_signatures as webhooks
from signpost.signing.key_ring import KeyRing
from signpost.telemetry import RequestRecord, Telemetry
from signpost.web import WebFailure, WebRequest

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionInvoker
    from signpost.content.ports import DeliveryQueue
    from signpost.ports import Clock, Web

RESERVE = 2.0
"""Seconds reserved to record the outcome of an attempt."""
WEBHOOK_TIMEOUT = 10.0
SENDER = "signpost"
MOST_ANSWER_BYTES = 65_536
"""Bytes of a receiver's answer. Its contents are ignored; only its status counts."""


class TriggerSender:
    def __init__(self, *, executors: "FunctionInvoker", clock: "Clock") -> None:
        self._executors = executors
        self._clock = clock

    def deliver(self, delivery: Delivery, seconds: float) -> str | None:
        """Calls the trigger's function. Returns the reason if the delivery failed."""
        if delivery.timeout_ms is not None:
            seconds = min(seconds, delivery.timeout_ms / 1000)
        request = CallRequest(
            function=delivery.target,
            arguments=delivery.arguments,
            principal=principal_of(delivery),
            ends_at=self._clock.now() + seconds,
            idempotency_key=delivery.id,
            client=CallClient(thread=delivery.id),
        )
        reply = self._executors.invoke(request)
        if isinstance(reply, InputRequired):
            return "input_required"
        return reply.code if isinstance(reply, Failure) else None


class WebhookSender:
    def __init__(self, *, web: "Web", keys: KeyRing, clock: "Clock") -> None:
        self._web = web
        self._keys = keys
        self._clock = clock

    def deliver(self, delivery: Delivery, seconds: float) -> str | None:
        """Posts the delivery. Returns the reason if it failed. A redirect counts as a failure: the subscriber named
        exactly this address."""
        body = body_of(delivery)
        request = WebRequest(
            method="POST",
            url=delivery.target,
            seconds=min(seconds, WEBHOOK_TIMEOUT),
            headers={
                "content-type": "application/json",
                "user-agent": SENDER,
                **self._signature_headers(delivery, body),
            },
            body=body,
            most_bytes=MOST_ANSWER_BYTES,
        )
        answer = self._web.send(request)
        if isinstance(answer, WebFailure):
            return answer.code
        return None if 200 <= answer.status < 300 else f"status_{answer.status}"

    def _signature_headers(self, delivery: Delivery, body: bytes) -> Mapping[str, str]:
        timestamp = int(self._clock.now())
        keys = [webhooks.derive_signing_key(key, delivery.tenant, delivery.target) for key in self._keys.all_keys]
        return {
            "webhook-id": delivery.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": webhooks.sign_message(keys, delivery.id, timestamp, body),
        }


class DeliveryHandler:
    def __init__(
        self,
        *,
        triggers: TriggerSender,
        webhooks: WebhookSender,
        queue: "DeliveryQueue",
        backoff: Backoff,
        clock: "Clock",
        telemetry: Telemetry,
    ) -> None:
        self._by_kind: Mapping[str, TriggerSender | WebhookSender] = {"trigger": triggers, "webhook": webhooks}
        self._batches = QueueBatches("deliveries", telemetry, Redelivery(queue, backoff))
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> JsonObject:
        """Delivers each message of a batch. A failed one becomes visible again after its delay."""
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        return self._batches.handle(event, request_id, lambda message, record: self._deliver(message, record, ends_at))

    def _deliver(self, message: QueueRecord, record: RequestRecord, ends_at: float) -> bool:
        delivery = from_text(message["body"])
        record.operation = delivery.kind
        problem = self._by_kind[delivery.kind].deliver(delivery, ends_at - self._clock.now())
        if problem is not None:
            self._telemetry.log_delivery_failure(delivery.tenant, delivery.id, delivery.kind, problem)
        return problem is None
