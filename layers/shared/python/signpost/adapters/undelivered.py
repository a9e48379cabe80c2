"""The queue with the places in the stream that the relay gave up."""

import json
from collections.abc import Sequence
from datetime import datetime

from signpost.adapters.sqs import Message, SetAside
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A batch of changes. Lambda says where it was in the stream and when, but not what was in it."""

    message: Message
    first: float
    """When the first of them came into the stream."""
    last: float


class UndeliveredChanges:
    def __init__(self, queue: SetAside) -> None:
        self._queue = queue

    def received(self) -> Sequence[GivenUp]:
        """All there are. Raises ValueError for a message that is not of Lambda's form."""
        return [given_up(message) for message in self._queue.received()]

    def settle(self, batch: GivenUp) -> None:
        self._queue.settle(batch.message)

    def put_back(self, batch: GivenUp) -> None:
        self._queue.put_back(batch.message)


def given_up(message: Message) -> GivenUp:
    """From what Lambda writes when it gives up a batch of a stream. Raises ValueError."""
    try:
        batch = json.loads(message.body)["DDBStreamBatchInfo"]
        first, last = (batch[f"approximateArrivalOf{which}Record"] for which in ("First", "Last"))
        return GivenUp(message, datetime.fromisoformat(first).timestamp(), datetime.fromisoformat(last).timestamp())
    except (KeyError, TypeError) as fault:
        raise ValueError("This is not how Lambda describes a batch of a stream.") from fault
