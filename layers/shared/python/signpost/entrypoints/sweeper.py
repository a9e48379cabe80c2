"""The scheduled sweepers: one completes unfinished writes of content and collects unreferenced objects, the other wakes
workflows that are due.

Both make up for work that another function left uncounts.
"""

from collections.abc import Callable, Mapping
from itertools import batched
from typing import TYPE_CHECKING, Any

from signpost.content.kept_objects import RetentionScan
from signpost.content.retention import RetentionAges, continuous_scan, find_collectable, unnamed_since
from signpost.errors import Unavailable
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.telemetry import Telemetry
from signpost.workflow.wakes import QueuedWake

if TYPE_CHECKING:
    from signpost.content.ports import ContentReferences, KeptObjects
    from signpost.ports import Clock
    from signpost.workflow.ports import DueInstances, WorkQueue

RESERVE_MS = 20_000
"""Milliseconds reserved for work in progress when the time is up. The next run continues."""
REMOVALS_PER_CHECK = 100
"""The number of versions removed between two checks of the remaining time."""
MOST_DUE_INSTANCES = 1_000
"""The most workflows woken in one run, which ends long previous the next. The next run finds the others."""

type RecordSweepFault = Callable[[BaseException], None]


@dataclass(slots=True)
class _SweepCounts:
    completed: int = 0
    scanned: int = 0
    removed: int = 0
    waiting: int = 0


class ContentSweeper:
    def __init__(
        self,
        *,
        references: "ContentReferences",
        objects: "KeptObjects",
        clock: "Clock",
        telemetry: Telemetry,
        ages: RetentionAges,
    ) -> None:
        self._references = references
        self._objects = objects
        self._clock = clock
        self._telemetry = telemetry
        self._ages = ages

    def handle(self, remaining_ms: Callable[[], int], request_id: str) -> JsonObject:
        """Completes and collects as much as it can. Raises Unavailable after any failure, so that the alarm sees it."""
        counts = _SweepCounts()
        with self._telemetry.record_request(request_id, "SCHEDULE", "sweeper") as record:
            record.operation = "sweep"
            try:
                self._complete(counts, record.set_fault)
                self._collect(counts, lambda: remaining_ms() > RESERVE_MS, record.set_fault)
            except Exception as fault:  # noqa: BLE001 - the boundary: a fault is logged without its message
                record.set_fault(fault)
            record.set_status(503 if record.fault else 200)
        if record.fault is not None:
            raise Unavailable("Not all content could be swept; the log names the faults. The next run tries again.")
        return {
            "completed": counts.completed,
            "looked_at": counts.scanned,
            "removed": counts.removed,
            "waiting": counts.waiting,
        }

    def _complete(self, counts: _SweepCounts, report_fault: RecordSweepFault) -> None:
        for tenant in self._references.list_unfinished_tenants():
            try:
                self._references.complete(tenant)
                counts.completed += 1
            except Exception as fault:  # noqa: BLE001 - a boundary: the other tenants are independent
                report_fault(fault)

    def _collect(self, counts: _SweepCounts, has_time: Callable[[], bool], report_fault: RecordSweepFault) -> None:
        """Scans the tenants that are due, the least recently scanned first, so that each gets its turn."""
        due = sorted(
            (scanned_at, tenant or "", tenant)
            for tenant, scanned_at in self._objects.scopes().items()
            if scanned_at <= self._clock.now() - self._ages.between_looks
        )
        for scanned_at, _, tenant in due:
            try:
                previous = self._objects.read_last_scan(tenant) if scanned_at else None
                finished = has_time() and self._collect_scope(tenant, previous, counts, has_time)
            except Exception as fault:  # noqa: BLE001 - a boundary: the other tenants are independent
                report_fault(fault)
                finished = False
            counts.scanned += finished
            counts.waiting += not finished

    def _collect_scope(
        self, tenant: str | None, previous: RetentionScan | None, counts: _SweepCounts, has_time: Callable[[], bool]
    ) -> bool:
        """Scans one tenant and removes collectable objects. Returns False, without recording the scan, if the time was
        up."""
        now, history = self._clock.now(), self._references.history
        last = continuous_scan(previous, history, now, self._ages)
        scopes = self._references.scopes | (previous.scopes if previous is not None else self._references.scopes)
        versions = self._objects.versions(tenant)
        references = self._references.find_named_objects(
            tenant, scopes, after=last.version if last is not None else None
        )
        scan = RetentionScan(now, history, references.version, scopes, unnamed_since(last, references, versions, now))
        for removals in batched(find_collectable(scan, versions, self._ages), REMOVALS_PER_CHECK, strict=False):
            if not has_time():
                return False
            self._objects.remove(removals)
            counts.removed += len(removals)
        self._objects.write_scan(tenant, scan)
        return True


class DueSweeper:
    """Wakes the workflows whose rows say that they are due: the function that had to wake one may have died, or the
    time may have been too far ahead for the queue."""

    def __init__(self, *, due: "DueInstances", queue: "WorkQueue", clock: "Clock", telemetry: Telemetry) -> None:
        self._due = due
        self._queue = queue
        self._clock = clock
        self._telemetry = telemetry

    def handle(self, request_id: str) -> JsonObject:
        """Enqueues the due workflows, oldest first. Raises Unavailable if the queue did not accept all, so that the
        alarm sees it."""
        woken = 0
        with self._telemetry.record_request(request_id, "SCHEDULE", "sweeper") as record:
            record.operation = "sweep due"
            try:
                for message in self._due.find_due(self._clock.now(), MOST_DUE_INSTANCES):
                    self._queue.put(QueuedWake(message))
                    woken += 1
            except Exception as fault:  # noqa: BLE001 - the boundary: a fault is logged without its message
                record.set_fault(fault)
            record.set_status(503 if record.fault else 200)
        if record.fault is not None:
            raise Unavailable("Not all due workflows could be enqueued. The next run tries again.")
        return {"woken": woken}


class SweeperHandler:
    """Chooses the sweeper by the event of its schedule."""

    def __init__(self, *, sweeper: ContentSweeper, due: DueSweeper) -> None:
        self._sweeper = sweeper
        self._due = due

    def handle(self, event: Mapping[str, Any], remaining_ms: Callable[[], int], request_id: str) -> JsonObject:
        if event.get("sweep") == "due":
            return self._due.handle(request_id)
        return self._sweeper.handle(remaining_ms, request_id)
