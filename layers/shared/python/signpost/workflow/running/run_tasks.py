"""Tasks: runs of one function as the clients that follow them see and cancel them. A task has no store of its own.

A task is shown to the principal that started it, for a day. The last status that it shows is kept beside the run, in
a row that is written once. So nothing that happens to the run later changes what the client was told.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from signpost.errors import Unavailable
from signpost.model import Principal
from signpost.workflow.engine.permissions import is_starter
from signpost.workflow.instance import Instance, StoredTask
from signpost.workflow.running.service import Workflows, is_workflow_id
from signpost.workflow.running.task_endings import build_cancelled_end, build_lost_end

if TYPE_CHECKING:
    from signpost.ports import Clock
    from signpost.workflow.ports import InstanceStore

TASK_SECONDS = 86_400.0
"""Seconds from its creation for which a task can be read. Results that are too long to be sent are kept as long."""


class RunTasks:
    """Finds and cancels tasks."""

    def __init__(self, *, workflows: Workflows, instances: "InstanceStore", clock: "Clock") -> None:
        self._workflows = workflows
        self._instances = instances
        self._clock = clock

    def find(self, task_id: str, principal: Principal) -> StoredTask | None:
        """Return the task; None if there is none, if another principal started it, or if it has expired.

        A task whose function was called and never reported a result ends here, as soon as its client asks: the worker
        that looks after lost leases may come later."""
        tenant, now = principal.tenant, self._clock.now()
        found = (
            self._instances.find_task(tenant, task_id, lambda head: _may_follow(head, principal, now))
            if is_workflow_id(task_id)
            else None
        )
        if found is None or found.end is not None or not _is_lost(found.instance, now):
            return found
        end = self._instances.end_task(tenant, task_id, build_lost_end(found.instance, now))
        return StoredTask(found.instance, end)

    def cancel(self, task_id: str, principal: Principal, ends_at: float) -> bool:
        """Cancel the task unless it has ended; return False if there is none. A function that is being executed is not
        stopped, and its result is kept in the run: the task stays cancelled."""
        found = self.find(task_id, principal)
        if found is None:
            return False
        end = found.end
        if end is None:
            end = self._instances.end_task(principal.tenant, task_id, build_cancelled_end(self._clock.now()))
        if end.status == "cancelled":
            with suppress(Unavailable):  # a worker that takes up the run finds the task cancelled, and cancels the run
                self._workflows.cancel_waiting(principal, task_id, ends_at)
        return True


def _may_follow(head: Instance, principal: Principal, now: float) -> bool:
    return head.is_task and is_starter(head, principal) and now < head.started_at + TASK_SECONDS


def _is_lost(instance: Instance, now: float) -> bool:
    """Return whether the result of the function was not received, and the function may not be called again."""
    claim = instance.claim
    return claim is not None and claim.is_in_doubt(now)
