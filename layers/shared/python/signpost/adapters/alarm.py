"""The deadline of a request, held by the system's interval timer."""

import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from signpost.errors import DeadlinePassed

SOONEST = 0.001


@contextmanager
def alarm(seconds: float) -> Generator[None]:
    """Raises DeadlinePassed in the main thread, where Lambda runs handlers, once the time is over. Inside another one
    the shorter time counts, and afterwards what is left of the other."""
    before = signal.signal(signal.SIGALRM, _ring)
    began = time.monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, max(seconds, SOONEST))
    if 0 < outer < seconds:
        signal.setitimer(signal.ITIMER_REAL, outer)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - began), SOONEST) if outer else 0)
        signal.signal(signal.SIGALRM, before)


def _ring(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise DeadlinePassed
