"""Measures the present slowdown of this machine, for the few promises about seconds."""

import time
from collections.abc import Callable
from statistics import mean
from types import TracebackType
from typing import Self

MAX_SLOWDOWN = 4.0
"""The largest slowdown that counts. A higher limit would be one that no fault could miss."""
BURST_SECONDS = 0.01
"""Seconds of processor time."""
BURST_COUNT = 5
ATTEMPTS = 3
CLOCK_CORRECTION = 0.05
"""Seconds by which the time of day, the clock of deadlines, may be corrected while a test measures by another clock."""


class SlowdownMeter:
    """Measures the ratio of elapsed time to processor time of some work, before the block and after it.

    On a machine with nothing else to do that is about 1, and a promise of seconds is checked as it is. Where other
    processes take the processor away, the promise is extended to `seconds(...)`.
    """

    def __init__(self) -> None:
        self.slowdown = 1.0

    def __enter__(self) -> Self:
        self.slowdown = measure_slowdown()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.slowdown = max(self.slowdown, measure_slowdown())

    def extend(self, promised: float) -> float:
        """Return the promised seconds, multiplied by the slowdown of this machine."""
        return promised * self.slowdown


def shortest(attempt: Callable[[], float], promised: float) -> float:
    """Return the shortest seconds of up to three attempts, each divided by the slowdown of the machine meanwhile.

    The first attempt that keeps the promise is the last. A pause of the machine lengthens one attempt, a fault of the
    product lengthens all of them.
    """
    best = float("inf")
    for _ in range(ATTEMPTS):
        with SlowdownMeter() as machine:
            seconds = attempt()
        best = min(best, seconds / machine.slowdown)
        if best < promised:
            break
    return best


def measure_slowdown() -> float:
    """Return the mean over a few bursts of work of their elapsed time divided by their processor time."""
    return min(MAX_SLOWDOWN, max(1.0, mean(_burst_slowdown() for _ in range(BURST_COUNT))))


def _burst_slowdown() -> float:
    began, worked = time.perf_counter(), time.thread_time()
    while time.thread_time() - worked < BURST_SECONDS:
        pass
    return (time.perf_counter() - began) / (time.thread_time() - worked)
