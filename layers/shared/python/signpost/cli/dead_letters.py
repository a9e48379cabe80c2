"""Dead-letter queues, and how their messages are sent again."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from signpost.adapters.sqs import QueueMessage


class DeadLetters(Protocol):
    """A queue in which messages end that could not be processed."""

    def receive(self) -> "Sequence[QueueMessage]":
        """Take out all messages, until they are settled or put back."""
        ...

    def settle(self, message: "QueueMessage") -> None:
        """Delete a message."""
        ...

    def put_back(self, message: "QueueMessage") -> None: ...


def resend(queue: DeadLetters, send: Callable[[str], None], *, dry: bool) -> int:
    """Send every message of the queue again, and return their number. A dry run sends none.

    All messages are taken out before the first one is sent, so that a message that fails again is not sent in an
    endless loop. Messages that could not be sent stay in the queue."""
    messages = queue.receive()
    unsettled = list(messages)
    try:
        for message in () if dry else messages:
            send(message.body)
            queue.settle(message)
            unsettled.remove(message)
    finally:
        for message in unsettled:
            queue.put_back(message)
    return len(messages)
