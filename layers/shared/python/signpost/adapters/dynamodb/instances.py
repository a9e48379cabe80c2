"""Instances of workflows: a partition each, in which one query reads what decides and another what has happened.

The row that decides is conditioned on by every step. What came before it is in rows that are never changed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from signpost.adapters import keys
from signpost.adapters.aws import call
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.ports import Texts
from signpost.workflow import story
from signpost.workflow.instance import AuditEvent, Entry, EvidenceItem, Hop, Instance, Waiting

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LONGEST_IN_A_ROW = 32_000
"""Characters of context or input. What is longer is an object of the bucket, so that the row stays cheap to read."""


class DynamoInstances:
    def __init__(self, client: "DynamoDBClient", table: str, values: Texts) -> None:
        self._client = client
        self._table = table
        self._values = values

    def load(self, tenant: str, workflow_id: str) -> Instance | None:
        found = rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=keys.NOW)
        by_name = {row["sk"]["S"]: row for row in found}
        if keys.HEAD not in by_name:
            return None
        context, given = (self._value(tenant, by_name[name]) for name in (keys.CONTEXT, keys.INPUT))
        return story.instance_of(workflow_id, by_name[keys.HEAD]["text"]["S"], context, given)

    def save(self, tenant: str, entry: Entry, *, replacing: int | None) -> bool:
        instance = entry.instance
        head: Attributes = {
            **keys.workflow_row(tenant, instance.id, keys.HEAD),
            "version": rows.number(instance.version),
            "text": {"S": story.head_text(instance)},
            **rows.schema(),
        }
        written = [
            self._put(head, _stands_at(replacing)),
            self._put(self._long(tenant, instance.id, keys.CONTEXT, story.text_of(instance.context))),
            self._put(self._history(tenant, entry)),
            *(self._put(row) for row in self._audit(tenant, instance.id, entry.events)),
        ]
        if (waiting := story.open_request(instance)) is not None:
            row = {**keys.waiting(tenant, waiting.request.id), "text": {"S": story.waiting_text(waiting)}}
            written.append(self._put({**row, **rows.schema()}))
        if entry.closed is not None:
            written.append({"Delete": {"TableName": self._table, "Key": keys.waiting(tenant, entry.closed)}})
        if replacing is None:
            written.append(self._put(self._long(tenant, instance.id, keys.INPUT, story.text_of(instance.input))))
        return rows.transact(self._client, written)

    def note(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> None:
        for row in self._audit(tenant, workflow_id, events):
            call(self._client.put_item, TableName=self._table, Item=row)

    def waiting(self, tenant: str) -> Sequence[Waiting]:
        found = rows.query(self._client, self._table, keys.waiting_of(tenant))
        waiting = [story.waiting_of(row["text"]["S"]) for row in found]
        return sorted(waiting, key=lambda one: one.request.asked_at)

    def history(self, tenant: str, workflow_id: str) -> Sequence[tuple[Sequence[Hop], Sequence[EvidenceItem]]]:
        found = rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=keys.HISTORY)
        return [story.history_of(row["text"]["S"]) for row in found]

    def audit(self, tenant: str, workflow_id: str) -> Sequence[AuditEvent]:
        found = rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=keys.AUDIT)
        return [
            event
            for row in found
            for event in story.audit_of(row["text"]["S"], row["correlation"]["S"], row["subject"]["S"])
        ]

    def _history(self, tenant: str, entry: Entry) -> Attributes:
        return {
            **keys.workflow_row(tenant, entry.instance.id, keys.history(entry.instance.version)),
            "text": {"S": story.history_text(entry)},
            **rows.schema(),
        }

    def _audit(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> Sequence[Attributes]:
        """One row for a call: its events share who and when."""
        if not events:
            return ()
        first = events[0]
        return (
            {
                **keys.workflow_row(tenant, workflow_id, keys.audit(first.at, first.correlation_id)),
                "correlation": {"S": first.correlation_id},
                "subject": {"S": first.subject},
                "text": {"S": story.audit_text(events)},
                **rows.schema(),
            },
        )

    def _long(self, tenant: str, workflow_id: str, name: str, text: str) -> Attributes:
        value: Attributes = {"text": {"S": text}}
        if len(text) > LONGEST_IN_A_ROW:
            value = {"kept": {"S": self._values.keep(tenant, text)}}
        return {**keys.workflow_row(tenant, workflow_id, name), **value, **rows.schema()}

    def _value(self, tenant: str, row: Row) -> str:
        return row["text"]["S"] if "text" in row else self._values.read(tenant, row["kept"]["S"])

    def _put(self, row: Attributes, condition: Attributes | None = None) -> Any:
        return {"Put": {"TableName": self._table, "Item": row, **(condition or {})}}


def _stands_at(version: int | None) -> Attributes:
    if version is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "version = :version",
        "ExpressionAttributeValues": {":version": rows.number(version)},
    }
