"""How far what a tenant's lists show has changed: one look for everybody who shows any of it, remembered for a while.

Whoever keeps a list keeps the revision beside it that was looked at before the list was read. What is read later than
its revision can only be newer: the next look then finds another revision and reads once too often.
"""

from signpost.content import Revisions
from signpost.ports import Clock, RevisionRows
from signpost.records import dataclass

REVALIDATED_EVERY = 2.0
"""Seconds for which lists may lag behind a change."""
REMEMBERED_TENANTS = 64


@dataclass(frozen=True, slots=True)
class _Look:
    at: float
    """Before the rows were read."""
    found: Revisions


class RevisionView:
    def __init__(self, *, rows: RevisionRows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._by_tenant: dict[str, _Look] = {}

    def of(self, tenant: str, *, fresh: bool = False) -> Revisions:
        """The same object until somebody looks again. Fresh is whatever has changed before the call."""
        now = self._clock.now()
        look = self._by_tenant.get(tenant)
        if look is None or fresh or now - look.at >= REVALIDATED_EVERY:
            look = _Look(now, self._rows.read(tenant))
            if tenant not in self._by_tenant and len(self._by_tenant) >= REMEMBERED_TENANTS:
                self._by_tenant.pop(next(iter(self._by_tenant)))
            self._by_tenant[tenant] = look
        return look.found
