"""The handling of Ctrl-C, SIGTERM and SIGHUP: only the first signal interrupts."""

import contextlib
import signal
from collections.abc import Generator
from types import FrameType
from typing import Self

from local.progress import Progress

STOPPING = "Still stopping the processes that were started."
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Turns the first signal into a KeyboardInterrupt, and prints a message at each later one.

    So the cleanup that follows the first signal is never cut short.
    """

    def __init__(
        self, progress: Progress, stopping: str = "Still stopping; the emulator saves its data when it stops."
    ) -> None:
        self._progress = progress
        self._stopping = stopping
        self._has_arrived = False
        self._is_deferred = False
        self._previous: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        self._previous = {number: signal.signal(number, self._receive) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler if callable(handler) else signal.SIG_DFL)

    @contextlib.contextmanager
    def defer(self) -> Generator[None]:
        """Delay the effect of a signal to the end of the block, so that steps that belong together all finish."""
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False
        if self._has_arrived:
            raise KeyboardInterrupt

    def ignore_signals(self) -> None:
        """Answer every further signal with the message only."""
        self._has_arrived = True

    def _receive(self, _number: int, _frame: FrameType | None) -> None:
        if self._has_arrived:
            self._progress.say(self._stopping)
            return
        self._has_arrived = True
        if not self._is_deferred:
            raise KeyboardInterrupt
