"""Finds the definitions of a tenant: the current ones in its catalogue, and the ones that instances were started
with."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from signpost.catalogue.cache import CachedCatalogue, CatalogueView
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.model import PROXY_WORKFLOW, Principal
from signpost.policy import policy_items
from signpost.policy.access import Access
from signpost.workflow.definition import Definition, parse_published_definition
from signpost.workflow.engine.capability_focus import capabilities_of, restrict_capabilities
from signpost.workflow.ports import PublishedDefinition
from signpost.workflow.running import long_call_definition

if TYPE_CHECKING:
    from signpost.ports import TextStore

REMEMBERED = 256

type FunctionFilter = Callable[[Principal, str], bool]
"""Decides whether a principal may use a function, by the function's id."""


def read_definition(texts: "TextStore", tenant: str, definition_id: str, digest: str) -> Definition:
    """Read a definition by its digest. The text under a digest never changes."""
    return long_call_definition.definition_of(digest) or parse_published_definition(
        definition_id, json.loads(texts.read(tenant, digest))
    )


class CatalogueDefinitions:
    """Implements `DefinitionSource` of the workflow ports by the catalogue."""

    def __init__(
        self, *, catalogue: CatalogueView, access: CatalogueAccess, functions: FunctionFilter, texts: "TextStore"
    ) -> None:
        self._catalogue = catalogue
        self._access = access
        self._functions = functions

        @lru_cache(REMEMBERED)
        def read_pinned(tenant: str, definition_id: str, digest: str, *, refuses_undeclared: bool) -> Definition:
            definition = read_definition(texts, tenant, definition_id, digest)
            return replace(definition, refuses_undeclared=refuses_undeclared)

        self._read_pinned = read_pinned

    def find_current(self, tenant: str, definition_id: str) -> PublishedDefinition | None:
        """Find the current definition, without the usual lag of two seconds: an instance keeps the definition that it
        is started with."""
        return self._find(self._catalogue.load(tenant, fresh=True), tenant, definition_id)

    def load_pinned(self, tenant: str, definition_id: str, digest: str) -> Definition:
        """Load a definition by its digest, with the current settings of the tenant."""
        refuses_undeclared = self._catalogue.refuses_undeclared_arguments(tenant)
        return self._read_pinned(tenant, definition_id, digest, refuses_undeclared=refuses_undeclared)

    def list_ids(self, tenant: str) -> Sequence[str]:
        return list(self._catalogue.load(tenant).startable_workflows)

    def find_offered(self, principal: Principal, definition_id: str) -> PublishedDefinition | None:
        """Find the current definition, without the capabilities that policy denies to the principal; None if policy
        denies all of it. The rules are as fresh as the catalogue, because the digests of both come from one read."""
        catalogue = self._access.load(principal, fresh=True)
        published = self._find(catalogue, principal.tenant, definition_id)
        if published is None:
            self._access.report_missing(principal, definition_id)
            return None
        definition = self.remove_denied_capabilities(principal, published, None)
        is_empty = definition.id == PROXY_WORKFLOW and not capabilities_of(definition)
        return None if is_empty else PublishedDefinition(definition, published.digest)

    def list_offered_ids(self, principal: Principal) -> Sequence[str]:
        return list(self._access.load(principal).startable_workflows)

    def remove_denied_capabilities(
        self, principal: Principal, published: PublishedDefinition, kept: str | None
    ) -> Definition:
        definition, access = published.definition, self._access.of(principal)
        if definition.id != PROXY_WORKFLOW or access.is_open:
            return definition
        if long_call_definition.is_long_call(published.digest):
            # The definition of a long call names functions, and rules know a function by more names than a capability.
            return restrict_capabilities(definition, lambda function: self._functions(principal, function), kept)
        return restrict_capabilities(definition, lambda capability: _may_use_capability(access, capability), kept)

    def _find(self, catalogue: CachedCatalogue, tenant: str, definition_id: str) -> PublishedDefinition | None:
        item = catalogue.startable_workflows.get(definition_id)
        digest = catalogue.proxy if definition_id == PROXY_WORKFLOW else (item.definition if item is not None else "")
        return PublishedDefinition(self.load_pinned(tenant, definition_id, digest), digest) if digest else None


def _may_use_capability(access: Access, capability: str) -> bool:
    return access.allows(policy_items.catalogue_item(policy_items.CAPABILITY, capability))
