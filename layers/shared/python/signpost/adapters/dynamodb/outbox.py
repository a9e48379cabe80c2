"""What has changed, in the order of its sequence numbers: a row for each change, or one for a whole publication.

The relay tells the bus what is in them. Who lists a tenant's entries looks here for what changed while they read.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from time import time
from typing import TYPE_CHECKING, Any, Protocol

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.content_rows import (
    Name,
    change_from,
    events_from,
    name_of,
    registers,
    text_of,
)
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.content import Change, ChangeEvent, TriggerType
from signpost.records import dataclass

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.loads import Told

LOAD: TriggerType = "skills::registry"
KEPT_FOR = 7 * 24 * 3600
"""Seconds. The stream forgets after a day; the rest is for whoever wants to know what happened."""


class Publications(Protocol):
    """Where the changes of a publication are."""

    def keep(self, tenant: str | None, publication_id: str, body: bytes) -> str:
        """Answers the key to read it by."""
        ...

    def read(self, key: str) -> bytes: ...


@dataclass(frozen=True)  # no slots: what is worked out once is kept
class Publication:
    first: int
    """The sequence number of the first change."""
    changes: Sequence[Change]

    @property
    def last(self) -> int:
        return self.first + len(self.changes) - 1

    @cached_property
    def by_name(self) -> Mapping[Name, Change]:
        """The last change of each entry."""
        return {name_of(change): change for change in self.changes}

    def save(self, tenant: str | None, publications: Publications) -> str:
        changes = [[*name_of(change), text_of(change)] for change in self.changes]
        body = json.dumps({"schema": keys.SCHEMA, "first": self.first, "changes": changes}).encode()
        return publications.keep(tenant, sha256(body).hexdigest(), body)


def saved_publication(publications: Publications, key: str) -> Publication:
    members = json.loads(publications.read(key))
    return Publication(members["first"], [change_from(*change) for change in members["changes"]])


def rows_of_changes(tenant: str | None, first: int, changes: Sequence[Change]) -> Iterator[Attributes]:
    """Also of changes that nobody is told of: whoever lists entries looks for them here."""
    for sequence, change in enumerate(changes, first):
        (tag, name), text = name_of(change), text_of(change)
        yield {
            **_row(tenant, sequence),
            "type": {"S": tag},
            "op": {"S": "register" if registers(change) else "unregister"},
            "key": {"S": name},
            **({"entry": {"S": text}} if text is not None else {}),
        }


def row_of_publication(tenant: str | None, publication: Publication, key: str) -> Attributes:
    """Behind all its changes: whoever has seen the first of them has seen the last."""
    return {
        **_row(tenant, publication.last),
        "publication": {"S": key},
        "first": rows.number(publication.first),
        "last": rows.number(publication.last),
    }


def row_of_load(tenant: str, revision: int, told: "Sequence[Told]") -> Attributes:
    """What became of callable skills in one change of the directory of functions."""
    return {
        **keys.outbox_row_of_load(tenant, revision),
        **_kept_for_a_while(),
        "type": {"S": LOAD},
        "sequence": rows.number(revision),
        "told": {"S": json.dumps([[one.op, one.name] for one in told], ensure_ascii=False)},
    }


def _row(tenant: str | None, sequence: int) -> Attributes:
    return {**keys.outbox_row(tenant, sequence), **_kept_for_a_while()}


def _kept_for_a_while() -> Attributes:
    return {"expires_at": rows.number(int(time()) + KEPT_FOR), **rows.schema()}


def publication_in(row: Row, saved: Callable[[str], Publication]) -> Publication:
    """What an outbox row stands for; a single change is a short one."""
    if "publication" in row:
        return saved(row["publication"]["S"])
    text = row["entry"]["S"] if "entry" in row else None
    return Publication(int(row["sk"]["S"]), [change_from(row["type"]["S"], row["key"]["S"], text)])


def events_of(row: Mapping[str, Any], publications: Publications) -> Sequence[ChangeEvent]:
    """Those that an outbox row stands for; the row as the table has it and as the stream shows it (`NewImage`)."""
    if "told" in row:
        return _events_of_load(row)
    found = publication_in(row, lambda key: saved_publication(publications, key))
    return events_from(keys.owner_of(row["pk"]["S"]), found.first, found.changes)


def _events_of_load(row: Row) -> Sequence[ChangeEvent]:
    tenant, sequence = keys.owner_of(row["pk"]["S"]), int(row["sequence"]["N"])
    return [ChangeEvent(tenant, sequence, LOAD, op, name) for op, name in json.loads(row["told"]["S"])]


def between(client: "DynamoDBClient", table: str, tenant: str | None, after: int, last: int) -> Iterator[Row]:
    """The rows of changes that came after one, up to another."""
    if after >= last:
        return
    yield from rows.query_between(client, table, keys.outbox_row(tenant, after + 1), keys.outbox_row(tenant, last))
