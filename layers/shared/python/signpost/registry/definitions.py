"""The definitions of a tenant: those that its catalogue lists now, and those that its instances were started with."""

import json
from collections.abc import Sequence
from functools import lru_cache

from signpost.model import PROXY
from signpost.ports import Texts
from signpost.registry.catalogue import CatalogueView
from signpost.workflow import calls
from signpost.workflow.definition import Definition, published
from signpost.workflow.ports import Published

REMEMBERED = 256


def definition_under(texts: Texts, tenant: str, definition_id: str, digest: str) -> Definition:
    """What has this digest never changes."""
    return calls.definition_of(digest) or published(definition_id, json.loads(texts.read(tenant, digest)))


class CatalogueDefinitions:
    def __init__(self, *, catalogue: CatalogueView, texts: Texts) -> None:
        self._catalogue = catalogue

        @lru_cache(REMEMBERED)
        def pinned(tenant: str, definition_id: str, digest: str) -> Definition:
            return definition_under(texts, tenant, definition_id, digest)

        self._pinned = pinned

    def current(self, tenant: str, definition_id: str) -> Published | None:
        """As it is now, not as it was two seconds ago: what is started goes its way for good."""
        digest = self._digest(tenant, definition_id)
        return Published(self._pinned(tenant, definition_id, digest), digest) if digest else None

    def pinned(self, tenant: str, definition_id: str, digest: str) -> Definition:
        return self._pinned(tenant, definition_id, digest)

    def ids(self, tenant: str) -> Sequence[str]:
        return list(self._catalogue.snapshot(tenant).startable)

    def _digest(self, tenant: str, definition_id: str) -> str:
        snapshot = self._catalogue.snapshot(tenant, fresh=True)
        if definition_id == PROXY:
            return snapshot.proxy
        item = snapshot.startable.get(definition_id)
        return item.definition if item is not None else ""
