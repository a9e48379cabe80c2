"""The catalogue of a tenant: what can be started, in memory, revalidated by one version row."""

from collections.abc import Sequence
from dataclasses import dataclass

from signpost.model import NOTHING_PUBLISHED, CatalogueItem, CataloguePointer
from signpost.ports import Catalogue, Clock

REVALIDATED_EVERY = 2.0
"""Seconds for which lists may lag behind a publication."""
REMEMBERED_TENANTS = 64


@dataclass(frozen=True, slots=True)
class Snapshot:
    pointer: CataloguePointer
    items: Sequence[CatalogueItem]
    """Ordered by id."""


@dataclass(slots=True)
class _Remembered:
    snapshot: Snapshot
    looked_at: float


class CatalogueView:
    def __init__(self, *, catalogue: Catalogue, clock: Clock) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._by_tenant: dict[str, _Remembered] = {}

    def snapshot(self, tenant: str) -> Snapshot:
        now = self._clock.now()
        remembered = self._by_tenant.get(tenant)
        if remembered is None:
            remembered = self._remember(tenant, self._load(tenant, None), now)
        elif now - remembered.looked_at >= REVALIDATED_EVERY:
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
