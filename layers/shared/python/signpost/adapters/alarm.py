"""The deadline of a request, enforced by the system's interval timer."""

import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from signpost.adapters.dropped_deadlines import DroppedDeadlines
from signpost.errors import DeadlinePassed
from signpost.records import dataclass

SHORTEST_TIMER = 0.001
AGAIN_AFTER = 0.1
"""Seconds after which DeadlinePassed is raised again, since the code that it ends may swallow it."""
_NEVER = float("inf")
_ends_at = _NEVER
"""The nearest deadline of the alarms that are set, on the monotonic clock."""


@dataclass(frozen=True, slots=True)
class _Timer:
    """The timer as it was before an alarm: of an outer alarm, of other code, or none."""

    ends_at: float
    again_after: float


@contextmanager
def alarm(seconds: float) -> Generator[None]:
    """Raise DeadlinePassed in the main thread, where Lambda runs handlers, once the seconds have passed.

    Alarms nest, also in a timer that other code has set: inside, the nearer deadline counts, and afterwards the rest of
    the outer one.
    """
    global _ends_at  # noqa: PLW0603 - the process has one timer
    with DroppedDeadlines(_raise_again_if_passed):
        outer, timer, before = _ends_at, _read_timer(), signal.signal(signal.SIGALRM, _raise_deadline_passed)
        try:
            _ends_at = min(timer.ends_at, time.monotonic() + seconds)
            _set_timer(_Timer(_ends_at, AGAIN_AFTER))
            yield
        finally:
            _ends_at = outer
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            _set_timer(timer)


def _read_timer() -> _Timer:
    if _ends_at != _NEVER:
        return _Timer(_ends_at, AGAIN_AFTER)
    left, again_after = signal.getitimer(signal.ITIMER_REAL)
    return _Timer(time.monotonic() + left if left else _NEVER, again_after)


def _set_timer(timer: _Timer) -> None:
    delay = 0.0 if timer.ends_at == _NEVER else max(timer.ends_at - time.monotonic(), SHORTEST_TIMER)
    signal.setitimer(signal.ITIMER_REAL, delay, timer.again_after if delay else 0.0)


def _raise_again_if_passed() -> bool:
    """Raise DeadlinePassed once more, in a moment, if the deadline has passed. Returns whether it has."""
    has_passed = time.monotonic() >= _ends_at
    if has_passed:
        _set_timer(_Timer(_ends_at, AGAIN_AFTER))
    return has_passed


def _raise_deadline_passed(_signal: int, _frame: FrameType | None) -> None:
    if time.monotonic() >= _ends_at:
        raise DeadlinePassed
