"""Ctrl-C and SIGTERM, once."""

import contextlib
import signal
from collections.abc import Generator
from types import FrameType
from typing import Self

from local.progress import Progress

STOPPING = "Still stopping what was started."
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Turns the first signal into a KeyboardInterrupt, and later ones into a word of patience.

    So whatever is being cleaned up after the first is never cut short.
    """

    def __init__(
        self, progress: Progress, stopping: str = "Still stopping; the emulator saves its data when it stops."
    ) -> None:
        self._progress = progress
        self._stopping = stopping
        self._arrived = False
        self._deferred = False
        self._previous: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        self._previous = {number: signal.signal(number, self._receive) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler if callable(handler) else signal.SIG_DFL)

    @contextlib.contextmanager
    def deferred(self) -> Generator[None]:
        """Let a few steps that belong together finish before a signal takes effect."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
        if self._arrived:
            raise KeyboardInterrupt

    def hold_off(self) -> None:
        """Let no signal take effect from now on."""
        self._arrived = True

    def _receive(self, _number: int, _frame: FrameType | None) -> None:
        if self._arrived:
            self._progress.say(self._stopping)
            return
        self._arrived = True
        if not self._deferred:
            raise KeyboardInterrupt
