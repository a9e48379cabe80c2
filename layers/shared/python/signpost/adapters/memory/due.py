"""What is to be looked at again, in memory."""

from collections.abc import Sequence
from threading import Lock

from signpost.adapters.memory.instances import MemoryInstances
from signpost.ports import Clock
from signpost.wakes import Message, Posted


class MemoryDue:
    def __init__(self, instances: MemoryInstances) -> None:
        self._instances = instances

    def by(self, now: float, most: int) -> Sequence[Message]:
        return [Message(tenant, workflow_id) for tenant, workflow_id in self._instances.due(now)[:most]]


class MemoryWorkQueue:
    """Whoever plays the worker takes out what may be seen by now."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._waiting: list[tuple[float, Message]] = []

    def put(self, posted: Posted) -> None:
        with self._lock:
            self._waiting.append((self._clock.now() + posted.seconds, posted.message))

    def take(self) -> Sequence[Message]:
        with self._lock:
            now = self._clock.now()
            shown = [message for at, message in self._waiting if at <= now]
            self._waiting = [(at, message) for at, message in self._waiting if at > now]
        return shown
