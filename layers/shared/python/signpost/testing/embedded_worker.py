"""The work of the workflow worker and of the sweeper, done when a test asks for it."""

from typing import TYPE_CHECKING

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.workflow.running.wakeups import Waker

if TYPE_CHECKING:
    from signpost.ports import Clock

WORKER_SECONDS = 840.0
"""The seconds that the worker has for a wake."""
MAX_ROUNDS = 200
"""The limit of wake rounds, after which the workflow is taken to be endless."""


def run_until_idle(waker: Waker, instances: MemoryInstanceStore, clock: "Clock", *, is_swept: bool) -> None:
    """Wake instances until no wake that is due is left, nor, with `is_swept`, any due instance in the index."""
    for _ in range(MAX_ROUNDS):
        hinted = process_due_wakes(waker, instances, clock)
        if not (is_swept and wake_due_instances(waker, instances, clock)) and not hinted:
            return
    raise AssertionError(f"Instances are still due after all rounds of waking: {instances.find_due(clock.now())}")


def process_due_wakes(waker: Waker, instances: MemoryInstanceStore, clock: "Clock") -> int:
    """Process the wakes that the stream carries and that are due, and return their number."""
    now = clock.now()
    due = [hint for hint in instances.wakes if hint[1].at <= now]
    instances.wakes[:] = [hint for hint in instances.wakes if hint[1].at > now]
    for tenant, wake in due:
        waker.wake(tenant, wake.workflow_id, clock.now() + WORKER_SECONDS)
    return len(due)


def wake_due_instances(waker: Waker, instances: MemoryInstanceStore, clock: "Clock") -> int:
    """Wake all instances that are due in the index, as the sweeper does, and return their number."""
    due = instances.find_due(clock.now())
    for tenant, workflow_id in due:
        waker.wake(tenant, workflow_id, clock.now() + WORKER_SECONDS)
    return len(due)
