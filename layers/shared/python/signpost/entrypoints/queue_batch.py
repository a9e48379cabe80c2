"""Handles a batch of queue messages: each is finished or becomes visible again."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from signpost.content.deliveries import Backoff
from signpost.errors import Unavailable
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.telemetry import RequestRecord, Telemetry

if TYPE_CHECKING:
    from signpost.content.ports import DeliveryQueue

type QueueRecord = Mapping[str, Any]
"""A message as Lambda receives it."""
type HandleMessage = Callable[[QueueRecord, RequestRecord], bool]
"""Handles one message. Returns False, or raises an exception, if it is to be handled again."""


@dataclass(frozen=True, slots=True)
class Redelivery:
    """Delays the next attempt of a failed message, longer after each attempt."""

    queue: "DeliveryQueue"
    backoff: Backoff

    def postpone(self, message: QueueRecord) -> None:
        """Delays the message. If the queue cannot be reached, its own visibility timeout applies."""
        attempts = int(message["attributes"]["ApproximateReceiveCount"])
        with suppress(Unavailable):
            self.queue.put_off(message["receiptHandle"], self.backoff.delay_after(attempts))


@dataclass(frozen=True, slots=True)
class QueueBatches:
    """Handles the batches of one queue. Its messages are independent: one that fails does not stop the others."""

    name: str
    """The name of the queue in logs."""
    telemetry: Telemetry
    redelivery: Redelivery | None = None
    """None: the visibility timeout of the queue is the delay."""

    def handle(self, event: Mapping[str, Any], request_id: str, handle_message: HandleMessage) -> JsonObject:
        """Returns the ids of unfinished messages. The queue keeps these, and moves them to its dead-letter queue in the
        end."""
        unfinished = [
            message["messageId"]
            for message in event["Records"]
            if not self._handle_message(message, request_id, handle_message)
        ]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in unfinished]}

    def _handle_message(self, message: QueueRecord, request_id: str, handle_message: HandleMessage) -> bool:
        with self.telemetry.record_request(request_id, "QUEUE", self.name) as record:
            try:
                is_done = handle_message(message, record)
            except Exception as fault:  # noqa: BLE001 - the boundary: the other messages are independent
                record.set_fault(fault)
                is_done = False
            record.set_status(200 if is_done else 503)
            if not is_done and self.redelivery is not None:
                self.redelivery.postpone(message)
        return is_done
