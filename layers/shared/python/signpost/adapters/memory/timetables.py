"""The timetables of tenants with schedules, in memory."""

from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from signpost.workflow.timetable import Timetable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from signpost.ports import Clock


class MemoryTimetables:
    def __init__(self, clock: "Clock") -> None:
        self.clock = clock
        self._lock = Lock()
        self._by_tenant: dict[str, Timetable] = {}

    def load(self, tenant: str) -> Timetable | None:
        with self._lock:
            return self._by_tenant.get(tenant)

    def save(self, tenant: str, timetable: Timetable, *, replacing: int) -> bool:
        with self._lock:
            stored = self._by_tenant.get(tenant)
            if stored is None or stored.revision != replacing:
                return False
            self._by_tenant[tenant] = timetable
        return True

    def wake(self, tenant: str) -> None:
        """Make the timetable due now, as a publication does."""
        with self._lock:
            stored = self._by_tenant.get(tenant, Timetable(0, None, {}))
            self._by_tenant[tenant] = replace(stored, revision=stored.revision + 1, due_at=self.clock.now())

    def find_due(self, now: float) -> "Sequence[str]":
        """Return the tenants whose schedules are due."""
        with self._lock:
            return [name for name, row in self._by_tenant.items() if row.due_at is not None and row.due_at <= now]
