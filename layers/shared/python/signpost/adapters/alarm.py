"""The deadline of a request, held by the system's interval timer."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from signpost.errors import DeadlinePassed


@contextmanager
def alarm(seconds: float) -> Generator[None]:
    """Raises DeadlinePassed in the main thread, where Lambda runs handlers, once the time is over."""
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise DeadlinePassed
