"""What the herald was shown of the workflows table, read from the stream again, which keeps it for a day."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from signpost.adapters import keys
from signpost.adapters.aws import call, code_of
from signpost.adapters.dynamodb.rows import Row
from signpost.adapters.undelivered import GivenUp, Place
from signpost.errors import Unavailable

AT_ONCE = 1000
"""Records; the most that a call answers."""
MOST_EMPTY = 1000
"""Answers without a record, one after the other; an open shard would go on with them for ever."""
GONE = frozenset({"ResourceNotFoundException", "TrimmedDataAccessException"})
"""What a day has passed of: the records, or with them the shard or the stream."""


class ShownSteps:
    def __init__(self, streams: Any, *, at_once: int = AT_ONCE) -> None:
        """With a client of `dynamodbstreams`, which the stubs of boto3 that we have do not describe."""
        self._streams = streams
        self._at_once = at_once

    def again(self, batch: GivenUp) -> Sequence[Row] | None:
        """The rows that the herald tells of; None if the stream does not have all of the batch any more."""
        try:
            return [record["dynamodb"]["NewImage"] for record in self._between(batch.place) if is_shown(record)]
        except ClientError as fault:
            if code_of(fault) in GONE:
                return None
            raise

    def _between(self, place: Place) -> Iterator[Mapping[str, Any]]:
        for record in self._since(place):
            number = int(record["dynamodb"]["SequenceNumber"])
            if number <= place.last:
                yield record
            if number >= place.last:
                return

    def _since(self, place: Place) -> Iterator[Mapping[str, Any]]:
        """To the end of the shard, if it has one."""
        iterator = call(
            self._streams.get_shard_iterator,
            StreamArn=place.stream,
            ShardId=place.shard,
            ShardIteratorType="AT_SEQUENCE_NUMBER",
            SequenceNumber=place.first,
        )["ShardIterator"]
        empty = 0
        while iterator:
            page = call(self._streams.get_records, ShardIterator=iterator, Limit=self._at_once)
            yield from page["Records"]
            empty = 0 if page["Records"] else empty + 1
            if empty == MOST_EMPTY:
                raise Unavailable(f"The stream shows nothing up to {place.last}, where a batch in the queue ends.")
            iterator = page.get("NextShardIterator")


def is_shown(record: Mapping[str, Any]) -> bool:
    """By the filter of the herald's source in the template: the stream has every row."""
    event, change = record["eventName"], record["dynamodb"]
    if event == "INSERT" and change["Keys"]["sk"]["S"].startswith(keys.AUDIT):
        return True
    return event in ("INSERT", "MODIFY") and "wake" in change.get("NewImage", {})
