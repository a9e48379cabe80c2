"""The store of published workflow definitions, in memory."""

from collections.abc import Sequence
from hashlib import sha256

from signpost.model import PROXY_WORKFLOW, JsonObject, Principal
from signpost.workflow.definition import Definition
from signpost.workflow.definition_reader import parse_published_definition
from signpost.workflow.engine.capability_focus import capabilities_of
from signpost.workflow.ports import PublishedDefinition
from signpost.workflow.run_summary import RunSummary
from signpost.workflow.running import serialization


class MemoryDefinitions:
    def __init__(self) -> None:
        self._current: dict[tuple[str, str], PublishedDefinition] = {}
        self._by_digest: dict[tuple[str, str], Definition] = {}

    def publish(self, tenant: str, definition_id: str, document: JsonObject) -> None:
        definition = parse_published_definition(definition_id, document)
        digest = sha256(serialization.text_of(document).encode()).hexdigest()
        self._current[tenant, definition_id] = PublishedDefinition(definition, digest)
        self._by_digest[tenant, digest] = definition

    def find_current(self, tenant: str, definition_id: str) -> PublishedDefinition | None:
        published = self._current.get((tenant, definition_id))
        return published if published is not None and published.definition.enabled else None

    def load_pinned(self, tenant: str, definition_id: str, digest: str) -> Definition:
        del definition_id  # the digest alone identifies the definition
        return self._by_digest[tenant, digest]

    def find_offered(
        self, principal: Principal, definition_id: str, capability: str | None = None
    ) -> PublishedDefinition | None:
        del capability  # there are no callable skills in memory
        return self.find_current(principal.tenant, definition_id)

    def find_explained(self, principal: Principal, definition_id: str, transition: str | None) -> Definition | None:
        del transition  # as above
        published = self.find_offered(principal, definition_id)
        return None if published is None else published.definition

    def list_capability_ids(self, principal: Principal) -> Sequence[str]:
        proxy = self.find_offered(principal, PROXY_WORKFLOW)
        return () if proxy is None else list(capabilities_of(proxy.definition))

    def list_offered_ids(self, principal: Principal) -> Sequence[str]:
        return self.list_ids(principal.tenant)

    def remove_denied_capabilities(
        self, principal: Principal, published: PublishedDefinition, kept: str | None
    ) -> Definition:
        del principal, kept  # definitions in memory have no policy
        return published.definition

    def may_find(self, principal: Principal, run: RunSummary) -> bool:
        del principal, run  # as above
        return True

    def list_ids(self, tenant: str) -> Sequence[str]:
        return sorted(name for owner, name in self._current if owner == tenant and self.find_current(tenant, name))
