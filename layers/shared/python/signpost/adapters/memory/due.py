"""Due instances and the work queue, in memory."""

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.adapters.memory.timetables import MemoryTimetables
from signpost.workflow.wakes import SCHEDULES, QueuedWake, WakeMessage

if TYPE_CHECKING:
    from signpost.ports import Clock


class MemoryDue:
    def __init__(self, instances: MemoryInstanceStore, timetables: MemoryTimetables | None = None) -> None:
        self._instances = instances
        self._timetables = timetables

    def find_due(self, now: float, most: int) -> Sequence[WakeMessage]:
        instances = [WakeMessage(tenant, workflow_id) for tenant, workflow_id in self._instances.find_due(now)]
        tenants = self._timetables.find_due(now) if self._timetables is not None else ()
        return [*instances, *(WakeMessage(tenant, SCHEDULES) for tenant in tenants)][:most]


class MemoryWorkQueue:
    """The work queue; `take` removes and returns the messages with an expired delay."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._lock = Lock()
        self._waiting: list[tuple[float, WakeMessage]] = []

    def put(self, posted: QueuedWake) -> None:
        with self._lock:
            self._waiting.append((self._clock.now() + posted.seconds, posted.message))

    def take(self) -> Sequence[WakeMessage]:
        with self._lock:
            now = self._clock.now()
            visible = [message for at, message in self._waiting if at <= now]
            self._waiting = [(at, message) for at, message in self._waiting if at > now]
        return visible
