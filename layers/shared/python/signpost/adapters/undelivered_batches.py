"""The queue of undelivered batches: stream places that the content relay and the workflow relay gave up on."""

import json
from collections.abc import Sequence
from datetime import datetime

from signpost.adapters.sqs import QueueMessage, SqsDeadLetters
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class StreamPlace:
    """A range of records of a stream."""

    stream: str
    """Its ARN."""
    shard: str
    first: str
    """The sequence number of the first record, as Lambda writes it."""
    last: int


@dataclass(frozen=True, slots=True)
class UndeliveredBatch:
    """A batch of stream records that Lambda gave up on: its place in the stream and its times, without the records."""

    message: QueueMessage
    function: str
    """The name of the Lambda function that failed on the batch."""
    place: StreamPlace
    first: float
    """The time at which the first record came into the stream."""
    last: float


class UndeliveredBatches:
    def __init__(self, queue: SqsDeadLetters) -> None:
        self._queue = queue

    def receive(self) -> Sequence[UndeliveredBatch]:
        """Receive all undelivered batches. Raises ValueError for a message that is not of Lambda's form."""
        return [parse_undelivered_batch(message) for message in self._queue.receive()]

    def settle(self, batch: UndeliveredBatch) -> None:
        self._queue.settle(batch.message)

    def put_back(self, batch: UndeliveredBatch) -> None:
        self._queue.put_back(batch.message)


def parse_undelivered_batch(message: QueueMessage) -> UndeliveredBatch:
    """Parse the message that Lambda sends when it gives up on a batch of a stream. Raises ValueError."""
    try:
        described = json.loads(message.body)
        batch, arn = described["DDBStreamBatchInfo"], described["requestContext"]["functionArn"]
        first, last = (
            datetime.fromisoformat(batch[f"approximateArrivalOf{position}Record"]).timestamp()
            for position in ("First", "Last")
        )
        place = StreamPlace(
            batch["streamArn"], batch["shardId"], batch["startSequenceNumber"], int(batch["endSequenceNumber"])
        )
        return UndeliveredBatch(message, arn.split(":")[6], place, first, last)
    except (AttributeError, IndexError, KeyError, TypeError) as fault:
        raise ValueError("The message is not Lambda's description of a failed stream batch.") from fault
