"""The deadline of a request, enforced by the system's interval timer."""

import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from signpost.errors import DeadlinePassed

SHORTEST_TIMER = 0.001
AGAIN_AFTER = 0.1
"""Seconds after which DeadlinePassed is raised again: Python drops an exception that a destructor or a callback of the
garbage collector raises, and the deadline would be lost with it."""
_NEVER = float("inf")
_ends_at = _NEVER
"""The nearest deadline of the alarms that are set, on the monotonic clock."""


@contextmanager
def alarm(seconds: float) -> Generator[None]:
    """Raise DeadlinePassed in the main thread, where Lambda runs handlers, once the seconds have passed.

    Alarms nest: inside another alarm the nearer deadline counts, and afterwards the rest of the outer one.
    """
    global _ends_at  # noqa: PLW0603 - the process has one timer
    outer, before = _ends_at, signal.signal(signal.SIGALRM, _raise_deadline_passed)
    try:
        _ends_at = min(outer, time.monotonic() + seconds)
        _set_timer()
        yield
    finally:
        _ends_at = outer
        _set_timer()
        signal.signal(signal.SIGALRM, before)


def _set_timer() -> None:
    delay = 0.0 if _ends_at == _NEVER else max(_ends_at - time.monotonic(), SHORTEST_TIMER)
    signal.setitimer(signal.ITIMER_REAL, delay, AGAIN_AFTER if delay else 0.0)


def _raise_deadline_passed(_signal: int, _frame: FrameType | None) -> None:
    if time.monotonic() >= _ends_at:
        raise DeadlinePassed
