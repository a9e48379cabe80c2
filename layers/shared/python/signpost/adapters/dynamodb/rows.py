"""Reads and writes rows, for the adapters of all tables."""

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from botocore.exceptions import ClientError

from signpost.adapters import keys
from signpost.adapters.aws import call, code_of
from signpost.errors import Unavailable
from signpost.model import JsonObject

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Row = Mapping[str, Any]
type Attributes = dict[str, Any]

ATTEMPTS = 8
"""Attempts of a write that others keep in conflict; with the pauses between them they take about a second."""
READ_ATTEMPTS = 4
"""Attempts to read rows that a batch read left out; few, since a caller waits for them."""
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.4

CONFLICT_CODES = frozenset({"TransactionConflict", "TransactionConflictException", "TransactionInProgressException"})
"""Error codes of a conflict with another transaction on the same rows. botocore does not retry these."""
OVERLOAD_CODES = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError"})


def get(client: "DynamoDBClient", table: str, key: keys.RowKey) -> Row | None:
    return call(client.get_item, TableName=table, Key=key, ConsistentRead=True).get("Item")


def query(client: "DynamoDBClient", table: str, pk: str, *, sk_begins: str = "") -> Iterator[Row]:
    """Query the rows of a partition, by sort key."""
    if sk_begins:
        return _query_pages(client, table, "pk = :pk AND begins_with(sk, :sk)", {":pk": pk, ":sk": sk_begins})
    return _query_pages(client, table, "pk = :pk", {":pk": pk})


def query_between(client: "DynamoDBClient", table: str, first: keys.RowKey, last: keys.RowKey) -> Iterator[Row]:
    """Query the rows of one partition from one key to another, both included."""
    bounds = {":pk": first["pk"]["S"], ":first": first["sk"]["S"], ":last": last["sk"]["S"]}
    return _query_pages(client, table, "pk = :pk AND sk BETWEEN :first AND :last", bounds)


def query_page_before(
    client: "DynamoDBClient", table: str, pk: str, before: str, most: int
) -> tuple[Sequence[Row], bool]:
    """Query at most `most` rows of a partition once, from the last sort key backwards, or from `before`, which is not
    included. Return the rows and whether there are no others."""
    condition, values = "pk = :pk", {":pk": {"S": pk}}
    if before:
        condition, values = f"{condition} AND sk < :before", {**values, ":before": {"S": before}}
    page = call(
        client.query,
        TableName=table,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
        ConsistentRead=True,
        ScanIndexForward=False,
        Limit=most,
    )
    return page["Items"], "LastEvaluatedKey" not in page


def query_live(
    client: "DynamoDBClient", table: str, pk: str, attributes: str, *, sk_begins: str, now: float
) -> Iterator[Row]:
    """Query the rows of a partition that have not expired, by sort key, with only these attributes."""
    condition = "pk = :pk AND begins_with(sk, :sk)"
    only: Attributes = {"ProjectionExpression": attributes, "FilterExpression": "expires_at > :now"}
    return _query_pages(client, table, condition, {":pk": pk, ":sk": sk_begins}, only, {":now": number(now)})


def query_attribute(client: "DynamoDBClient", table: str, pk: str, attribute: str) -> Iterator[Row]:
    """Query the rows of a partition, by sort key, with only the sort key and one attribute.

    The other attributes would take time in a list of thousands of rows, though they are the same in all of them.
    """
    only: Attributes = {"ProjectionExpression": "sk, #wanted", "ExpressionAttributeNames": {"#wanted": attribute}}
    return _query_pages(client, table, "pk = :pk", {":pk": pk}, only)


def _query_pages(
    client: "DynamoDBClient",
    table: str,
    condition: str,
    values: Mapping[str, str],
    only: Attributes | None = None,
    more_values: Attributes | None = None,
) -> Iterator[Row]:
    arguments: Attributes = {
        "TableName": table,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {**{name: {"S": value} for name, value in values.items()}, **(more_values or {})},
        "ConsistentRead": True,
        **(only or {}),
    }
    page = call(client.query, **arguments)
    yield from page["Items"]
    while "LastEvaluatedKey" in page:
        page = call(client.query, ExclusiveStartKey=page["LastEvaluatedKey"], **arguments)
        yield from page["Items"]


def get_all(client: "DynamoDBClient", table: str, row_keys: Sequence[keys.RowKey]) -> Sequence[Row]:
    """Read at most a hundred rows and return those that exist. Raises Unavailable if the table leaves some unread."""
    found: list[Row] = []
    unread: Any = {table: {"Keys": row_keys, "ConsistentRead": True}}
    for attempt in range(READ_ATTEMPTS):
        answer = call(client.batch_get_item, RequestItems=unread)
        found.extend(answer["Responses"].get(table, ()))
        unread = answer.get("UnprocessedKeys")
        if not unread:
            return found
        pause(attempt)
    raise Unavailable("An AWS service that this request needs is overloaded.")


def get_each(client: "DynamoDBClient", table: str, row_keys: Sequence[keys.RowKey]) -> Sequence[Row | None]:
    """Read at most a hundred rows, in the order of the keys, with None for each that does not exist."""
    found = {(row["pk"]["S"], row["sk"]["S"]): row for row in get_all(client, table, row_keys)}
    return [found.get((key["pk"]["S"], key["sk"]["S"])) for key in row_keys]


def write_if(write: Callable[..., object], **arguments: Any) -> bool:
    """Write under a condition; False if the condition did not hold."""
    try:
        call(write, **arguments)
    except ClientError as fault:
        if code_of(fault) == "ConditionalCheckFailedException":
            return False
        raise
    return True


def put_if(
    client: "DynamoDBClient", table: str, row: Attributes, condition: str, values: Attributes | None = None
) -> Row | None:
    """Put a row under a condition. Return the row that stands then; None if there is none.

    If the client repeats the write after a lost answer, the condition does not hold because of the first attempt. The
    row that stands is the written one then, so callers compare it with theirs.
    """
    try:
        call(
            client.put_item,
            TableName=table,
            Item=row,
            ConditionExpression=condition,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **({"ExpressionAttributeValues": values} if values else {}),
        )
    except ClientError as fault:
        if code_of(fault) != "ConditionalCheckFailedException":
            raise
        return fault.response.get("Item") or None
    return row


def repeat_write[Answer](write: Callable[..., Answer], **arguments: Any) -> Answer:
    """Write one row, repeating the write on conflicts with transactions. Raises Unavailable if they do not end."""
    for attempt in range(ATTEMPTS):
        try:
            return call(write, **arguments)
        except ClientError as fault:
            if code_of(fault) not in CONFLICT_CODES:
                raise
        pause(attempt)
    raise Unavailable("An AWS service that this request needs is overloaded.")


def build_put(table: str, row: Attributes, condition: Attributes | None = None) -> Any:
    """Build the write of a row for a transaction."""
    return {"Put": {"TableName": table, "Item": row, **(condition or {})}}


def build_delete(table: str, key: keys.RowKey, condition: Attributes | None = None) -> Any:
    """Build the deletion of a row for a transaction."""
    return {"Delete": {"TableName": table, "Key": key, **(condition or {})}}


def transact(client: "DynamoDBClient", writes: Sequence[Any], *, token: str = "") -> bool:
    """Make all of at most a hundred writes, or none; False if a condition did not hold.

    Raises Unavailable if conflicts do not end. All attempts have one token: if an answer was lost, the next attempt
    succeeds without writing again. The same holds for a later call with the same token.
    """
    token = token or uuid4().hex
    for attempt in range(ATTEMPTS):
        try:
            call(client.transact_write_items, TransactItems=writes, ClientRequestToken=token)
        except ClientError as fault:
            reasons = _reasons(fault)
            if "ConditionalCheckFailed" in reasons:
                return False
            if not reasons & (CONFLICT_CODES | OVERLOAD_CODES):
                raise
        else:
            return True
        pause(attempt)
    raise Unavailable("An AWS service that this request needs is overloaded.")


def _reasons(fault: ClientError) -> set[str]:
    """Return the codes of all refused writes; a write that was not refused has the code "None"."""
    cancelled = fault.response.get("CancellationReasons", [])
    return {code_of(fault), *(reason.get("Code", "None") for reason in cancelled)}


def pause(attempt: int) -> None:
    """Wait for a random time that grows with the attempts, so that competing callers wait for different times."""
    longest = min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE)
    time.sleep(random.uniform(longest / 4, longest))  # noqa: S311 - no secret


def schema_attribute() -> Attributes:
    return {"schema": number(keys.SCHEMA)}


def number(value: float) -> Mapping[str, str]:
    return {"N": repr(value)}


def numbers(values: Mapping[str, float | None]) -> Attributes:
    """Build the attributes of the values that are not None."""
    return {name: number(value) for name, value in values.items() if value is not None}


def optional_number(row: Row, name: str) -> float | None:
    return float(row[name]["N"]) if name in row else None


def optional_integer(row: Row, name: str) -> int | None:
    return int(row[name]["N"]) if name in row else None


def text(value: JsonObject | Sequence[str]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_set(values: frozenset[str]) -> Mapping[str, str]:
    return {"S": text(sorted(values))}


def set_of_texts(row: Row, name: str) -> frozenset[str]:
    return frozenset(json.loads(row[name]["S"]))
