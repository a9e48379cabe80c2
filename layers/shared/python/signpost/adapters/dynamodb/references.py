"""Which objects the rows of a tenant name, and where a publication is still to be written into rows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.adapters import keys, object_keys
from signpost.adapters.dynamodb import outbox, rows
from signpost.adapters.dynamodb.content_head import Head, head_in
from signpost.adapters.dynamodb.content_rows import SKILLS, entry_in
from signpost.adapters.dynamodb.content_store import DynamoContentStore
from signpost.adapters.dynamodb.outbox import Publication, Publications, saved_publication
from signpost.adapters.dynamodb.scopes import heads_of, scopes_in
from signpost.content import Change, Scopes, SkillChange
from signpost.kept import Named

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoReferences:
    def __init__(self, client: "DynamoDBClient", table: str, publications: Publications, scopes: Scopes) -> None:
        self._client = client
        self._table = table
        self._publications = publications
        self._scopes = scopes
        self._store = DynamoContentStore(client, table, publications, scopes)

    @property
    def history(self) -> str:
        return self._table

    @property
    def scopes(self) -> frozenset[str]:
        return frozenset({self._scopes.skills})

    def unfinished(self) -> Sequence[str | None]:
        tenants = list(scopes_in(self._client, self._table))
        heads = heads_of(self._client, self._table, tenants)
        return [tenant for tenant in tenants if heads.get(tenant, Head()).overlay is not None]

    def complete(self, tenant: str | None) -> None:
        self._store.complete(tenant)

    def named(self, tenant: str | None, scopes: frozenset[str], *, after: int | None) -> Named:
        """The rows are not read at one moment. Whatever they name meanwhile, the outbox names too."""
        before = self._head(tenant)
        digests = {digest for scope in scopes for digest in self._digests(tenant, scope)}
        last = self._head(tenant)
        changes = self._changes(tenant, before, after if after is not None else before.version, last.version)
        registered = (change.skill for change in changes if isinstance(change, SkillChange) and change.skill)
        digests.update(digest for skill in registered for digest in skill.kept)
        bodies = {object_keys.body(tenant, digest) for digest in digests}
        overlays = {head.overlay for head in (before, last) if head.overlay is not None}
        return Named(frozenset(bodies | overlays), last.version)

    def _digests(self, tenant: str | None, scope: str) -> Iterator[str]:
        partition = keys.skills_of(tenant, Scopes(scope, self._scopes.prompts))
        for row in rows.query(self._client, self._table, partition):
            yield from entry_in(SKILLS, row).kept

    def _changes(self, tenant: str | None, before: Head, after: int, last: int) -> Iterator[Change]:
        if before.overlay is not None:
            yield from self._publication(before.overlay).changes
        for row in outbox.between(self._client, self._table, tenant, after, last):
            yield from outbox.publication_in(row, self._publication).changes

    def _publication(self, key: str) -> Publication:
        return saved_publication(self._publications, key)

    def _head(self, tenant: str | None) -> Head:
        return head_in(rows.get(self._client, self._table, keys.content_version(tenant)))
