"""When an instance is to be looked at, as its row says it: at once, for the stream, and by when, for the index."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.aws import call
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.wakes import Message, Wake, due_shard_of, due_shards, wakes_of, wakes_text

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

INDEX = "due"
"""Of rows that have both attributes, and of no others."""


def due_attributes(workflow_id: str, due_at: float | None) -> Attributes:
    """None for an instance that time does nothing to."""
    if due_at is None:
        return {}
    return {"due_shard": {"S": due_shard_of(workflow_id)}, "due_at": rows.number(due_at)}


def wake_attributes(wakes: Sequence[Wake]) -> Attributes:
    return {"wake": {"S": wakes_text(wakes)}} if wakes else {}


def wakes_in(image: Row) -> Sequence[tuple[str, Wake]]:
    """With the tenant, of a row as the stream shows it."""
    if "wake" not in image:
        return ()
    tenant, _ = keys.instance_of(image["pk"]["S"])
    return [(tenant, wake) for wake in wakes_of(image["wake"]["S"])]


class DynamoDue:
    """The index lags behind the rows: what it shows may be settled by now, and what it does not show yet it will."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def by(self, now: float, most: int) -> Sequence[Message]:
        """Each shard shows its oldest first; the oldest of all are among as many of each."""
        found = [row for shard in due_shards() for row in islice(self._in(shard, now, most), most)]
        found.sort(key=lambda row: float(row["due_at"]["N"]))
        return [Message(*keys.instance_of(row["pk"]["S"])) for row in found[:most]]

    def _in(self, shard: str, now: float, most: int) -> Iterator[Row]:
        arguments: Attributes = {
            "TableName": self._table,
            "IndexName": INDEX,
            "KeyConditionExpression": "due_shard = :shard AND due_at <= :now",
            "ExpressionAttributeValues": {":shard": {"S": shard}, ":now": rows.number(now)},
            "Limit": most,
        }
        page = call(self._client.query, **arguments)
        yield from page["Items"]
        while "LastEvaluatedKey" in page:
            page = call(self._client.query, ExclusiveStartKey=page["LastEvaluatedKey"], **arguments)
            yield from page["Items"]
