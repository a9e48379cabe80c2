"""The grants of principals in memory."""

from collections.abc import Sequence
from threading import Lock

from signpost.calling.grants import GrantHolder, Grants, HeldGrant, add_grant, drop_expired
from signpost.model import Principal


class MemoryGrants:
    def __init__(self) -> None:
        self._lock = Lock()
        self._by_principal: dict[tuple[str, str, str], Grants] = {}
        self.reads = 0
        """The reads of one principal's grants."""

    def of(self, principal: Principal) -> Grants:
        self.reads += 1
        return self._by_principal.get(_key_of(principal), {})

    def of_tenant(self, tenant: str) -> Sequence[GrantHolder]:
        return [
            GrantHolder(issuer, subject, grants)
            for (of, issuer, subject), grants in self._by_principal.items()
            if of == tenant
        ]

    def give(self, principal: Principal, grant: HeldGrant) -> bool:
        with self._lock:
            after = add_grant(self._by_principal.get(_key_of(principal), {}), grant)
            if after is not None:
                self._by_principal[_key_of(principal)] = after
            return after is not None

    def take(self, principal: Principal, name: str, now: float) -> bool:
        with self._lock:
            held = drop_expired(self._by_principal.get(_key_of(principal), {}), now)
            rest = {other: grant for other, grant in held.items() if other != name}
            self._by_principal[_key_of(principal)] = rest
            if not rest:
                del self._by_principal[_key_of(principal)]
            return name in held


def _key_of(principal: Principal) -> tuple[str, str, str]:
    return principal.tenant, principal.issuer, principal.subject
