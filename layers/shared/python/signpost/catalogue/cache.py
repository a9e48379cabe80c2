"""The catalogues of tenants in memory, each with its lookups, for as long as it is the current one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from signpost.caches import BoundedCache
from signpost.calling.runtime_settings import refuses_undeclared_arguments
from signpost.catalogue.snapshot import EMPTY_SNAPSHOT, CatalogueSnapshot, from_text
from signpost.list_revisions import REMEMBERED_TENANTS, RevisionView
from signpost.model import CatalogueItem
from signpost.records import dataclass
from signpost.workflow.authoring.discovery import visible_kinds
from signpost.workflow.titles import WORKFLOW_TOOL, find_title_fault

if TYPE_CHECKING:
    from signpost.ports import TextStore
    from signpost.search.ranking import Ranking


@dataclass(frozen=True)  # no slots: cached properties need a `__dict__`
class CachedCatalogue:
    """A snapshot in memory with its lookups: whole, or restricted to one principal."""

    digest: str | None
    """None if the tenant has never published a catalogue."""
    snapshot: CatalogueSnapshot
    whole: "CachedCatalogue | None" = None
    """The unrestricted catalogue, if this one is restricted."""

    @property
    def proxy(self) -> str:
        """The digest of the workflow of all capabilities; empty if there are no capabilities."""
        return self.snapshot.proxy

    @property
    def ranking(self) -> "Ranking":
        return "fused" if self.snapshot.discovery.get("ranking") == "fused" else "literal"

    @cached_property
    def visible_kinds(self) -> frozenset[str]:
        """The kinds of items that discovery shows."""
        return visible_kinds(self.snapshot.discovery)

    @cached_property
    def items(self) -> Sequence[CatalogueItem]:
        """The items that discovery shows, sorted by id."""
        kinds = self.visible_kinds
        return [item for item in self.snapshot.items if item.kind in kinds and item.is_offered]

    @cached_property
    def by_kind(self) -> Mapping[tuple[str, str], CatalogueItem]:
        """The shown items by kind and id."""
        return {(item.kind, item.id): item for item in self.items}

    @cached_property
    def startable_workflows(self) -> Mapping[str, CatalogueItem]:
        """The workflows that can be started, by id, including those that discovery does not show."""
        return {item.id: item for item in self.snapshot.items if item.kind == "workflow" and item.is_offered}

    @cached_property
    def capability_ids(self) -> frozenset[str]:
        """The ids of all published capabilities, for every principal the same: no callable skill is found by them."""
        if self.whole is not None:
            return self.whole.capability_ids
        return frozenset(item.id for item in self.snapshot.items if item.kind == "capability")

    @cached_property
    def startable_capabilities(self) -> Mapping[str, CatalogueItem]:
        """The capabilities that can be started, by id, including those that discovery does not show."""
        return {item.id: item for item in self.snapshot.items if item.kind == "capability" and item.is_offered}

    @cached_property
    def workflow_tools(self) -> Mapping[str, str]:
        """The names of the tools at /mcp/flat that start workflows, by workflow id. A name is the same for every
        principal, so a restricted catalogue takes the names of the whole one."""
        return (
            self.whole.workflow_tools
            if self.whole is not None
            else _name_tools(list(self.startable_workflows.values()))
        )


def _name_tools(workflows: Sequence[CatalogueItem]) -> Mapping[str, str]:
    """Name each tool by the workflow's title if no other workflow has this title or this id; else by its id. Earlier
    releases published titles that are no names of tools: these workflows are named by their ids, too."""
    titles, ids = Counter(item.title for item in workflows), {item.id for item in workflows}

    def name_of(item: CatalogueItem) -> str:
        is_unique = titles[item.title] == 1 and (item.title == item.id or item.title not in ids)
        is_named_by_title = is_unique and find_title_fault(item.title) is None
        return f"{WORKFLOW_TOOL}{item.title if is_named_by_title else item.id}"

    return {item.id: name_of(item) for item in workflows}


EMPTY_CATALOGUE = CachedCatalogue(None, EMPTY_SNAPSHOT)


class CatalogueView:
    """Loads and caches the current catalogues of tenants."""

    def __init__(self, *, revisions: RevisionView, texts: "TextStore") -> None:
        self._revisions = revisions
        self._texts = texts
        self._by_tenant = BoundedCache[str, CachedCatalogue](REMEMBERED_TENANTS)

    def load(self, tenant: str, *, fresh: bool = False) -> CachedCatalogue:
        """Load the current catalogue. With `fresh` it includes everything that was published before the call."""
        digest = self._revisions.of(tenant, fresh=fresh).catalogue
        if digest is None:
            return EMPTY_CATALOGUE
        cached = self._by_tenant.get(tenant)
        if cached is None or cached.digest != digest:
            cached = self._by_tenant.put(tenant, CachedCatalogue(digest, from_text(self._texts.read(tenant, digest))))
        return cached

    def refuses_undeclared_arguments(self, tenant: str) -> bool:
        """Return whether the tenant has set that workflows and transitions without a schema take no arguments."""
        return refuses_undeclared_arguments(self._revisions.of(tenant).settings)

    def policies_digest(self, tenant: str) -> str | None:
        """Return the digest of the tenant's rules; None if it has none. It comes from the same read as the digest of
        the catalogue."""
        return self._revisions.of(tenant).policies
