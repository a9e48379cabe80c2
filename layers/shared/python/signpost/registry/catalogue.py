"""The catalogue of a tenant: what can be started, in memory, revalidated by one row."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from signpost.model import CatalogueItem
from signpost.ports import Clock, ContentStore, Texts
from signpost.records import dataclass
from signpost.registry.publication import NOTHING, Published, from_text
from signpost.workflow.discovery import shown_kinds

if TYPE_CHECKING:
    from signpost.search.ranking import Ranking, Search

REVALIDATED_EVERY = 2.0
"""Seconds for which lists may lag behind a publication."""
REMEMBERED_TENANTS = 64


@dataclass(frozen=True)  # no slots: what is worked out once is kept
class Snapshot:
    digest: str | None
    """None if nothing was ever published."""
    published: Published

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
    def search(self) -> "Search":
        # Most who load a catalogue do not search it.
        from signpost.search.documents import Document  # noqa: PLC0415
        from signpost.search.ranking import Search  # noqa: PLC0415 - as above

        return Search(
            Document(item.id, item.kind, item.title, item.description, item.tags, item.aliases, item.text)
            for item in self.items
        )


NOTHING_PUBLISHED = Snapshot(None, NOTHING)


@dataclass(slots=True)
class _Remembered:
    snapshot: Snapshot
    looked_at: float


class CatalogueView:
    def __init__(self, *, content: ContentStore, texts: Texts, clock: Clock) -> None:
        self._content = content
        self._texts = texts
        self._clock = clock
        self._by_tenant: dict[str, _Remembered] = {}

    def snapshot(self, tenant: str, *, fresh: bool = False) -> Snapshot:
        """Fresh is whatever was published before the call."""
        now = self._clock.now()
        remembered = self._by_tenant.get(tenant)
        if remembered is None:
            remembered = self._remember(tenant, self._load(tenant, NOTHING_PUBLISHED), now)
        elif fresh or now - remembered.looked_at >= REVALIDATED_EVERY:
            remembered.snapshot = self._load(tenant, remembered.snapshot)
            remembered.looked_at = now
        return remembered.snapshot

    def _load(self, tenant: str, known: Snapshot) -> Snapshot:
        digest = self._content.catalogue(tenant)
        if digest == known.digest:
            return known
        if digest is None:
            return NOTHING_PUBLISHED
        return Snapshot(digest, from_text(self._texts.read(tenant, digest)))

    def _remember(self, tenant: str, snapshot: Snapshot, now: float) -> _Remembered:
        if len(self._by_tenant) >= REMEMBERED_TENANTS:
            self._by_tenant.pop(next(iter(self._by_tenant)))
        self._by_tenant[tenant] = _Remembered(snapshot, now)
        return self._by_tenant[tenant]
