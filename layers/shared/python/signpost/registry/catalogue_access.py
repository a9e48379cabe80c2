"""The catalogue of a tenant as one principal may use it."""

from dataclasses import replace

from signpost.model import CatalogueItem, Principal
from signpost.policy import items
from signpost.policy.access import Access, Accesses
from signpost.registry.catalogue import CatalogueView, Snapshot

REMEMBERED = 256


class CatalogueAccess:
    def __init__(self, *, catalogue: CatalogueView, accesses: Accesses) -> None:
        self._catalogue = catalogue
        self._accesses = accesses
        self._left: dict[Access, tuple[Snapshot, Snapshot]] = {}

    def of(self, principal: Principal) -> Access:
        return self._accesses.of(principal)

    def snapshot(self, principal: Principal, *, fresh: bool = False) -> Snapshot:
        """What is denied is not in it, so that nothing that is made of it can tell of it: no list, no search, no
        advice. The same object for as long as catalogue and rules are the same."""
        whole = self._catalogue.snapshot(principal.tenant, fresh=fresh)
        access = self._accesses.of(principal)
        if access.is_open:
            return whole
        left = self._left.get(access)
        if left is None or left[0] is not whole:
            if len(self._left) >= REMEMBERED:
                self._left.clear()
            left = self._left[access] = whole, _left_of(whole, access)
        return left[1]

    def missed(self, principal: Principal, name: str) -> None:
        """Somebody asked for it, and was told that there is nothing of this name. If it was denied, that is noticed."""
        access = self._accesses.of(principal)
        if access.is_open:
            return
        whole = self._catalogue.snapshot(principal.tenant)
        for item in (item_of(one, whole) for one in whole.published.items):
            if name in item:
                access.admits(item)


def item_of(item: CatalogueItem, whole: Snapshot) -> items.Item:
    if item.kind == items.WORKFLOW:
        return items.workflow(item.id, *((whole.tools[item.id],) if item.id in whole.tools else ()))
    return items.catalogued(item.kind, item.id)


def _left_of(whole: Snapshot, access: Access) -> Snapshot:
    allowed = [item for item in whole.published.items if access.allows(item_of(item, whole))]
    return Snapshot(whole.digest, replace(whole.published, items=allowed), whole)
