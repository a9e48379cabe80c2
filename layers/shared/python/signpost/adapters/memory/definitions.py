"""Workflow definitions, in memory."""

from collections.abc import Sequence
from hashlib import sha256

from signpost.model import JsonObject, Principal
from signpost.workflow import story
from signpost.workflow.definition import Definition
from signpost.workflow.definition import published as read
from signpost.workflow.ports import Published


class MemoryDefinitions:
    def __init__(self) -> None:
        self._current: dict[tuple[str, str], Published] = {}
        self._by_digest: dict[tuple[str, str], Definition] = {}

    def publish(self, tenant: str, definition_id: str, document: JsonObject) -> None:
        definition = read(definition_id, document)
        digest = sha256(story.text_of(document).encode()).hexdigest()
        self._current[tenant, definition_id] = Published(definition, digest)
        self._by_digest[tenant, digest] = definition

    def current(self, tenant: str, definition_id: str) -> Published | None:
        found = self._current.get((tenant, definition_id))
        return found if found is not None and found.definition.enabled else None

    def pinned(self, tenant: str, definition_id: str, digest: str) -> Definition:
        del definition_id  # the digest says it all
        return self._by_digest[tenant, digest]

    def offered(self, principal: Principal, definition_id: str) -> Published | None:
        return self.current(principal.tenant, definition_id)

    def offered_ids(self, principal: Principal) -> Sequence[str]:
        return self.ids(principal.tenant)

    def seen(self, principal: Principal, published: Published, kept: str | None) -> Definition:
        del principal, kept  # no policy here
        return published.definition

    def ids(self, tenant: str) -> Sequence[str]:
        return sorted(name for owner, name in self._current if owner == tenant and self.current(tenant, name))
