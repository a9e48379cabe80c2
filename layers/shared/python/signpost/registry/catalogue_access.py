"""The catalogue of a tenant as one principal may use it."""

from collections.abc import Iterator
from dataclasses import replace

from signpost.made_once import MadeOnce
from signpost.model import CatalogueItem, Principal
from signpost.policy import items
from signpost.policy.access import Access, Accesses
from signpost.registry.catalogue import CatalogueView, Snapshot


class CatalogueAccess:
    def __init__(self, *, catalogue: CatalogueView, accesses: Accesses) -> None:
        self._catalogue = catalogue
        self._accesses = accesses
        self._left = MadeOnce[Access, Snapshot, Snapshot]()

    def of(self, principal: Principal) -> Access:
        return self._accesses.of(principal)

    def snapshot(self, principal: Principal, *, fresh: bool = False) -> Snapshot:
        """What is denied is not in it, so that nothing that is made of it can tell of it: no list, no search, no
        advice. The same object for as long as catalogue and rules are the same."""
        whole = self._catalogue.snapshot(principal.tenant, fresh=fresh)
        access = self._accesses.of(principal)
        if access.is_open:
            return whole
        return self._left.of(access, whole, lambda: _left_of(whole, access))

    def missed(self, principal: Principal, name: str) -> None:
        self._accesses.of(principal).missed(name, lambda: _items_of(self._catalogue.snapshot(principal.tenant)))


def item_of(item: CatalogueItem, whole: Snapshot) -> items.Item:
    if item.kind == items.WORKFLOW:
        return items.workflow(item.id, *((whole.tools[item.id],) if item.id in whole.tools else ()))
    return items.catalogued(item.kind, item.id)


def _items_of(whole: Snapshot) -> Iterator[items.Item]:
    return (item_of(one, whole) for one in whole.published.items)


def _left_of(whole: Snapshot, access: Access) -> Snapshot:
    allowed = [item for item in whole.published.items if access.allows(item_of(item, whole))]
    return Snapshot(whole.digest, replace(whole.published, items=allowed), whole)
