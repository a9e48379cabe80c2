"""The deadline timer: it raises DeadlinePassed in a function at its deadline. It is the first of three safeguards.

A function may change signals and timers as it likes. Hence no state that it leaves is trusted: handler, timer and mask
are reset before and after each call. The handler raises only while a function runs past its deadline, so that an alarm
that comes late, or from another source, hits neither the harness nor the next call.
"""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType

from signpost.adapters.alarm import alarm
from signpost.adapters.dropped_deadlines import DroppedDeadlines
from signpost.errors import DeadlinePassed

NEVER = float("inf")
SHORTEST_TIMER = 0.001
REPEAT_AFTER = 0.1
"""Seconds after which DeadlinePassed is raised again: the first one may be swallowed in a `with` block that waits for a
process or a thread, or in an event loop. Clean-up code has the same time. One that Python drops is raised again at
once."""


class DeadlineTimer:
    """The signal timer that raises DeadlinePassed in a function at its deadline."""

    def __init__(self) -> None:
        self._ends_at = NEVER

    def run_within[Answer](self, ends_at: float, act: Callable[[], Answer]) -> Answer:
        """Run `act` and return its answer. Raises DeadlinePassed at `ends_at`, a time of the monotonic clock."""
        if not _is_main_thread():
            # Python handles signals only in the main thread, where Lambda calls handlers. In other threads the other
            # two safeguards stop the function.
            return act()
        self._reset_signals()
        with DroppedDeadlines(self._raise_again_if_passed):
            return self._run_with_timer(ends_at, act)

    def _run_with_timer[Answer](self, ends_at: float, act: Callable[[], Answer]) -> Answer:
        try:
            try:
                self._ends_at = ends_at
                self._start_timer()
                return act()
            finally:
                # The interpreter checks for signals at calls and at backward jumps. This line has neither, so an alarm
                # is raised in the block above or never.
                self._ends_at = NEVER
        finally:
            self._reset_signals()

    def _reset_signals(self) -> None:
        """Reset timer, handler and mask. The handler is set before the mask, so that a blocked alarm then arrives at a
        handler that ignores it."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._raise_if_passed)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})

    def _start_timer(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, max(self._ends_at - time.monotonic(), SHORTEST_TIMER), REPEAT_AFTER)

    def _raise_again_if_passed(self) -> bool:
        """Raise DeadlinePassed once more, in a moment, if the deadline has passed. Returns whether it has."""
        has_passed = time.monotonic() >= self._ends_at
        if has_passed:
            self._start_timer()
        return has_passed

    def _raise_if_passed(self, _signal: int, _frame: FrameType | None) -> None:
        if time.monotonic() >= self._ends_at:
            raise DeadlinePassed


def nested_alarm(seconds: float) -> AbstractContextManager[None]:
    """Raise DeadlinePassed after the seconds, also while a function runs within its own deadline, which counts again
    afterwards. In other threads than the main one, in which no signal arrives, only the deadline of the function
    counts."""
    return alarm(seconds) if _is_main_thread() else nullcontext()


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
