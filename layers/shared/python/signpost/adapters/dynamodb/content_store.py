"""Skill documents, prompts and subscriptions, a row each, and in each scope one row, its head, which orders changes.

Who changes anything conditions on the head being as it was found, before anything else was read: so what was decided
by the other rows still holds. Changes that are more than a transaction takes are committed all the same by one: it
makes an object with all of them the scope's *overlay*, into which everybody looks first. Then the rows are written, by
transactions too, each of which moves a mark in the head: a writer that slept can undo nothing, and where one died the
next goes on. With the last rows the overlay comes off; until then nobody changes anything else in the scope.
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
from signpost.adapters.dynamodb.content_head import Head, head_in, head_row, unchanged
from signpost.adapters.dynamodb.content_rows import (
    ENTRY,
    PROMPTS,
    SKILLS,
    SUBSCRIPTIONS,
    Kind,
    Name,
    entry_in,
    fitting,
    is_of_an_entry,
    key_of,
    name_of,
    registers,
    row_of,
    size_of,
    text_of,
)
from signpost.adapters.dynamodb.outbox import Publication, Publications, saved_publication
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.adapters.dynamodb.runtime_settings import settings_in
from signpost.adapters.dynamodb.scopes import row_of_scope
from signpost.content import (
    CatalogueChange,
    Change,
    Layers,
    Overtaken,
    Scopes,
    Skill,
    StoredPrompt,
    Subscription,
)
from signpost.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

CHANGES_AT_ONCE, BYTES_AT_ONCE = 30, 500_000
"""What is committed by one transaction. Each change takes two of the hundred rows, and twice its bytes."""
ROWS_AT_ONCE, ROW_BYTES_AT_ONCE = 99, 1_000_000
"""Far from the four megabytes of a transaction: not every engine counts the bytes of a letter alike."""
KEYS_AT_ONCE = 100
LONGEST_NAME, LARGEST_ENTRY = 1024, 390_000
"""Bytes that fit into a row. A publication with a row that can never be written would stand in everybody's way."""
JUST_NOW = 60
"""Seconds; longer than reading a few rows may take, and the clocks of two machines differ."""
OVERLAYS_REMEMBERED = 4


class DynamoContentStore:
    def __init__(self, client: "DynamoDBClient", table: str, publications: Publications, scopes: Scopes) -> None:
        self._client = client
        self._table = table
        self._scopes = scopes
        self._publications = publications

        @lru_cache(OVERLAYS_REMEMBERED)
        def publication(key: str) -> Publication:
            return saved_publication(publications, key)

        self._publication = publication

    def catalogue(self, tenant: str) -> str | None:
        return self._head(tenant).catalogue

    def skill(self, tenant: str, skill_id: str) -> Layers[Skill]:
        return self._layers(SKILLS, tenant, skill_id)

    def prompt(self, tenant: str, name: str) -> Layers[StoredPrompt]:
        return self._layers(PROMPTS, tenant, name)

    def skills(self, tenant: str | None) -> Sequence[Skill]:
        return self._all(SKILLS, tenant)

    def prompts(self, tenant: str | None) -> Sequence[StoredPrompt]:
        return self._all(PROMPTS, tenant)

    def subscriptions(self, tenant: str | None) -> Sequence[Subscription]:
        return self._all(SUBSCRIPTIONS, tenant)

    def apply(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[int | None]:
        """Raises ValueError for what fits into no row."""
        for change in changes:
            _check(change)
        for attempt in range(rows.ATTEMPTS):
            head = self._settled(tenant, self._head(tenant))
            if not _follows(changes, head.catalogue):
                raise Overtaken
            made, sequences = _decided(changes, self._existing(tenant, changes), head.version)
            if not made or self._commit(tenant, head, made):
                return sequences
            rows.pause(attempt)
        raise Unavailable("Others are changing the content all the time.")

    def complete(self, tenant: str | None) -> None:
        """Writes the rows of a publication whose publisher died before it did. Any change does that, too."""
        self._settled(tenant, self._head(tenant))

    def _existing(self, tenant: str | None, changes: Sequence[Change]) -> set[Name]:
        """Of what is to be unregistered, what is there. Of workflows the catalogue says it, which is as it was."""
        gone = [change for change in changes if not registers(change)]
        named = {name_of(one): key_of(tenant, self._scopes, one) for one in gone if is_of_an_entry(one)}
        there = {name_of(change) for change in gone if not is_of_an_entry(change)}
        for some in batched(named.items(), KEYS_AT_ONCE, strict=False):
            found = rows.get_each(self._client, self._table, [key for _, key in some])
            there.update(name for (name, _), row in zip(some, found, strict=True) if row is not None)
        return there

    def _commit(self, tenant: str | None, head: Head, made: Sequence[Change]) -> bool:
        """False if somebody else changed something since the head was read."""
        changed = replace(head, version=head.version + len(made))
        for change in made:
            if isinstance(change, CatalogueChange):
                changed = replace(changed, catalogue=change.after, policies=change.policies)
        if fitting(made, CHANGES_AT_ONCE, BYTES_AT_ONCE) == len(made):
            events = [self._put(row) for row in outbox.rows_of_changes(tenant, head.version + 1, made)]
            return self._move(tenant, head, changed, [*self._entries(tenant, made), *events])
        publication = Publication(head.version + 1, made)
        key = publication.save(tenant, self._publications)
        overlaid = replace(changed, overlay=key, written=0)
        if not self._move(tenant, head, overlaid, [self._put(outbox.row_of_publication(tenant, publication, key))]):
            return False
        with suppress(Unavailable):  # it has happened, and everybody sees it; whoever comes next writes the rows
            self._settled(tenant, overlaid)
        return True

    def _settled(self, tenant: str | None, head: Head) -> Head:
        """The head once no overlay is there, be it this one or the next. Whoever else is at it takes turns with us."""
        while head.overlay is not None:
            left = self._publication(head.overlay).changes[head.written :]
            entries = [change for change in left if is_of_an_entry(change)]
            if fitting(entries, ROWS_AT_ONCE, ROW_BYTES_AT_ONCE) == len(entries):
                some = left  # what writes no row takes no room
            else:
                some = left[: fitting(left, ROWS_AT_ONCE, ROW_BYTES_AT_ONCE)]
            after = replace(head, written=head.written + len(some))
            if len(some) == len(left):
                after = Head(head.version, settled_at=time(), catalogue=head.catalogue, policies=head.policies)
            moved = self._move(tenant, head, after, self._entries(tenant, some))
            head = after if moved else self._head(tenant)
        return head

    def _entries(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[Any]:
        """A transaction touches no row twice: the last change of each entry is the one that stays."""
        lasting = {name_of(change): change for change in changes if is_of_an_entry(change)}.values()
        texts = [(key_of(tenant, self._scopes, change), text_of(change)) for change in lasting]
        return [
            self._put(row_of(key, text)) if text is not None else {"Delete": {"TableName": self._table, "Key": key}}
            for key, text in texts
        ]

    def _move(self, tenant: str | None, before: Head, after: Head, writes: Sequence[Any]) -> bool:
        """False if the head is not what it was."""
        known = [self._put(row_of_scope(tenant))] if before.version == 0 else []
        head = self._put(head_row(tenant, after), unchanged(before))
        return rows.transact(self._client, [head, *known, *writes])

    def _put(self, row: Attributes, condition: Attributes | None = None) -> Any:
        return {"Put": {"TableName": self._table, "Item": row, **(condition or {})}}

    def _head(self, tenant: str | None) -> Head:
        return head_in(rows.get(self._client, self._table, keys.content_version(tenant)))

    def _layers[Entry](self, kind: Kind[Entry], tenant: str, name: str) -> Layers[Entry]:
        wanted = (
            kind.key(tenant, self._scopes, name),
            kind.key(None, self._scopes, name),
            keys.settings(tenant, None),
            keys.content_version(tenant),
            keys.content_version(None),
        )
        own, shipped, settings, own_head, shipped_head = self._at_one_time(wanted)
        return Layers(
            own=self._entry(kind, name, own, head_in(own_head)),
            shipped=self._entry(kind, name, shipped, head_in(shipped_head)),
            tenant_settings=settings_in(settings or {}),
        )

    def _at_one_time(self, wanted: Sequence[keys.Key]) -> Sequence[Row | None]:
        """Rows, the last two of which are heads. The table reads them in an order of its own: an entry that was read
        before a publication got to its row says nothing if the head was read when the overlay was off again. Then they
        are read again."""
        looked_at = set[float]()
        for _ in range(rows.READS):
            found = rows.get_each(self._client, self._table, wanted)
            settled = {at for row in found[-2:] if (at := head_in(row).settled_at) and at > time() - JUST_NOW}
            if settled <= looked_at:
                return found
            looked_at = settled
        raise Unavailable("Somebody publishes all the time.")

    def _entry[Entry](self, kind: Kind[Entry], name: str, row: Row | None, head: Head) -> Entry | None:
        if head.overlay is not None:
            change = self._publication(head.overlay).by_name.get((kind.tag, name))
            if change is not None:
                return kind.entry(change)
        return entry_in(kind, row) if row else None

    def _all[Entry](self, kind: Kind[Entry], tenant: str | None) -> Sequence[Entry]:
        """As it was when the head was read for the second time: reading thousands of rows takes a while, and what
        changed meanwhile is read from the outbox."""
        before = self._head(tenant)
        found = rows.query_for(self._client, self._table, kind.partition(tenant, self._scopes), ENTRY)
        entries = {row["sk"]["S"]: entry_in(kind, row) for row in found}
        last = self._head(tenant).version
        for change in self._later(tenant, before, last):
            tag, name = name_of(change)
            if tag == kind.tag:
                _replace(entries, name, kind.entry(change))
        return [entries[name] for name in sorted(entries, key=str.encode)]

    def _later(self, tenant: str | None, before: Head, last: int) -> Iterator[Change]:
        if before.overlay is not None:
            yield from self._publication(before.overlay).changes
        for row in outbox.between(self._client, self._table, tenant, before.version, last):
            yield from outbox.publication_in(row, self._publication).changes


def _check(change: Change) -> None:
    _, name = name_of(change)
    if not 0 < len(name.encode()) <= LONGEST_NAME:
        raise ValueError("A name is of 1 to 1024 bytes.")
    if size_of(change) > LARGEST_ENTRY:
        raise ValueError(f"What is to be kept about {name} is longer than a row may be.")


def _follows(changes: Sequence[Change], catalogue: str | None) -> bool:
    return all(one.before == catalogue for one in changes if isinstance(one, CatalogueChange))


def _decided(changes: Sequence[Change], existing: set[Name], version: int) -> tuple[list[Change], list[int | None]]:
    """Those that change anything, carried out one after the other, and the sequence numbers of all."""
    made, sequences, there = list[Change](), list[int | None](), set(existing)
    for change in changes:
        name = name_of(change)
        if registers(change):
            there.add(name)
        elif name in there:
            there.remove(name)
        else:
            sequences.append(None)
            continue
        made.append(change)
        sequences.append(version + len(made))
    return made, sequences


def _replace[Entry](entries: dict[str, Entry], name: str, entry: Entry | None) -> None:
    if entry is None:
        entries.pop(name, None)
    else:
        entries[name] = entry
