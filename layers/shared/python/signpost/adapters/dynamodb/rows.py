"""Reading and writing rows: what all the tables' adapters do alike."""

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
"""What goes on being in the way of others is given up: with the pauses between, after a second or so."""
READS = 4
"""As often a table is asked for the rows that it did not get to; somebody waits for them."""
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.4

SAME_AGAIN = frozenset({"TransactionConflict", "TransactionConflictException", "TransactionInProgressException"})
"""Another transaction was writing the same rows. botocore leaves it to us to repeat."""
OVERLOADED = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError"})


def get(client: "DynamoDBClient", table: str, key: keys.Key) -> Row | None:
    return call(client.get_item, TableName=table, Key=key, ConsistentRead=True).get("Item")


def query(client: "DynamoDBClient", table: str, pk: str, *, sk_begins: str = "") -> Iterator[Row]:
    """The rows of a partition, by sort key."""
    if sk_begins:
        return _matching(client, table, "pk = :pk AND begins_with(sk, :sk)", {":pk": pk, ":sk": sk_begins})
    return _matching(client, table, "pk = :pk", {":pk": pk})


def query_between(client: "DynamoDBClient", table: str, first: keys.Key, last: keys.Key) -> Iterator[Row]:
    """Those of one partition from one key to another, both included."""
    bounds = {":pk": first["pk"]["S"], ":first": first["sk"]["S"], ":last": last["sk"]["S"]}
    return _matching(client, table, "pk = :pk AND sk BETWEEN :first AND :last", bounds)


def query_for(client: "DynamoDBClient", table: str, pk: str, attribute: str) -> Iterator[Row]:
    """The rows of a partition, by sort key, with nothing but that and the attribute: what is the same in all of
    thousands of rows takes as long to be read as what is not."""
    only: Attributes = {"ProjectionExpression": "sk, #wanted", "ExpressionAttributeNames": {"#wanted": attribute}}
    return _matching(client, table, "pk = :pk", {":pk": pk}, only)


def _matching(
    client: "DynamoDBClient", table: str, condition: str, values: Mapping[str, str], only: Attributes | None = None
) -> Iterator[Row]:
    arguments: Attributes = {
        "TableName": table,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {name: {"S": value} for name, value in values.items()},
        "ConsistentRead": True,
        **(only or {}),
    }
    page = call(client.query, **arguments)
    yield from page["Items"]
    while "LastEvaluatedKey" in page:
        page = call(client.query, ExclusiveStartKey=page["LastEvaluatedKey"], **arguments)
        yield from page["Items"]


def get_all(client: "DynamoDBClient", table: str, wanted: Sequence[keys.Key]) -> Sequence[Row]:
    """Those rows of a hundred at most that exist, in one call. Raises Unavailable if the table does not get to all."""
    found: list[Row] = []
    unread: Any = {table: {"Keys": wanted, "ConsistentRead": True}}
    for attempt in range(READS):
        answer = call(client.batch_get_item, RequestItems=unread)
        found.extend(answer["Responses"].get(table, ()))
        unread = answer.get("UnprocessedKeys")
        if not unread:
            return found
        pause(attempt)
    raise Unavailable("A service that this needs is overloaded.")


def get_each(client: "DynamoDBClient", table: str, wanted: Sequence[keys.Key]) -> Sequence[Row | None]:
    """The same in the order of the keys, with None for those that do not exist."""
    found = {(row["pk"]["S"], row["sk"]["S"]): row for row in get_all(client, table, wanted)}
    return [found.get((key["pk"]["S"], key["sk"]["S"])) for key in wanted]


def succeeds(write: Callable[..., object], **arguments: Any) -> bool:
    """False if the write's condition did not hold."""
    try:
        call(write, **arguments)
    except ClientError as fault:
        if code_of(fault) == "ConditionalCheckFailedException":
            return False
        raise
    return True


def repeated(write: Callable[..., object], **arguments: Any) -> None:
    """A write of one row, for as long as transactions are in its way. Raises Unavailable if they are all the time."""
    for attempt in range(ATTEMPTS):
        try:
            call(write, **arguments)
        except ClientError as fault:
            if code_of(fault) not in SAME_AGAIN:
                raise
        else:
            return
        pause(attempt)
    raise Unavailable("A service that this needs is overloaded.")


def transact(client: "DynamoDBClient", writes: Sequence[Any], *, token: str = "") -> bool:
    """All of at most a hundred writes, or none: False if a condition did not hold. Raises Unavailable if others were
    in the way all the time. The attempts have one token: if an answer was lost, the next one says that it is done; so
    it does to whoever comes again with the same."""
    token = token or uuid4().hex
    for attempt in range(ATTEMPTS):
        try:
            call(client.transact_write_items, TransactItems=writes, ClientRequestToken=token)
        except ClientError as fault:
            reasons = _reasons(fault)
            if "ConditionalCheckFailed" in reasons:
                return False
            if not reasons & (SAME_AGAIN | OVERLOADED):
                raise
        else:
            return True
        pause(attempt)
    raise Unavailable("A service that this needs is overloaded.")


def _reasons(fault: ClientError) -> set[str]:
    """Why each of the writes was refused; the others say None."""
    cancelled = fault.response.get("CancellationReasons", [])
    return {code_of(fault), *(reason.get("Code", "None") for reason in cancelled)}


def pause(attempt: int) -> None:
    """Longer each time, and never as long as that of those who wait for the same."""
    longest = min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE)
    time.sleep(random.uniform(longest / 4, longest))  # noqa: S311 - no secret


def schema() -> Attributes:
    return {"schema": number(keys.SCHEMA)}


def number(value: float) -> Mapping[str, str]:
    return {"N": repr(value)}


def numbers(values: Mapping[str, float | None]) -> Attributes:
    """Attributes for those that there are."""
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
