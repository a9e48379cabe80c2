"""Reads the record of a workflow instance with its hashes, for the command that verifies it."""

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Row
from signpost.workflow.running import serialization
from signpost.workflow.running.verification import AuditRow, HistoryRow, RunRecord, UnreadableRow

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.adapters.dynamodb.instances import DynamoInstanceStore
    from signpost.workflow.hash_links import HashLink


class DynamoRunRecords:
    def __init__(self, client: "DynamoDBClient", table: str, instances: "DynamoInstanceStore") -> None:
        self._client = client
        self._table = table
        self._instances = instances

    def read_record(self, tenant: str, workflow_id: str) -> RunRecord | None:
        """Return the rows of the history and the audit first: a step that is written meanwhile is in the head only."""
        history = list(self._read(tenant, workflow_id, keys.HISTORY, _read_history_row))
        audit = list(self._read(tenant, workflow_id, keys.AUDIT, _read_audit_row))
        try:
            instance = self._instances.load(tenant, workflow_id)
        except (KeyError, TypeError, ValueError) as fault:
            raise UnreadableRow(keys.HEAD) from fault
        return None if instance is None else RunRecord(tenant, instance, history, audit)

    def _read[Read](
        self, tenant: str, workflow_id: str, prefix: str, read_row: Callable[[Row], Read]
    ) -> Iterator[Read]:
        for row in rows.query(self._client, self._table, keys.workflow(tenant, workflow_id), sk_begins=prefix):
            try:
                yield read_row(row)
            except (KeyError, TypeError, ValueError, IndexError) as fault:
                raise UnreadableRow(row["sk"]["S"]) from fault


def _read_history_row(row: Row) -> HistoryRow:
    text, version = row["text"]["S"], int(row["sk"]["S"].removeprefix(keys.HISTORY))
    serialization.history_of(text)  # raises an error unless the text has the form of a history
    return HistoryRow(version, json.loads(text), _read_link(row))


def _read_audit_row(row: Row) -> AuditRow:
    events = serialization.audit_of(row["text"]["S"], row["correlation"]["S"], row["subject"]["S"])
    if not events:
        raise ValueError("A row of the audit has at least one event.")
    return AuditRow(events, _read_link(row), row["hash"]["S"] if "hash" in row else None)


def _read_link(row: Row) -> "HashLink | None":
    return serialization.link_of(row["link"]["S"]) if "link" in row else None
