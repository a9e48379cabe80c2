"""Grants: names that running functions give to the callers of their calls, and that lists go by (`visible_when`)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.caches import BoundedCache
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import Principal
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.calling.ports import GrantStore
    from signpost.ports import Clock

MOST_GRANTS = 50
"""The grants that one principal can hold at a time."""
REMEMBERED_PRINCIPALS = 1_024
_NONE_HELD = frozenset[str]()


@dataclass(frozen=True, slots=True)
class HeldGrant:
    """A grant as its principal holds it."""

    name: str
    granted_at: float
    granted_by: str
    """The id of the function that gave it."""
    expires_at: float | None = None
    """None for a grant that does not expire."""

    def is_over(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= now


type Grants = Mapping[str, HeldGrant]
"""The grants of one principal by name, including those that are over and not yet removed."""


@dataclass(frozen=True, slots=True)
class GrantHolder:
    """A principal with its grants, for operators."""

    issuer: str
    subject: str
    grants: Grants


def drop_expired(grants: Grants, now: float) -> Grants:
    return {name: grant for name, grant in grants.items() if not grant.is_over(now)}


def add_grant(grants: Grants, grant: HeldGrant) -> Grants | None:
    """Return the grants with one more, which replaces one of the same name. None if that would be too many."""
    others = drop_expired(grants, grant.granted_at)
    return None if len(others) >= MOST_GRANTS and grant.name not in others else {**others, grant.name: grant}


def last_expiry(grants: Grants) -> float | None:
    """Return the time at which all of the grants are over; None if one of them does not expire."""
    times = [grant.expires_at for grant in grants.values()]
    return None if None in times else max(filter(None, times), default=None)


class GrantView:
    """Reads the grants of principals and caches them for as long as lists are cached."""

    def __init__(self, *, store: "GrantStore", clock: "Clock") -> None:
        self._store = store
        self._clock = clock
        self._by_principal = BoundedCache[tuple[str, str, str], tuple[float, Grants]](REMEMBERED_PRINCIPALS)

    def names(self, principal: Principal) -> frozenset[str]:
        """Return the names of the grants that the principal holds. An expired one is not among them, however recently
        it was read."""
        now = self._clock.now()
        grants = self._read(principal, now)
        return frozenset(drop_expired(grants, now)) if grants else _NONE_HELD

    def _read(self, principal: Principal, now: float) -> Grants:
        key = (principal.tenant, principal.issuer, principal.subject)
        read_at, grants = self._by_principal.get(key) or (float("-inf"), {})
        if 0 <= now - read_at < REVALIDATION_INTERVAL:
            return grants
        grants = self._store.of(principal)
        self._by_principal.put(key, (now, grants))
        return grants
