"""Finishes what somebody left half done, collects the objects that nothing names any more, and has workflows looked
at that something is due of.
"""

from collections.abc import Callable, Mapping
from itertools import batched
from typing import Any

from signpost.errors import Unavailable
from signpost.kept import Look
from signpost.model import JsonObject
from signpost.ports import Clock, ContentReferences, Due, KeptObjects, WorkQueue
from signpost.records import dataclass
from signpost.registry.collection import Ages, collectable, continued, looked
from signpost.telemetry import Telemetry
from signpost.wakes import Posted

RESERVE_MS = 20_000
"""For what is under way when the time is up; the next run goes on."""
AT_ONCE = 100
"""Versions to remove between two looks at the clock."""
MOST_DUE = 1_000
"""Workflows of a run. It is over long before the next; who has waited less is found by that."""

type Failed = Callable[[BaseException], None]


@dataclass(slots=True)
class _Done:
    completed: int = 0
    looked_at: int = 0
    removed: int = 0
    waiting: int = 0


class Sweeper:
    def __init__(
        self,
        *,
        references: ContentReferences,
        objects: KeptObjects,
        clock: Clock,
        telemetry: Telemetry,
        ages: Ages,
    ) -> None:
        self._references = references
        self._objects = objects
        self._clock = clock
        self._telemetry = telemetry
        self._ages = ages

    def handle(self, remaining_ms: Callable[[], int], request_id: str) -> JsonObject:
        """Raises Unavailable if anything failed, so that the alarm hears of it; the rest is done nevertheless."""
        done = _Done()
        with self._telemetry.request(request_id, "SCHEDULE", "sweeper") as record:
            record.operation = "sweep"
            try:
                self._complete(done, record.failed)
                self._collect(done, lambda: remaining_ms() > RESERVE_MS, record.failed)
            except Exception as fault:  # noqa: BLE001 - the boundary: what fails is logged without its message
                record.failed(fault)
            record.answered(503 if record.fault else 200)
        if record.fault is not None:
            raise Unavailable("Not everything could be done; the log says where. The next run tries again.")
        return {
            "completed": done.completed,
            "looked_at": done.looked_at,
            "removed": done.removed,
            "waiting": done.waiting,
        }

    def _complete(self, done: _Done, failed: Failed) -> None:
        for tenant in self._references.unfinished():
            try:
                self._references.complete(tenant)
                done.completed += 1
            except Exception as fault:  # noqa: BLE001 - a boundary: one tenant's trouble is not the others'
                failed(fault)

    def _collect(self, done: _Done, has_time: Callable[[], bool], failed: Failed) -> None:
        """Who was looked at longest ago comes first, so that everybody's turn comes."""
        due = sorted(
            (looked_at, tenant or "", tenant)
            for tenant, looked_at in self._objects.scopes().items()
            if looked_at <= self._clock.now() - self._ages.between_looks
        )
        for looked_at, _, tenant in due:
            try:
                before = self._objects.last_look(tenant) if looked_at else None
                finished = has_time() and self._look_at(tenant, before, done, has_time)
            except Exception as fault:  # noqa: BLE001 - a boundary: one tenant's trouble is not the others'
                failed(fault)
                finished = False
            done.looked_at += finished
            done.waiting += not finished

    def _look_at(self, tenant: str | None, before: Look | None, done: _Done, has_time: Callable[[], bool]) -> bool:
        """False if the time was up; then this look has not been."""
        now, history = self._clock.now(), self._references.history
        last = continued(before, history, now, self._ages)
        scopes = self._references.scopes | (before.scopes if before is not None else self._references.scopes)
        versions = self._objects.versions(tenant)
        named = self._references.named(tenant, scopes, after=last.version if last is not None else None)
        look = Look(now, history, named.version, scopes, looked(last, named, versions, now))
        for some in batched(collectable(look, versions, self._ages), AT_ONCE, strict=False):
            if not has_time():
                return False
            self._objects.remove(some)
            done.removed += len(some)
        self._objects.remember(tenant, look)
        return True


class DueSweeper:
    """Whoever was to wake a workflow may have died, or wakes it later than the queue can wait: its row says when."""

    def __init__(self, *, due: Due, queue: WorkQueue, clock: Clock, telemetry: Telemetry) -> None:
        self._due = due
        self._queue = queue
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, request_id: str) -> JsonObject:
        """Oldest first. Raises Unavailable if the queue did not take all of them, so that the alarm hears of it."""
        woken = 0
        with self._telemetry.request(request_id, "SCHEDULE", "sweeper") as record:
            record.operation = "sweep due"
            try:
                for message in self._due.by(self._clock.now(), MOST_DUE):
                    self._queue.put(Posted(message))
                    woken += 1
            except Exception as fault:  # noqa: BLE001 - the boundary: what fails is logged without its message
                record.failed(fault)
            record.answered(503 if record.fault else 200)
        if record.fault is not None:
            raise Unavailable("Not all that is due could be sent; the next run tries again.")
        return {"woken": woken}


class SweeperDoor:
    """Two things that there are schedules for."""

    def __init__(self, *, sweeper: Sweeper, due: DueSweeper) -> None:
        self._sweeper = sweeper
        self._due = due

    def handle(self, event: Mapping[str, Any], remaining_ms: Callable[[], int], request_id: str) -> JsonObject:
        if event.get("sweep") == "due":
            return self._due.handle(request_id)
        return self._sweeper.handle(remaining_ms, request_id)
