"""Queues in which failures end, and what is in them sent once more."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from signpost.adapters.sqs import Message


class GivenUp(Protocol):
    def received(self) -> "Sequence[Message]": ...

    def settle(self, message: "Message") -> None: ...

    def put_back(self, message: "Message") -> None: ...


def sent_again(queue: GivenUp, send: Callable[[str], None], *, dry: bool) -> int:
    """How many. All of them are taken out before the first is sent: one that fails again is not sent for ever. What
    could not be sent stays where it was."""
    messages = queue.received()
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
