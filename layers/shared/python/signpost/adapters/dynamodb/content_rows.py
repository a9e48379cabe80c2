"""The rows of skill documents, prompts and subscriptions, and the sizes of the rows that changes write."""

from collections.abc import Sequence
from typing import Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.content.changes import EntryKind, kind_of, name_of, text_of
from signpost.content.model import Change, ScopeNames

ENTRY = "entry"
"""The name of the attribute that holds an entry."""


def partition_of(kind: EntryKind[Any, Any], tenant: str | None, scopes: ScopeNames) -> str:
    return keys.entries_of(tenant, kind.partition(scopes))


def key_of(tenant: str | None, scopes: ScopeNames, change: Change) -> keys.RowKey | None:
    """Return the key of the row that the change writes; None if it writes none."""
    kind = kind_of(change)
    if not isinstance(kind, EntryKind):
        return None
    return keys.entry(partition_of(kind, tenant, scopes), kind.name_of(change))


def row_of(key: keys.RowKey, text: str) -> Attributes:
    return {**key, ENTRY: {"S": text}, **rows.schema_attribute()}


def entry_in[Entry](kind: EntryKind[Any, Entry], row: Row) -> Entry:
    return kind.read(row["sk"]["S"], row[ENTRY]["S"])


def size_of(change: Change) -> int:
    """Estimate the bytes of the change's row."""
    return len((text_of(change) or "").encode()) + len(name_of(change)[1])


def count_fitting(changes: Sequence[Change], most: int, most_bytes: int) -> int:
    """Count the changes, from the first, that fit into one transaction; at least one."""
    total = 0
    for count, change in enumerate(changes[:most]):
        total += size_of(change)
        if total > most_bytes and count:
            return count
    return min(most, len(changes))
