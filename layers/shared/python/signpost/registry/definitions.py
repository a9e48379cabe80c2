"""The definitions of a tenant: those that its catalogue lists now, and those that its instances were started with."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from signpost.registry.catalogue import CatalogueView
from signpost.workflow.definition import Definition, published
from signpost.workflow.ports import Published
from signpost.workflow.proxy import PROXY

REMEMBERED = 256


class DefinitionTexts(Protocol):
    """Definitions as text, in the order in which they were written, under their digest."""

    def keep(self, tenant: str, text: str) -> str:
        """Answers the digest."""
        ...

    def read(self, tenant: str, digest: str) -> str: ...


class CatalogueDefinitions:
    def __init__(self, *, catalogue: CatalogueView, texts: DefinitionTexts) -> None:
        self._catalogue = catalogue

        @lru_cache(REMEMBERED)
        def pinned(tenant: str, definition_id: str, digest: str) -> Definition:
            """What has this digest never changes."""
            return published(definition_id, json.loads(texts.read(tenant, digest)))

        self._pinned = pinned

    def current(self, tenant: str, definition_id: str) -> Published | None:
        """As it is now, not as it was two seconds ago: what is started goes its way for good."""
        digest = self._digest(tenant, definition_id)
        return None if digest is None else Published(self._pinned(tenant, definition_id, digest), digest)

    def pinned(self, tenant: str, definition_id: str, digest: str) -> Definition:
        return self._pinned(tenant, definition_id, digest)

    def ids(self, tenant: str) -> Sequence[str]:
        return [item.id for item in self._catalogue.snapshot(tenant).items if item.kind == "workflow"]

    def _digest(self, tenant: str, definition_id: str) -> str | None:
        snapshot = self._catalogue.snapshot(tenant, fresh=True)
        if definition_id == PROXY:
            # Never listed itself: every capability is a way into it.
            return next((item.definition for item in snapshot.items if item.kind == "capability"), None)
        item = snapshot.by_id.get(definition_id)
        return item.definition if item is not None and item.kind == "workflow" else None
