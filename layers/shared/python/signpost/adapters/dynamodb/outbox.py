"""The outbox: all changes of a scope by sequence number, with a row for each change or one for a whole change batch.

The content relay puts their events on the bus. A list of a scope's entries reads the changes made during the read here.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from time import time
from typing import TYPE_CHECKING, Any, Protocol

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.content.changes import (
    LOAD_EVENT,
    EntryName,
    events_from,
    is_registration,
    name_of,
    parse_change,
    text_of,
)
from signpost.content.model import Announcement, Change, ChangeEvent
from signpost.records import dataclass

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.directory.model import LoadNotice

RETENTION_SECONDS = 7 * 24 * 3600
"""Seconds for which a row is kept. The stream keeps its record for a day; operators may read the rows for longer."""


class ChangeBatchStore(Protocol):
    """Keeps change batches as objects that never change."""

    def keep(self, tenant: str | None, batch_id: str, body: bytes) -> str:
        """Store a change batch and return the key to read it by."""
        ...

    def read(self, key: str) -> bytes: ...


@dataclass(frozen=True)  # no slots: `by_name` is cached on the instance
class ChangeBatch:
    first: int
    """The sequence number of the first change."""
    changes: Sequence[Change]

    @property
    def last(self) -> int:
        return self.first + len(self.changes) - 1

    @cached_property
    def by_name(self) -> Mapping[EntryName, Change]:
        """The last change of each entry."""
        return {name_of(change): change for change in self.changes}

    def save(self, tenant: str | None, change_batches: ChangeBatchStore) -> str:
        changes = [[*name_of(change), text_of(change)] for change in self.changes]
        body = json.dumps({"schema": keys.SCHEMA, "first": self.first, "changes": changes}).encode()
        return change_batches.keep(tenant, sha256(body).hexdigest(), body)


def read_change_batch(change_batches: ChangeBatchStore, key: str) -> ChangeBatch:
    members = json.loads(change_batches.read(key))
    return ChangeBatch(members["first"], [parse_change(*change) for change in members["changes"]])


def rows_of_changes(tenant: str | None, first: int, changes: Sequence[Change]) -> Iterator[Attributes]:
    """Build the outbox row of each change, also of changes without an event: lists of entries read them here."""
    for sequence, change in enumerate(changes, first):
        (tag, name), text = name_of(change), text_of(change)
        yield {
            **_sequence_attributes(tenant, sequence),
            "type": {"S": tag},
            "op": {"S": "register" if is_registration(change) else "unregister"},
            "key": {"S": name},
            **({"entry": {"S": text}} if text is not None else {}),
        }


def row_of_change_batch(tenant: str | None, batch: ChangeBatch, key: str) -> Attributes:
    """Build the one outbox row of a batch, at its last sequence number: a reader sees all its changes or none."""
    return {
        **_sequence_attributes(tenant, batch.last),
        "publication": {"S": key},
        "first": rows.number(batch.first),
        "last": rows.number(batch.last),
    }


def row_of_load(tenant: str, revision: int, notices: "Sequence[LoadNotice]") -> Attributes:
    """Build the outbox row of one change of the directory, with the callable skills that it loaded or removed."""
    return {
        **keys.outbox_row_of_load(tenant, revision),
        **_expiry_attributes(),
        "type": {"S": LOAD_EVENT.type},
        "sequence": rows.number(revision),
        "told": {"S": json.dumps([[notice.op, notice.name] for notice in notices], ensure_ascii=False)},
    }


def row_of_announcement(tenant: str, sequence: int, announcement: Announcement) -> Attributes:
    """Build the outbox row of a change that a function announces, in the form of a load's."""
    return {
        **keys.outbox_row_of_announcement(tenant, sequence),
        **_expiry_attributes(),
        "type": {"S": announcement.type},
        "sequence": rows.number(sequence),
        "told": {"S": json.dumps([[announcement.op, announcement.key]], ensure_ascii=False)},
    }


def _sequence_attributes(tenant: str | None, sequence: int) -> Attributes:
    return {**keys.outbox_row(tenant, sequence), **_expiry_attributes()}


def _expiry_attributes() -> Attributes:
    return {"expires_at": rows.number(int(time()) + RETENTION_SECONDS), **rows.schema_attribute()}


def change_batch_in(row: Row, read_batch: Callable[[str], ChangeBatch]) -> ChangeBatch:
    """Return the changes of an outbox row; the row of a single change is a batch of one."""
    if "publication" in row:
        return read_batch(row["publication"]["S"])
    text = row["entry"]["S"] if "entry" in row else None
    return ChangeBatch(int(row["sk"]["S"]), [parse_change(row["type"]["S"], row["key"]["S"], text)])


def events_of(row: Mapping[str, Any], change_batches: ChangeBatchStore) -> Sequence[ChangeEvent]:
    """Return the events of an outbox row, as read from the table or from the stream (`NewImage`)."""
    if "told" in row:
        return _events_told_in(row)
    batch = change_batch_in(row, lambda key: read_change_batch(change_batches, key))
    return events_from(keys.owner_of(row["pk"]["S"]), batch.first, batch.changes)


def _events_told_in(row: Row) -> Sequence[ChangeEvent]:
    """Return the events of a load or an announcement, whose rows have them as they are told."""
    tenant, sequence = keys.owner_of(row["pk"]["S"]), int(row["sequence"]["N"])
    return [ChangeEvent(tenant, sequence, row["type"]["S"], op, name) for op, name in json.loads(row["told"]["S"])]


def query_changes(client: "DynamoDBClient", table: str, tenant: str | None, after: int, last: int) -> Iterator[Row]:
    """Query the rows of the changes after one sequence number, up to and including another."""
    if after >= last:
        return
    yield from rows.query_between(client, table, keys.outbox_row(tenant, after + 1), keys.outbox_row(tenant, last))
