"""How slow this machine is at the moment, for the few promises that are about seconds."""

import time
from statistics import mean
from types import TracebackType
from typing import Self

MOST = 4.0
"""A machine slower than that is taken for one of this speed: a bar that no fault could miss is none."""
BURST = 0.01
"""Seconds of a processor."""
BURSTS = 5


class Machine:
    """Measures how much longer work takes than the processor needs for it, before the block and after it.

    On a machine with nothing else to do that is about 1, and a promise of seconds is held to just these. Where other
    processes take the processor away, the promise is held to `seconds(...)` of them.
    """

    def __init__(self) -> None:
        self.slowdown = 1.0

    def __enter__(self) -> Self:
        self.slowdown = slowdown()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.slowdown = max(self.slowdown, slowdown())

    def seconds(self, promised: float) -> float:
        """The promised seconds, as this machine had them meanwhile."""
        return promised * self.slowdown


def slowdown() -> float:
    """The mean of a few bursts of work: the time that they took over the time that the processor worked on them."""
    return min(MOST, max(1.0, mean(_stretched() for _ in range(BURSTS))))


def _stretched() -> float:
    began, worked = time.perf_counter(), time.thread_time()
    while time.thread_time() - worked < BURST:
        pass
    return (time.perf_counter() - began) / (time.thread_time() - worked)
