"""The definitions of a tenant: those that its catalogue lists now, and those that its instances were started with."""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache

from signpost.model import PROXY, Principal
from signpost.policy import items
from signpost.policy.access import Access
from signpost.ports import Texts
from signpost.registry.catalogue import CatalogueView, Snapshot
from signpost.registry.catalogue_access import CatalogueAccess
from signpost.workflow import calls
from signpost.workflow.definition import Definition, published
from signpost.workflow.focus import capabilities, restricted
from signpost.workflow.ports import Published

REMEMBERED = 256

type FunctionsLeft = Callable[[Principal, str], bool]
"""Whether somebody may use a function, by its id."""


def definition_under(texts: Texts, tenant: str, definition_id: str, digest: str) -> Definition:
    """What has this digest never changes."""
    return calls.definition_of(digest) or published(definition_id, json.loads(texts.read(tenant, digest)))


class CatalogueDefinitions:
    def __init__(
        self, *, catalogue: CatalogueView, access: CatalogueAccess, functions: FunctionsLeft, texts: Texts
    ) -> None:
        self._catalogue = catalogue
        self._access = access
        self._functions = functions

        @lru_cache(REMEMBERED)
        def pinned(tenant: str, definition_id: str, digest: str) -> Definition:
            return definition_under(texts, tenant, definition_id, digest)

        self._pinned = pinned

    def current(self, tenant: str, definition_id: str) -> Published | None:
        """As it is now, not as it was two seconds ago: what is started goes its way for good."""
        return self._found(self._catalogue.snapshot(tenant, fresh=True), tenant, definition_id)

    def pinned(self, tenant: str, definition_id: str, digest: str) -> Definition:
        return self._pinned(tenant, definition_id, digest)

    def ids(self, tenant: str) -> Sequence[str]:
        return list(self._catalogue.snapshot(tenant).startable)

    def offered(self, principal: Principal, definition_id: str) -> Published | None:
        """By rules that are as fresh as the catalogue: both are looked at at once."""
        snapshot = self._access.snapshot(principal, fresh=True)
        found = self._found(snapshot, principal.tenant, definition_id)
        if found is None:
            self._access.missed(principal, definition_id)
            return None
        definition = self.seen(principal, found, None)
        is_empty = definition.id == PROXY and not capabilities(definition)
        return None if is_empty else Published(definition, found.digest)

    def offered_ids(self, principal: Principal) -> Sequence[str]:
        return list(self._access.snapshot(principal).startable)

    def seen(self, principal: Principal, published: Published, kept: str | None) -> Definition:
        definition, access = published.definition, self._access.of(principal)
        if definition.id != PROXY or access.is_open:
            return definition
        if calls.is_a_call(published.digest):
            # What it names is a function, which rules know by more names than a capability has.
            return restricted(definition, lambda function: self._functions(principal, function), kept)
        return restricted(definition, lambda capability: _left(access, capability), kept)

    def _found(self, snapshot: Snapshot, tenant: str, definition_id: str) -> Published | None:
        item = snapshot.startable.get(definition_id)
        digest = snapshot.proxy if definition_id == PROXY else (item.definition if item is not None else "")
        return Published(self._pinned(tenant, definition_id, digest), digest) if digest else None


def _left(access: Access, capability: str) -> bool:
    return access.allows(items.catalogued(items.CAPABILITY, capability))
