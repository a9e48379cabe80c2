"""The catalogue of a tenant, restricted to the items that policy allows to one principal."""

from collections.abc import Iterator
from dataclasses import replace

from signpost.caches import DerivedCache
from signpost.catalogue.cache import CachedCatalogue, CatalogueView
from signpost.model import CatalogueItem, Principal
from signpost.policy import policy_items
from signpost.policy.access import Access, AccessLookup


class CatalogueAccess:
    """Loads catalogues restricted to one principal."""

    def __init__(self, *, catalogue: CatalogueView, accesses: AccessLookup) -> None:
        self._catalogue = catalogue
        self._accesses = accesses
        self._restricted = DerivedCache[Access, CachedCatalogue, CachedCatalogue]()

    def of(self, principal: Principal) -> Access:
        return self._accesses.of(principal)

    def load(self, principal: Principal, *, fresh: bool = False) -> CachedCatalogue:
        """Load the catalogue without the items that policy denies, so that no list, search or advice made from it
        reveals them. Returns the same object for as long as catalogue and rules are unchanged."""
        whole = self._catalogue.load(principal.tenant, fresh=fresh)
        access = self._accesses.of(principal)
        if access.is_open:
            return whole
        return self._restricted.get(access, whole, lambda: _restrict(whole, access))

    def refuses_undeclared_arguments(self, tenant: str) -> bool:
        """Return whether the tenant has set that workflows and transitions without a schema take no arguments."""
        return self._catalogue.refuses_undeclared_arguments(tenant)

    def report_missing(self, principal: Principal, name: str) -> None:
        """Log a denial if the name was not found because policy denies its item."""
        self._accesses.of(principal).report_missing(name, lambda: _items_of(self._catalogue.load(principal.tenant)))


def item_of(item: CatalogueItem, whole: CachedCatalogue) -> policy_items.PolicyItem:
    if item.kind == policy_items.WORKFLOW:
        return policy_items.workflow_item(
            item.id, *((whole.workflow_tools[item.id],) if item.id in whole.workflow_tools else ())
        )
    return policy_items.catalogue_item(item.kind, item.id)


def _items_of(whole: CachedCatalogue) -> Iterator[policy_items.PolicyItem]:
    return (item_of(item, whole) for item in whole.snapshot.items)


def _restrict(whole: CachedCatalogue, access: Access) -> CachedCatalogue:
    allowed = [item for item in whole.snapshot.items if access.allows(item_of(item, whole))]
    return CachedCatalogue(whole.digest, replace(whole.snapshot, items=allowed), whole)
