"""The catalogue of a tenant: what can be started, in memory for as long as it is the current one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from signpost.execution.revisions import REMEMBERED_TENANTS, RevisionView
from signpost.model import CatalogueItem
from signpost.ports import Texts
from signpost.records import dataclass
from signpost.registry.publication import NOTHING, Published, from_text
from signpost.workflow.discovery import shown_kinds

if TYPE_CHECKING:
    from signpost.search.ranking import Ranking, Search

WORKFLOW_TOOL = "workflow:"
"""What the name of a tool begins with that starts a workflow."""


@dataclass(frozen=True)  # no slots: what is worked out once is kept
class Snapshot:
    digest: str | None
    """None if nothing was ever published."""
    published: Published
    whole: "Snapshot | None" = None
    """What this is a part of, if it is one."""

    @property
    def proxy(self) -> str:
        """The digest of the workflow of all capabilities, if there are any."""
        return self.published.proxy

    @property
    def ranking(self) -> "Ranking":
        return "fused" if self.published.discovery.get("ranking") == "fused" else "literal"

    @cached_property
    def items(self) -> Sequence[CatalogueItem]:
        """What is shown, by id."""
        kinds = shown_kinds(self.published.discovery)
        return [item for item in self.published.items if item.kind in kinds and item.is_offered]

    @cached_property
    def by_kind(self) -> Mapping[tuple[str, str], CatalogueItem]:
        """By kind and id."""
        return {(item.kind, item.id): item for item in self.items}

    @cached_property
    def by_id(self) -> Mapping[str, CatalogueItem]:
        """The same. A workflow goes before what else has its id."""
        return {item.id: item for item in sorted(self.items, key=lambda item: item.kind == "workflow")}

    @cached_property
    def startable(self) -> Mapping[str, CatalogueItem]:
        """Workflows by id, also those that are not shown."""
        return {item.id: item for item in self.published.items if item.kind == "workflow" and item.is_offered}

    @cached_property
    def tools(self) -> Mapping[str, str]:
        """What starts the workflows at /mcp/flat, by id. What a tool is called does not depend on who asks."""
        return self.whole.tools if self.whole is not None else _tools(list(self.startable.values()))

    @cached_property
    def search(self) -> "Search":
        # Most who load a catalogue do not search it.
        from signpost.search.documents import Document  # noqa: PLC0415
        from signpost.search.ranking import Search  # noqa: PLC0415 - as above

        return Search(
            Document(item.id, item.kind, item.title, item.description, item.tags, item.aliases, item.text)
            for item in self.items
        )


def _tools(workflows: Sequence[CatalogueItem]) -> Mapping[str, str]:
    """By title, where no other one has it for a title or an id; else by id."""
    times, ids = Counter(item.title for item in workflows), {item.id for item in workflows}

    def name_of(item: CatalogueItem) -> str:
        is_its_own = times[item.title] == 1 and (item.title == item.id or item.title not in ids)
        return f"{WORKFLOW_TOOL}{item.title if is_its_own else item.id}"

    return {item.id: name_of(item) for item in workflows}


NOTHING_PUBLISHED = Snapshot(None, NOTHING)


class CatalogueView:
    def __init__(self, *, revisions: RevisionView, texts: Texts) -> None:
        self._revisions = revisions
        self._texts = texts
        self._by_tenant: dict[str, Snapshot] = {}

    def snapshot(self, tenant: str, *, fresh: bool = False) -> Snapshot:
        """Fresh is whatever was published before the call."""
        digest = self._revisions.of(tenant, fresh=fresh).catalogue
        if digest is None:
            return NOTHING_PUBLISHED
        known = self._by_tenant.get(tenant)
        if known is None or known.digest != digest:
            known = self._remember(tenant, Snapshot(digest, from_text(self._texts.read(tenant, digest))))
        return known

    def policies(self, tenant: str) -> str | None:
        """The digest of the tenant's rules; None if it has none. They come with the same look."""
        return self._revisions.of(tenant).policies

    def _remember(self, tenant: str, snapshot: Snapshot) -> Snapshot:
        if tenant not in self._by_tenant and len(self._by_tenant) >= REMEMBERED_TENANTS:
            self._by_tenant.pop(next(iter(self._by_tenant)))
        self._by_tenant[tenant] = snapshot
        return snapshot
