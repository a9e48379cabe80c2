"""The queue with the places in their streams that the relay and the herald gave up."""

import json
from collections.abc import Sequence
from datetime import datetime

from signpost.adapters.sqs import Message, SetAside
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a stream."""

    stream: str
    """Its ARN."""
    shard: str
    first: str
    """The sequence number of the first record, as it is written."""
    last: int


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A batch of changes. Lambda says where it was in the stream and when, but not what was in it."""

    message: Message
    function: str
    """The name of the one that gave it up."""
    place: Place
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
        described = json.loads(message.body)
        batch, arn = described["DDBStreamBatchInfo"], described["requestContext"]["functionArn"]
        first, last = (
            datetime.fromisoformat(batch[f"approximateArrivalOf{which}Record"]).timestamp()
            for which in ("First", "Last")
        )
        place = Place(
            batch["streamArn"], batch["shardId"], batch["startSequenceNumber"], int(batch["endSequenceNumber"])
        )
        return GivenUp(message, arn.split(":")[6], place, first, last)
    except (AttributeError, IndexError, KeyError, TypeError) as fault:
        raise ValueError("This is not how Lambda describes a batch of a stream.") from fault
