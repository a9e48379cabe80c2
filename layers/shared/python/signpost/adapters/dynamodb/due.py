"""The attributes of a row by which the worker is called to continue an instance, or to look at schedules: `wake` for
the stream, `due_at` for the due index."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.aws import call
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.workflow.wakes import Wake, WakeMessage, due_shard_of, due_shards, wakes_of, wakes_text

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

DUE_INDEX = "due"
"""The index of the rows that have both `due_shard` and `due_at`."""
DUE_ATTRIBUTES = ("due_shard", "due_at")


def due_attributes(workflow_id: str, due_at: float | None) -> Attributes:
    """Return the attributes of the due index; none for an instance that waits for no time."""
    if due_at is None:
        return {}
    return {"due_shard": {"S": due_shard_of(workflow_id)}, "due_at": rows.number(due_at)}


def wake_attributes(wakes: Sequence[Wake]) -> Attributes:
    return {"wake": {"S": wakes_text(wakes)}} if wakes else {}


def wakes_in(image: Row) -> Sequence[tuple[str, Wake]]:
    """Return the wakes of a stream image, each with the tenant."""
    if "wake" not in image:
        return ()
    tenant, _ = keys.instance_of(image["pk"]["S"])
    return [(tenant, wake) for wake in wakes_of(image["wake"]["S"])]


class DynamoDue:
    """Finds due instances by the due index, which lags behind the rows.

    An instance that it returns may be settled by now; an instance that it omits appears in a later query.
    """

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def find_due(self, now: float, most: int) -> Sequence[WakeMessage]:
        """Return the oldest due instances, at most `most`. They are among the `most` oldest of each shard."""
        due_rows = [row for shard in due_shards() for row in islice(self._query_shard(shard, now, most), most)]
        due_rows.sort(key=lambda row: float(row["due_at"]["N"]))
        return [WakeMessage(*keys.instance_of(row["pk"]["S"])) for row in due_rows[:most]]

    def _query_shard(self, shard: str, now: float, most: int) -> Iterator[Row]:
        arguments: Attributes = {
            "TableName": self._table,
            "IndexName": DUE_INDEX,
            "KeyConditionExpression": "due_shard = :shard AND due_at <= :now",
            "ExpressionAttributeValues": {":shard": {"S": shard}, ":now": rows.number(now)},
            "Limit": most,
        }
        page = call(self._client.query, **arguments)
        yield from page["Items"]
        while "LastEvaluatedKey" in page:
            page = call(self._client.query, ExclusiveStartKey=page["LastEvaluatedKey"], **arguments)
            yield from page["Items"]
