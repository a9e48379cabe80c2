"""Reads records of the workflows table's stream again that the workflow relay gave up on.

The stream keeps a record for a day.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from signpost.adapters import keys
from signpost.adapters.aws import call, code_of
from signpost.adapters.dynamodb.rows import Row
from signpost.adapters.undelivered_batches import StreamPlace, UndeliveredBatch
from signpost.errors import Unavailable

RECORDS_PER_CALL = 1000
"""Records; the most that a call returns."""
MOST_EMPTY_PAGES = 1000
"""Consecutive answers without a record after which reading stops: an open shard returns empty answers for ever."""
EXPIRED_CODES = frozenset({"ResourceNotFoundException", "TrimmedDataAccessException"})
"""Error codes of records that the stream keeps no more, also if their shard or the stream itself is gone."""


class WorkflowStreamReader:
    def __init__(self, streams: Any, *, records_per_call: int = RECORDS_PER_CALL) -> None:
        """Take a client of `dynamodbstreams`, which the installed stubs of boto3 do not describe."""
        self._streams = streams
        self._records_per_call = records_per_call

    def read_batch(self, batch: UndeliveredBatch) -> Sequence[Row] | None:
        """Return the batch's rows that the workflow relay handles; None if the stream lacks a part of the batch."""
        try:
            return [record["dynamodb"]["NewImage"] for record in self._records_in(batch.place) if is_relayed(record)]
        except ClientError as fault:
            if code_of(fault) in EXPIRED_CODES:
                return None
            raise

    def _records_in(self, place: StreamPlace) -> Iterator[Mapping[str, Any]]:
        for record in self._records_from(place):
            number = int(record["dynamodb"]["SequenceNumber"])
            if number <= place.last:
                yield record
            if number >= place.last:
                return

    def _records_from(self, place: StreamPlace) -> Iterator[Mapping[str, Any]]:
        """Yield the records from the batch's first to the end of the shard, if it is closed."""
        iterator = call(
            self._streams.get_shard_iterator,
            StreamArn=place.stream,
            ShardId=place.shard,
            ShardIteratorType="AT_SEQUENCE_NUMBER",
            SequenceNumber=place.first,
        )["ShardIterator"]
        empty = 0
        while iterator:
            page = call(self._streams.get_records, ShardIterator=iterator, Limit=self._records_per_call)
            yield from page["Records"]
            empty = 0 if page["Records"] else empty + 1
            if empty == MOST_EMPTY_PAGES:
                raise Unavailable(f"The stream returned no record up to {place.last}, the end of an undelivered batch.")
            iterator = page.get("NextShardIterator")


def is_relayed(record: Mapping[str, Any]) -> bool:
    """Tell whether the workflow relay gets the record.

    The stream has every row; this repeats the filter of the relay's event source in the template.
    """
    image = record["dynamodb"].get("NewImage", {})
    return image.get("sk", {}).get("S", "").startswith(keys.AUDIT) or "wake" in image
