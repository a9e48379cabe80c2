"""From a message in the queue to a trigger's function or a webhook; what fails is tried again later and later."""

from collections.abc import Mapping
from typing import Any

from signpost.contract import Failure, Request
from signpost.errors import Unavailable
from signpost.model import InputRequired, JsonObject
from signpost.policy import webhooks
from signpost.policy.key_ring import KeyRing
from signpost.ports import Clock, DeliveryQueue, Executors, Web
from signpost.queued import put_off, shown
from signpost.registry.deliveries import Backoff, Delivery, body_of, from_text, subscriber
from signpost.telemetry import Telemetry
from signpost.web import NotReached, WebRequest

RESERVE = 2.0
"""Seconds to write down what came of an attempt."""
WEBHOOK_PATIENCE = 10.0
SENDER = "signpost"
READ_AND_FORGOTTEN = 65_536
"""Bytes of a receiver's answer: it may say what it likes, only its status counts."""


class Triggers:
    def __init__(self, *, executors: Executors, clock: Clock) -> None:
        self._executors = executors
        self._clock = clock

    def deliver(self, delivery: Delivery, seconds: float) -> str | None:
        """Why it was not delivered."""
        request = Request(
            function=delivery.target,
            arguments=delivery.payload,
            principal=subscriber(delivery),
            ends_at=self._clock.now() + seconds,
            idempotency_key=delivery.id,
        )
        reply = self._executors.invoke(request)
        if isinstance(reply, InputRequired):
            return "input_required"
        return reply.code if isinstance(reply, Failure) else None


class Webhooks:
    def __init__(self, *, web: Web, keys: KeyRing, clock: Clock) -> None:
        self._web = web
        self._keys = keys
        self._clock = clock

    def deliver(self, delivery: Delivery, seconds: float) -> str | None:
        """Why it was not delivered. A redirect is no success: who posts to an address means that address."""
        body = body_of(delivery)
        request = WebRequest(
            method="POST",
            url=delivery.target,
            seconds=min(seconds, WEBHOOK_PATIENCE),
            headers={"content-type": "application/json", "user-agent": SENDER, **self._signed(delivery, body)},
            body=body,
            most_bytes=READ_AND_FORGOTTEN,
        )
        answer = self._web.send(request)
        if isinstance(answer, NotReached):
            return answer.code
        return None if 200 <= answer.status < 300 else f"status_{answer.status}"

    def _signed(self, delivery: Delivery, body: bytes) -> Mapping[str, str]:
        timestamp = int(self._clock.now())
        keys = [webhooks.signing_key(key, delivery.tenant, delivery.target) for key in self._keys.every]
        return {
            "webhook-id": delivery.id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": webhooks.signatures(keys, delivery.id, timestamp, body),
        }


class DeliveryDoor:
    def __init__(
        self,
        *,
        triggers: Triggers,
        webhooks: Webhooks,
        queue: DeliveryQueue,
        backoff: Backoff,
        clock: Clock,
        telemetry: Telemetry,
    ) -> None:
        self._by_kind = {"trigger": triggers, "webhook": webhooks}
        self._queue = queue
        self._backoff = backoff
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> JsonObject:
        """Those that were not delivered are shown again once it is their time."""
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        return shown(event, lambda message: self._delivered(message, ends_at, request_id))

    def _delivered(self, message: Mapping[str, Any], ends_at: float, request_id: str) -> bool:
        with self._telemetry.request(request_id, "QUEUE", "deliveries") as record:
            try:
                delivery = from_text(message["body"])
                record.operation = delivery.kind
                problem = self._by_kind[delivery.kind].deliver(delivery, ends_at - self._clock.now())
            except Exception as fault:  # noqa: BLE001 - the boundary: the other messages have nothing to do with it
                record.failed(fault)
                problem = "unavailable" if isinstance(fault, Unavailable) else "fault"
            else:
                if problem is not None:
                    self._telemetry.not_delivered(delivery.tenant, delivery.id, delivery.kind, problem)
            record.answered(200 if problem is None else 503)
            if problem is not None:
                put_off(self._queue, self._backoff, message)
        return problem is None
