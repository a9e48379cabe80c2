"""Handles a batch of queue messages: each is finished or becomes visible again."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from signpost.content.deliveries import Backoff
from signpost.errors import Unavailable
from signpost.model import JsonObject

if TYPE_CHECKING:
    from signpost.content.ports import DeliveryQueue

type QueueRecord = Mapping[str, Any]


def handle_messages(event: Mapping[str, Any], is_done: Callable[[QueueRecord], bool]) -> JsonObject:
    """Handles each message and returns the ids of unfinished ones. The queue keeps these, and moves them to its
    dead-letter queue in the end."""
    unfinished = [message["messageId"] for message in event["Records"] if not is_done(message)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in unfinished]}


def postpone(queue: "DeliveryQueue", backoff: Backoff, message: QueueRecord) -> None:
    """Delays the next attempt, longer after each one. If the queue cannot be reached, its own visibility timeout
    applies."""
    attempts = int(message["attributes"]["ApproximateReceiveCount"])
    with suppress(Unavailable):
        queue.put_off(message["receiptHandle"], backoff.delay_after(attempts))
