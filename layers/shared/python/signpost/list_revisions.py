"""List revisions: numbers and digests that change with the rows behind a tenant's lists. All readers share one cached
read.

A cache of a list stores the revision that was read before the list. The list may then be newer than its revision, never
older: the next check finds another revision and reads the list once too often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from signpost.caches import BoundedCache
from signpost.model import SettingValue
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.ports import Clock

REVALIDATION_INTERVAL = 2.0
"""Seconds by which lists may lag behind a change."""
REMEMBERED_TENANTS = 64


@dataclass(frozen=True, slots=True)
class _CachedRevisions:
    read_at: float
    """The time before the rows were read."""
    revisions: ListRevisions


class RevisionView:
    def __init__(self, *, rows: RevisionRows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._by_tenant = BoundedCache[str, _CachedRevisions](REMEMBERED_TENANTS)

    def of(self, tenant: str, *, fresh: bool = False) -> ListRevisions:
        """Returns the revisions of the tenant, the same object until the rows are read again. `fresh` forces a read,
        which sees every change made before the call."""
        now = self._clock.now()
        cached = self._by_tenant.get(tenant)
        # A clock that was set back makes them older than they can be.
        if cached is None or fresh or not 0 <= now - cached.read_at < REVALIDATION_INTERVAL:
            cached = self._by_tenant.put(tenant, _CachedRevisions(now, self._rows.read(tenant)))
        return cached.revisions

    def last_read(self, tenant: str) -> ListRevisions | None:
        """Returns the revisions that were read last, however old they are, without a read; None if none were."""
        cached = self._by_tenant.get(tenant)
        return None if cached is None else cached.revisions


class RevisionRows(Protocol):
    """The port of the rows that hold the revisions."""

    def read(self, tenant: str) -> ListRevisions:
        """Reads the current revisions in one read. Each change of content, catalogue or placements updates them
        atomically."""
        ...


@dataclass(frozen=True, slots=True)
class ListRevisions:
    """The revisions of all that a tenant's lists are made of. Numbers grow with every change."""

    content: int
    """Revision of the tenant's own skill documents, prompts, subscriptions and catalogue."""
    shipped_content: int
    catalogue: str | None
    """The digest of the current catalogue snapshot; None if the tenant has published none."""
    policies: str | None
    """The digest of the tenant's policy rules; None if it has none."""
    placements: int
    """Revision of the functions that are hosted for this tenant only; 0 if none ever was."""
    shipped_placements: int
    own_settings: Mapping[str, SettingValue]
    """The settings that an operator has set for this tenant."""
    deployment_settings: Mapping[str, SettingValue]
    """The settings of a tenant that sets nothing itself: the parameters of the deployment, overridden by the settings
    for all tenants."""

    @property
    def settings(self) -> Mapping[str, SettingValue]:
        """The settings that apply to the tenant."""
        return {**self.deployment_settings, **self.own_settings}
