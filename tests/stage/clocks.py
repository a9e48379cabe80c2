"""A clock that is behind, for functions whose environment asks for it."""

import time
from collections.abc import Mapping

from signpost.adapters.clock import SystemClock

CLOCK_BEHIND = "CLOCK_BEHIND"
"""The environment variable with the seconds by which the clock is behind."""


class SlowClock:
    def __init__(self, behind: float) -> None:
        self._behind = behind

    def now(self) -> float:
        return time.time() - self._behind


def choose_clock(environment: Mapping[str, str]) -> SystemClock | SlowClock:
    behind = environment.get(CLOCK_BEHIND)
    return SystemClock() if behind is None else SlowClock(float(behind))
