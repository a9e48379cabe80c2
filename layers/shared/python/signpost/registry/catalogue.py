"""The catalogue of a tenant: what can be started, in memory, revalidated by one version row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from signpost.model import NOTHING_PUBLISHED, CatalogueItem, CataloguePointer
from signpost.ports import Catalogue, Clock

if TYPE_CHECKING:
    from signpost.search.ranking import Search

REVALIDATED_EVERY = 2.0
"""Seconds for which lists may lag behind a publication."""
REMEMBERED_TENANTS = 64


@dataclass(frozen=True)  # no slots: what is worked out once is kept
class Snapshot:
    pointer: CataloguePointer
    everything: Sequence[CatalogueItem]
    """Ordered by id, with what is disabled."""

    @cached_property
    def items(self) -> Sequence[CatalogueItem]:
        """What is listed."""
        return [item for item in self.everything if item.enabled]

    @cached_property
    def by_id(self) -> Mapping[str, CatalogueItem]:
        return {item.id: item for item in self.items}

    @cached_property
    def search(self) -> "Search":
        # Most who load a catalogue do not search it.
        from signpost.search.documents import Document  # noqa: PLC0415
        from signpost.search.ranking import Search  # noqa: PLC0415 - as above

        return Search(
            Document(item.id, item.kind, item.title, item.description, item.tags, item.aliases, item.text)
            for item in self.items
        )


@dataclass(slots=True)
class _Remembered:
    snapshot: Snapshot
    looked_at: float


class CatalogueView:
    def __init__(self, *, catalogue: Catalogue, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._by_tenant: dict[str, _Remembered] = {}

    def snapshot(self, tenant: str, *, fresh: bool = False) -> Snapshot:
        """Fresh is whatever was published before the call."""
        now = self._clock.now()
        remembered = self._by_tenant.get(tenant)
        if remembered is None:
            remembered = self._remember(tenant, self._load(tenant, None), now)
        elif fresh or now - remembered.looked_at >= REVALIDATED_EVERY:
            remembered.snapshot = self._load(tenant, remembered.snapshot)
            remembered.looked_at = now
        return remembered.snapshot

    def _load(self, tenant: str, known: Snapshot | None) -> Snapshot:
        pointer = self._catalogue.pointer(tenant)
        if known is not None and known.pointer == pointer:
            return known
        items = self._catalogue.items(tenant, pointer.digest) if pointer != NOTHING_PUBLISHED else ()
        return Snapshot(pointer, sorted(items, key=lambda item: item.id))

    def _remember(self, tenant: str, snapshot: Snapshot, now: float) -> _Remembered:
        if len(self._by_tenant) >= REMEMBERED_TENANTS:
            self._by_tenant.pop(next(iter(self._by_tenant)))
        self._by_tenant[tenant] = _Remembered(snapshot, now)
        return self._by_tenant[tenant]
