"""Finds the definitions of a tenant: the current ones in its catalogue, and the ones that instances were started
with."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from signpost.catalogue.cache import CachedCatalogue, CatalogueView
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.catalogue.run_functions import build_skill_run
from signpost.model import PROXY_WORKFLOW, Principal
from signpost.policy import policy_items
from signpost.policy.access import Access
from signpost.workflow.definition import Definition
from signpost.workflow.definition_reader import parse_published_definition
from signpost.workflow.engine.capability_focus import capabilities_of, join_capabilities, restrict_capabilities
from signpost.workflow.ports import PublishedDefinition
from signpost.workflow.run_summary import RunSummary
from signpost.workflow.running import function_run
from signpost.workflow.titles import WORKFLOW_TOOL

if TYPE_CHECKING:
    from signpost.catalogue.callable_skills import CallableSkill
    from signpost.catalogue.run_functions import RunFunctions
    from signpost.ports import TextStore

REMEMBERED = 256


def read_definition(texts: "TextStore", tenant: str, definition_id: str, digest: str) -> Definition:
    """Read a definition by its digest. The text under a digest never changes."""
    return function_run.definition_of(digest) or parse_published_definition(
        definition_id, json.loads(texts.read(tenant, digest))
    )


class CatalogueDefinitions:
    """Implements `DefinitionSource` of the workflow ports by the catalogue."""

    def __init__(
        self, *, catalogue: CatalogueView, access: CatalogueAccess, functions: "RunFunctions", texts: "TextStore"
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
        """Load a definition by its digest, with the current settings of the tenant and, if it calls one function, with
        the texts and the schema that this function has now."""
        refuses_undeclared = self._catalogue.refuses_undeclared_arguments(tenant)
        definition = self._read_pinned(tenant, definition_id, digest, refuses_undeclared=refuses_undeclared)
        run = function_run.parse_digest(digest)
        texts = None if run is None else self._functions.find_texts(tenant, run)
        return definition if texts is None else function_run.show_texts(definition, texts)

    def list_ids(self, tenant: str) -> Sequence[str]:
        return list(self._catalogue.load(tenant).startable_workflows)

    def find_offered(
        self, principal: Principal, definition_id: str, capability: str | None = None
    ) -> PublishedDefinition | None:
        """Find the current definition, without the capabilities that policy denies to the principal; None if policy
        denies all of it. The rules are as fresh as the catalogue, because the digests of both come from one read.

        A callable skill is a capability with a definition of its own. A published capability of the same name takes
        precedence.
        """
        catalogue = self._access.load(principal, fresh=True)
        if capability is not None and definition_id == PROXY_WORKFLOW:
            skill_run = self._find_skill_run(principal, capability)
            if skill_run is not None:
                return skill_run
        published = self._find(catalogue, principal.tenant, definition_id)
        if published is None:
            self._access.report_missing(principal, definition_id)
            return None
        definition = self.remove_denied_capabilities(principal, published, None)
        is_empty = definition.id == PROXY_WORKFLOW and not capabilities_of(definition)
        return None if is_empty else PublishedDefinition(definition, published.digest)

    def list_offered_ids(self, principal: Principal) -> Sequence[str]:
        return list(self._access.load(principal).startable_workflows)

    def find_explained(self, principal: Principal, definition_id: str, transition: str | None) -> Definition | None:
        """Find the definition that an explanation shows. That of the capabilities has the callable skills as well:
        those that lists show, and the one that the explanation is about."""
        published = self.find_offered(principal, definition_id)
        if definition_id != PROXY_WORKFLOW:
            return None if published is None else published.definition
        skills = [build_skill_run(skill) for skill in self._list_skills(principal)]
        named = None if transition is None else self._find_skill_run(principal, transition)
        found = [found.definition for found in (published, *skills, named) if found is not None]
        return join_capabilities(found) if found else None

    def list_capability_ids(self, principal: Principal) -> Sequence[str]:
        published = self._access.load(principal).startable_capabilities
        return sorted({*published, *(skill.name for skill in self._list_skills(principal))})

    def _list_skills(self, principal: Principal) -> "Sequence[CallableSkill]":
        """List the callable skills whose names no published capability has."""
        published = self._access.load(principal).capability_ids
        return [skill for skill in self._functions.list_skills(principal) if skill.name not in published]

    def _find_skill_run(self, principal: Principal, name: str) -> PublishedDefinition | None:
        if name in self._access.load(principal).capability_ids:
            return None
        skill = self._functions.find_skill(principal, name)
        return None if skill is None else build_skill_run(skill)

    def remove_denied_capabilities(
        self, principal: Principal, published: PublishedDefinition, kept: str | None
    ) -> Definition:
        definition, access = published.definition, self._access.of(principal)
        if definition.id != PROXY_WORKFLOW:
            return definition
        run = function_run.parse_digest(published.digest)
        if run is not None:
            return restrict_capabilities(definition, lambda _: self._may_call(principal, run.function), kept)
        if access.is_open:
            return definition
        return restrict_capabilities(definition, lambda capability: _may_use_capability(access, capability), kept)

    def _may_call(self, principal: Principal, function: str) -> bool:
        """Return whether a client may still call the function of a run: rules know it by more names than a capability,
        and settings may have withheld it since the run was started."""
        return not self._functions.is_withheld(principal.tenant, function) and self._functions.may_use(
            principal, function
        )

    def may_find(self, principal: Principal, run: RunSummary) -> bool:
        access = self._access.of(principal)
        if access.is_open:
            return True
        if run.definition_id != PROXY_WORKFLOW:
            # A workflow that is removed or switched off has no tool, and rules that name it by its tool still hold.
            tools = self._catalogue.load(principal.tenant).workflow_tools
            tool = tools.get(run.definition_id, f"{WORKFLOW_TOOL}{run.title}")
            return access.allows(policy_items.workflow_item(run.definition_id, tool))
        called = function_run.parse_digest(run.digest)
        if called is not None:
            return self._functions.may_use(principal, called.function)
        return not run.capability or _may_use_capability(access, run.capability)

    def _find(self, catalogue: CachedCatalogue, tenant: str, definition_id: str) -> PublishedDefinition | None:
        item = catalogue.startable_workflows.get(definition_id)
        digest = catalogue.proxy if definition_id == PROXY_WORKFLOW else (item.definition if item is not None else "")
        return PublishedDefinition(self.load_pinned(tenant, definition_id, digest), digest) if digest else None


def _may_use_capability(access: Access, capability: str) -> bool:
    return access.allows(policy_items.catalogue_item(policy_items.CAPABILITY, capability))
