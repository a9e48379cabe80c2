"""The timetables of tenants with schedules: a row for each in the table of workflows, found by the due index."""

from functools import partial
from time import time
from typing import TYPE_CHECKING, Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.due import due_attributes, wake_attributes
from signpost.adapters.dynamodb.rows import Attributes
from signpost.workflow.timetable import Timetable, results_of, results_text
from signpost.workflow.wakes import SCHEDULES, Wake

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoTimetables:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def load(self, tenant: str) -> Timetable | None:
        """Load the row by a query, as instances are: the worker has no other right to read the table."""
        partition = keys.workflow(tenant, SCHEDULES)
        found = rows.query(self._client, self._table, partition, sk_begins=keys.TIMETABLE)
        return next(map(_timetable_in, found), None)

    def save(self, tenant: str, timetable: Timetable, *, replacing: int) -> bool:
        wakes = [Wake(SCHEDULES, timetable.due_at)] if timetable.due_at is not None else []
        row: Attributes = {
            **_key_of(tenant),
            **due_attributes(SCHEDULES, timetable.due_at),
            **wake_attributes(wakes),
            "revision": rows.number(timetable.revision),
            "results": {"S": results_text(timetable.results)},
            **rows.schema_attribute(),
        }
        return rows.write_if(
            partial(rows.repeat_write, self._client.put_item),  # a publication may be writing the row
            TableName=self._table,
            Item=row,
            ConditionExpression="revision = :revision",
            ExpressionAttributeValues={":revision": rows.number(replacing)},
        )


def build_timetable_wake(table: str, tenant: str) -> Any:
    """Build the write, for the transaction of a publication, that makes the row due now and keeps its results."""
    now = time()
    attributes = {
        **due_attributes(SCHEDULES, now),
        **wake_attributes([Wake(SCHEDULES, now)]),
        **rows.schema_attribute(),
    }
    assignments = ", ".join(f"#{name} = :{name}" for name in attributes)
    return {
        "Update": {
            "TableName": table,
            "Key": _key_of(tenant),
            "UpdateExpression": f"SET {assignments} ADD revision :one",
            "ExpressionAttributeNames": {f"#{name}": name for name in attributes},
            "ExpressionAttributeValues": {
                **{f":{name}": value for name, value in attributes.items()},
                ":one": rows.number(1),
            },
        }
    }


def _key_of(tenant: str) -> keys.RowKey:
    return keys.workflow_row(tenant, SCHEDULES, keys.TIMETABLE)


def _timetable_in(row: rows.Row) -> Timetable:
    return Timetable(
        revision=int(row["revision"]["N"]),
        due_at=rows.optional_number(row, "due_at"),
        results=results_of(row["results"]["S"]) if "results" in row else {},
    )
