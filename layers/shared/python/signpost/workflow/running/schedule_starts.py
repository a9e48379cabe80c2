"""Starts the workflows of schedules that are due. However often it runs for an occasion, it starts one run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.workflow import audit_events
from signpost.workflow.instance import AuditEvent
from signpost.workflow.running.event_starts import OneRunStarter
from signpost.workflow.running.service import StartRequest, WorkflowRefusal
from signpost.workflow.schedules import Schedule
from signpost.workflow.timetable import LONGEST_MESSAGE, OccasionResult, Timetable, find_due, find_next
from signpost.workflow.wakes import SCHEDULES

if TYPE_CHECKING:
    from signpost.ports import Clock, Ids
    from signpost.workflow.ports import InstanceStore, ScheduleSource, Timetables

RETRY_SECONDS = 60.0
"""Seconds after which schedules are looked at again if one of them could not be started for a passing reason."""


class ScheduleStarter:
    """Implements `ScheduleWaker` of the workflow ports."""

    def __init__(
        self,
        *,
        schedules: "ScheduleSource",
        timetables: "Timetables",
        starter: OneRunStarter,
        instances: "InstanceStore",
        clock: "Clock",
        ids: "Ids",
    ) -> None:
        self._schedules = schedules
        self._timetables = timetables
        self._starter = starter
        self._instances = instances
        self._clock = clock
        self._ids = ids

    def start_due(self, tenant: str) -> None:
        timetable = self._timetables.load(tenant)
        if timetable is None:
            return
        schedules, now = self._schedules.list_active(tenant), self._clock.now()
        due = find_due(schedules, timetable, now)
        results = {name: result for name, result in timetable.results.items() if name in schedules}
        fault = self._start_each(tenant, [(schedules[name], occasion) for name, occasion in due.items()], results)
        times = [find_next(schedules, now), now + RETRY_SECONDS if fault is not None else None]
        due_at = min((at for at in times if at is not None), default=None)
        self._save(tenant, timetable, Timetable(timetable.revision + 1, due_at, results))
        if fault is not None:
            raise fault

    def _start_each(
        self, tenant: str, due: Sequence[tuple[Schedule, float]], results: dict[str, OccasionResult]
    ) -> Exception | None:
        """Start the workflows, and add their results. Return the first fault."""
        faults: list[Exception] = []
        for schedule, occasion in due:
            try:
                results[schedule.id] = self._start(tenant, schedule, occasion)
            except Exception as fault:  # noqa: BLE001 - a boundary: the other schedules are independent
                faults.append(fault)
        return faults[0] if faults else None

    def _save(self, tenant: str, before: Timetable, after: Timetable) -> None:
        """Save a changed timetable. If it cannot be saved, a publication or another worker came first: that publication
        has made the row due again, and that worker has done the same work."""
        if (after.due_at, after.results) != (before.due_at, before.results):
            self._timetables.save(tenant, after, replacing=before.revision)

    def _start(self, tenant: str, schedule: Schedule, occasion: float) -> OccasionResult:
        principal = schedule.principal_in(tenant)
        request = StartRequest(schedule.workflow, schedule.input or {}, client_token=f"{occasion:.0f}")
        run, refusal = self._starter.start(request, principal)
        if refusal is None:
            return OccasionResult(occasion, "started", run)
        self._record_refusal(tenant, schedule, occasion, refusal)
        return OccasionResult(occasion, "refused", run, refusal.code, refusal.message[:LONGEST_MESSAGE])

    def _record_refusal(self, tenant: str, schedule: Schedule, occasion: float, refusal: WorkflowRefusal) -> None:
        record = audit_events.schedule_refused(schedule.id, schedule.workflow, occasion, refusal.code, refusal.message)
        subject, now = schedule.principal_in(tenant).subject, self._clock.now()
        self._instances.note(tenant, SCHEDULES, [AuditEvent(record, now, f"cor_{self._ids.new()}", subject)])
