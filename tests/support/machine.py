"""How slow this machine is at the moment, for the few promises that are about seconds."""

import threading
import time
from types import TracebackType
from typing import Self

BURST = 0.005
"""Seconds of a processor."""
PAUSE = 0.02


class Machine:
    """Measures how much longer work takes than the processor needs for it, until the block ends.

    On a machine with nothing else to do that is 1.0, and a promise of seconds is held to just these. Where other
    processes take the processor away, the promise is held to `seconds(...)` of them.
    """

    def __init__(self) -> None:
        self.slowdown = 1.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def seconds(self, promised: float) -> float:
        """The promised seconds, as this machine had them meanwhile."""
        return promised * self.slowdown

    def _measure(self) -> None:
        while not self._ended.wait(PAUSE):
            self.slowdown = max(self.slowdown, stretched())


def stretched() -> float:
    """How many times longer a burst of work takes than the processor works on it."""
    began, worked = time.perf_counter(), time.thread_time()
    while time.thread_time() - worked < BURST:
        pass
    return (time.perf_counter() - began) / (time.thread_time() - worked)


def slowdown() -> float:
    """The worst of a few bursts: by how much to lengthen what a test gives others to do."""
    return max(1.0, *(stretched() for _ in range(10)))
