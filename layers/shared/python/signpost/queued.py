"""The messages of a queue, as Lambda shows them: each is done with, or shown again."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from signpost.errors import Unavailable
from signpost.model import JsonObject
from signpost.ports import DeliveryQueue
from signpost.registry.deliveries import Backoff

type Message = Mapping[str, Any]


def shown(event: Mapping[str, Any], is_done: Callable[[Message], bool]) -> JsonObject:
    """Names those that are not done: the queue keeps them, and sets them aside in the end."""
    left = [message["messageId"] for message in event["Records"] if not is_done(message)]
    return {"batchItemFailures": [{"itemIdentifier": name} for name in left]}


def put_off(queue: DeliveryQueue, backoff: Backoff, message: Message) -> None:
    """The longer the more often it was shown. A queue that does not hear of it shows it when it would anyway."""
    attempts = int(message["attributes"]["ApproximateReceiveCount"])
    with suppress(Unavailable):
        queue.put_off(message["receiptHandle"], backoff.after(attempts))
