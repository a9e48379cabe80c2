"""The store of skill documents, prompts and subscriptions: a row for each, and one head row for each scope.

The head orders all changes of a scope. A writer reads the head before any other row and writes under the condition
that the head is still the same; so its decisions about the other rows still hold.

Changes that do not fit into one transaction are committed by one transaction all the same: it names an object with all
of them, the scope's *overlay*, in the head, and readers consult the overlay first. Then the writer writes the rows in
further transactions, each of which advances a mark in the head. So a delayed writer cannot undo later changes, and the
next writer continues the work of one that died. The transaction with the last rows removes the overlay; until then no
writer can change anything else in the scope.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import batched
from time import time
from typing import TYPE_CHECKING, Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import outbox, rows
from signpost.adapters.dynamodb.content_head import ContentHead, head_in, head_row, unchanged_condition
from signpost.adapters.dynamodb.content_rows import (
    ENTRY,
    count_fitting,
    entry_in,
    key_of,
    partition_of,
    row_of,
    size_of,
)
from signpost.adapters.dynamodb.outbox import ChangeBatch, ChangeBatchStore, read_change_batch
from signpost.adapters.dynamodb.rows import Row
from signpost.adapters.dynamodb.runtime_settings import settings_in
from signpost.adapters.dynamodb.scopes import row_of_scope
from signpost.content.changes import (
    PROMPTS,
    SKILLS,
    SUBSCRIPTIONS,
    EntryKind,
    EntryName,
    has_row,
    is_registration,
    name_of,
    text_of,
)
from signpost.content.model import (
    Announcement,
    CatalogueChange,
    Change,
    Layers,
    Overtaken,
    ScopeNames,
    Skill,
    StoredPrompt,
    Subscription,
)
from signpost.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CHANGES_AT_ONCE, BYTES_AT_ONCE = 30, 500_000
"""Changes and bytes committed by one transaction. Each change takes two of its hundred rows, and twice its bytes."""
ROWS_AT_ONCE, ROW_BYTES_AT_ONCE = 99, 1_000_000
"""Rows and bytes of one transaction that finishes an overlay.

The bytes stay far below the limit of four megabytes, since not every engine counts the bytes of a letter alike.
"""
KEYS_AT_ONCE = 100
LONGEST_NAME, LARGEST_ENTRY = 1024, 390_000
"""Bytes that fit into a row. A change batch with a row that can never be written would block the whole scope."""
RECENT_SECONDS = 60
"""Seconds for which a finished overlay counts as recent: more than the read of a few rows and clock skew take."""
OVERLAYS_REMEMBERED = 4


class DynamoContentStore:
    def __init__(
        self,
        client: "DynamoDBClient",
        table: str,
        change_batches: ChangeBatchStore,
        scopes: ScopeNames,
        workflows_table: str | None = None,
    ) -> None:
        """`workflows_table` has the timetables of schedules. Only a store through which schedules are published needs
        it."""
        self._client = client
        self._workflows_table = workflows_table
        self._table = table
        self._scopes = scopes
        self._change_batches = change_batches

        @lru_cache(OVERLAYS_REMEMBERED)
        def read_batch(key: str) -> ChangeBatch:
            return read_change_batch(change_batches, key)

        self._read_change_batch = read_batch

    def catalogue(self, tenant: str) -> str | None:
        return self._read_head(tenant).catalogue

    def skill(self, tenant: str, skill_id: str) -> Layers[Skill]:
        return self._read_layers(SKILLS, tenant, skill_id)

    def prompt(self, tenant: str, name: str) -> Layers[StoredPrompt]:
        return self._read_layers(PROMPTS, tenant, name)

    def skills(self, tenant: str | None) -> Sequence[Skill]:
        return self._read_all(SKILLS, tenant)

    def prompts(self, tenant: str | None) -> Sequence[StoredPrompt]:
        return self._read_all(PROMPTS, tenant)

    def subscriptions(self, tenant: str | None) -> Sequence[Subscription]:
        return self._read_all(SUBSCRIPTIONS, tenant)

    def apply(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[int | None]:
        """Apply the changes in order and return their sequence numbers. Raises ValueError if one fits into no row."""
        for change in changes:
            _check_size(change)
        for attempt in range(rows.ATTEMPTS):
            head = self._finish_overlay(tenant, self._read_head(tenant))
            if not _is_based_on(changes, head.catalogue):
                raise Overtaken
            effective, sequences = _decide_changes(changes, self._find_existing(tenant, changes), head.version)
            if not effective or self._commit(tenant, head, effective):
                return sequences
            rows.pause(attempt)
        raise Unavailable("Other requests kept changing the content at the same time.")

    def announce(self, tenant: str, announcement: Announcement) -> int:
        for attempt in range(rows.ATTEMPTS):
            head = self._finish_overlay(tenant, self._read_head(tenant))
            after = replace(head, version=head.version + 1)
            row = rows.build_put(self._table, outbox.row_of_announcement(tenant, after.version, announcement))
            if self._move_head(tenant, head, after, [row]):
                return after.version
            rows.pause(attempt)
        raise Unavailable("Other requests kept changing the content at the same time.")

    def complete(self, tenant: str | None) -> None:
        """Write the remaining rows of an overlay whose writer died. Any change of the scope does so, too."""
        self._finish_overlay(tenant, self._read_head(tenant))

    def _find_existing(self, tenant: str | None, changes: Sequence[Change]) -> set[EntryName]:
        """Return the names of the entries that exist, of those that the changes unregister.

        Entries without a row count as existing: the catalogue lists them, and `apply` has checked that it is current.
        """
        removals = [change for change in changes if not is_registration(change)]
        keys_by_name = {
            name_of(removal): key for removal in removals if (key := key_of(tenant, self._scopes, removal)) is not None
        }
        existing = {name_of(removal) for removal in removals if not has_row(removal)}
        for batch in batched(keys_by_name.items(), KEYS_AT_ONCE, strict=False):
            found = rows.get_each(self._client, self._table, [key for _, key in batch])
            existing.update(name for (name, _), row in zip(batch, found, strict=True) if row is not None)
        return existing

    def _commit(self, tenant: str | None, head: ContentHead, effective: Sequence[Change]) -> bool:
        """Commit the changes; False if another writer changed the scope since the head was read."""
        changed = replace(head, version=head.version + len(effective))
        for change in effective:
            if isinstance(change, CatalogueChange):
                changed = replace(changed, catalogue=change.after, policies=change.policies)
        if count_fitting(effective, CHANGES_AT_ONCE, BYTES_AT_ONCE) == len(effective):
            events = [
                rows.build_put(self._table, row) for row in outbox.rows_of_changes(tenant, head.version + 1, effective)
            ]
            writes = [*self._entry_writes(tenant, effective), *events, *self._schedule_wakes(tenant, effective)]
            return self._move_head(tenant, head, changed, writes)
        batch = ChangeBatch(head.version + 1, effective)
        key = batch.save(tenant, self._change_batches)
        overlaid = replace(changed, overlay=key, written=0)
        row = rows.build_put(self._table, outbox.row_of_change_batch(tenant, batch, key))
        if not self._move_head(tenant, head, overlaid, [row, *self._schedule_wakes(tenant, effective)]):
            return False
        with suppress(Unavailable):  # the changes are committed and visible; the next writer writes the rows
            self._finish_overlay(tenant, overlaid)
        return True

    def _schedule_wakes(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[Any]:
        """Build the write that wakes the schedules of the tenant, if a change has other schedules."""
        if tenant is None or not any(
            isinstance(change, CatalogueChange) and change.wakes_schedules for change in changes
        ):
            return ()
        # Imported on first use: only publications of schedules need it.
        from signpost.adapters.dynamodb.timetables import build_timetable_wake  # noqa: PLC0415

        if self._workflows_table is None:
            raise ValueError("A content store without the table of workflows cannot publish schedules.")
        return [build_timetable_wake(self._workflows_table, tenant)]

    def _finish_overlay(self, tenant: str | None, head: ContentHead) -> ContentHead:
        """Write the rows of overlays until the scope has none, and return its head.

        Several writers may do so at once: the head's condition lets one transaction succeed at a time.
        """
        while head.overlay is not None:
            remaining = self._read_change_batch(head.overlay).changes[head.written :]
            entries = [change for change in remaining if has_row(change)]
            if count_fitting(entries, ROWS_AT_ONCE, ROW_BYTES_AT_ONCE) == len(entries):
                batch = remaining  # a change without a row takes no room
            else:
                batch = remaining[: count_fitting(remaining, ROWS_AT_ONCE, ROW_BYTES_AT_ONCE)]
            after = replace(head, written=head.written + len(batch))
            if len(batch) == len(remaining):
                after = ContentHead(head.version, settled_at=time(), catalogue=head.catalogue, policies=head.policies)
            moved = self._move_head(tenant, head, after, self._entry_writes(tenant, batch))
            head = after if moved else self._read_head(tenant)
        return head

    def _entry_writes(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[Any]:
        """Build the writes of the entries' rows, of each entry its last change: a transaction touches no row twice."""
        last_changes = {name_of(change): change for change in changes}.values()
        texts = [(key_of(tenant, self._scopes, change), text_of(change)) for change in last_changes]
        return [
            rows.build_put(self._table, row_of(key, text)) if text is not None else rows.build_delete(self._table, key)
            for key, text in texts
            if key is not None
        ]

    def _move_head(self, tenant: str | None, before: ContentHead, after: ContentHead, writes: Sequence[Any]) -> bool:
        """Write the head with other rows in one transaction; False if the stored head is not `before` any more."""
        scope = [rows.build_put(self._table, row_of_scope(tenant))] if before.version == 0 else []
        head = rows.build_put(self._table, head_row(tenant, after), unchanged_condition(before))
        return rows.transact(self._client, [head, *scope, *writes])

    def _read_head(self, tenant: str | None) -> ContentHead:
        return head_in(rows.get(self._client, self._table, keys.content_version(tenant)))

    def _read_layers[Entry](self, kind: EntryKind[Any, Entry], tenant: str, name: str) -> Layers[Entry]:
        row_keys = (
            keys.entry(partition_of(kind, tenant, self._scopes), name),
            keys.entry(partition_of(kind, None, self._scopes), name),
            keys.settings(tenant, None),
            keys.content_version(tenant),
            keys.content_version(None),
        )
        own, shipped, settings, own_head, shipped_head = self._read_consistently(row_keys)
        return Layers(
            own=self._current_entry(kind, name, own, head_in(own_head)),
            shipped=self._current_entry(kind, name, shipped, head_in(shipped_head)),
            tenant_settings=settings_in(settings or {}),
        )

    def _read_consistently(self, row_keys: Sequence[keys.RowKey]) -> Sequence[Row | None]:
        """Read rows, the last two of which are heads, again if an overlay was finished recently.

        The table reads the rows in an order of its own: an entry that it read before an overlay was written into the
        entry's row is out of date if it read the head after that overlay was finished.
        """
        known_times = set[float]()
        for _ in range(rows.READ_ATTEMPTS):
            found = rows.get_each(self._client, self._table, row_keys)
            recent = {at for row in found[-2:] if (at := head_in(row).settled_at) and at > time() - RECENT_SECONDS}
            if recent <= known_times:
                return found
            known_times = recent
        raise Unavailable("Other requests kept publishing while the content was read.")

    def _current_entry[Entry](
        self, kind: EntryKind[Any, Entry], name: str, row: Row | None, head: ContentHead
    ) -> Entry | None:
        if head.overlay is not None:
            change = self._read_change_batch(head.overlay).by_name.get((kind.tag, name))
            if change is not None:
                return kind.entry_of(change)
        return entry_in(kind, row) if row else None

    def _read_all[Entry](self, kind: EntryKind[Any, Entry], tenant: str | None) -> Sequence[Entry]:
        """Return all entries of a kind as they were at the second read of the head.

        Reading thousands of rows takes a while; the changes made meanwhile are read from the outbox.
        """
        before = self._read_head(tenant)
        found = rows.query_attribute(self._client, self._table, partition_of(kind, tenant, self._scopes), ENTRY)
        entries = {row["sk"]["S"]: entry_in(kind, row) for row in found}
        last = self._read_head(tenant).version
        for change in self._changes_between(tenant, before, last):
            tag, name = name_of(change)
            if tag == kind.tag:
                _set_entry(entries, name, kind.entry_of(change))
        return [entries[name] for name in sorted(entries, key=str.encode)]

    def _changes_between(self, tenant: str | None, before: ContentHead, last: int) -> Iterator[Change]:
        if before.overlay is not None:
            yield from self._read_change_batch(before.overlay).changes
        for row in outbox.query_changes(self._client, self._table, tenant, before.version, last):
            yield from outbox.change_batch_in(row, self._read_change_batch).changes


def _check_size(change: Change) -> None:
    _, name = name_of(change)
    if not 0 < len(name.encode()) <= LONGEST_NAME:
        raise ValueError("A name must have 1 to 1024 bytes.")
    if size_of(change) > LARGEST_ENTRY:
        raise ValueError(f"The entry {name} has more than {LARGEST_ENTRY} bytes. Shorten it.")


def _is_based_on(changes: Sequence[Change], catalogue: str | None) -> bool:
    return all(change.before == catalogue for change in changes if isinstance(change, CatalogueChange))


def _decide_changes(
    changes: Sequence[Change], existing: set[EntryName], version: int
) -> tuple[list[Change], list[int | None]]:
    """Return the changes that have an effect if applied in order, and for every change its sequence number or None."""
    effective, sequences, present = list[Change](), list[int | None](), set(existing)
    for change in changes:
        name = name_of(change)
        if is_registration(change):
            present.add(name)
        elif name in present:
            present.remove(name)
        else:
            sequences.append(None)
            continue
        effective.append(change)
        sequences.append(version + len(effective))
    return effective, sequences


def _set_entry[Entry](entries: dict[str, Entry], name: str, entry: Entry | None) -> None:
    if entry is None:
        entries.pop(name, None)
    else:
        entries[name] = entry
