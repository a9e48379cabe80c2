"""The first ring around a function: once its time is over, DeadlinePassed is raised in it.

A function may do with signals and timers what it likes. Hence nothing that it left is trusted: handler, timer and mask
are put right before and after each call, and the handler raises only while a function runs whose time is over, so that
an alarm that comes late, or from elsewhere, hits neither the harness nor the next call.
"""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from signpost.errors import DeadlinePassed

NEVER = float("inf")
SOONEST = 0.001
AGAIN_AFTER = 0.1
"""Seconds after which it is raised again: the first one may end in a destructor, in a `with` block that waits for a
process or a thread, or in an event loop. Whatever cleans up has as long."""


class Ring:
    def __init__(self) -> None:
        self._ends_at = NEVER

    def within[Answer](self, ends_at: float, act: Callable[[], Answer]) -> Answer:
        """What `act` answers by then, on the monotonic clock. Raises DeadlinePassed."""
        if threading.current_thread() is not threading.main_thread():
            # Signals are the main thread's, where Lambda calls handlers. Elsewhere the other two rings hold.
            return act()
        self._put_right()
        try:
            try:
                self._ends_at = ends_at
                signal.setitimer(signal.ITIMER_REAL, max(ends_at - time.monotonic(), SOONEST), AGAIN_AFTER)
                return act()
            finally:
                # The interpreter looks for signals when it calls something, or jumps back. Here it does neither, so
                # that an alarm is raised in the block above or never.
                self._ends_at = NEVER
        finally:
            self._put_right()

    def _put_right(self) -> None:
        """The handler before the mask: what was held back arrives where it does nothing."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._ring)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})

    def _ring(self, _signal: int, _frame: FrameType | None) -> None:
        if time.monotonic() >= self._ends_at:
            raise DeadlinePassed
