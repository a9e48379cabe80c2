"""Finds the objects that a tenant's rows refer to, and the tenants with an unfinished overlay."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.adapters import keys, object_keys
from signpost.adapters.dynamodb import outbox, rows
from signpost.adapters.dynamodb.content_head import ContentHead, head_in
from signpost.adapters.dynamodb.content_rows import entry_in
from signpost.adapters.dynamodb.content_store import DynamoContentStore
from signpost.adapters.dynamodb.outbox import ChangeBatch, ChangeBatchStore, read_change_batch
from signpost.adapters.dynamodb.scopes import heads_of, scopes_in
from signpost.content.changes import SKILLS
from signpost.content.kept_objects import NamedObjects
from signpost.content.model import Change, ScopeNames, SkillChange

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoReferences:
    def __init__(
        self, client: "DynamoDBClient", table: str, change_batches: ChangeBatchStore, scopes: ScopeNames
    ) -> None:
        self._client = client
        self._table = table
        self._change_batches = change_batches
        self._scopes = scopes
        self._store = DynamoContentStore(client, table, change_batches, scopes)

    @property
    def history(self) -> str:
        return self._table

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset({self._scopes.skills})

    def list_unfinished_tenants(self) -> Sequence[str | None]:
        tenants = list(scopes_in(self._client, self._table))
        heads = heads_of(self._client, self._table, tenants)
        return [tenant for tenant in tenants if heads.get(tenant, ContentHead()).overlay is not None]

    def complete(self, tenant: str | None) -> None:
        self._store.complete(tenant)

    def find_named_objects(self, tenant: str | None, scopes: frozenset[str], *, after: int | None) -> NamedObjects:
        """Return the keys of all objects that rows, outbox and overlays refer to.

        The rows are not read at one moment; a reference added during the read is found in the outbox.
        """
        before = self._read_head(tenant)
        digests = {digest for scope in scopes for digest in self._read_digests(tenant, scope)}
        last = self._read_head(tenant)
        changes = self._read_changes(tenant, before, after if after is not None else before.version, last.version)
        registered = (change.skill for change in changes if isinstance(change, SkillChange) and change.skill)
        digests.update(digest for skill in registered for digest in skill.object_digests)
        bodies = {object_keys.body(tenant, digest) for digest in digests}
        overlays = {head.overlay for head in (before, last) if head.overlay is not None}
        return NamedObjects(frozenset(bodies | overlays), last.version)

    def _read_digests(self, tenant: str | None, scope: str) -> Iterator[str]:
        for row in rows.query(self._client, self._table, keys.entries_of(tenant, scope)):
            yield from entry_in(SKILLS, row).object_digests

    def _read_changes(self, tenant: str | None, before: ContentHead, after: int, last: int) -> Iterator[Change]:
        if before.overlay is not None:
            yield from self._read_change_batch(before.overlay).changes
        for row in outbox.query_changes(self._client, self._table, tenant, after, last):
            yield from outbox.change_batch_in(row, self._read_change_batch).changes

    def _read_change_batch(self, key: str) -> ChangeBatch:
        return read_change_batch(self._change_batches, key)

    def _read_head(self, tenant: str | None) -> ContentHead:
        return head_in(rows.get(self._client, self._table, keys.content_version(tenant)))
