"""Show the progress of a command: one live line on a terminal, plain lines elsewhere."""

import contextlib
import shutil
import time
from collections.abc import Generator
from typing import TextIO

HEARTBEAT = 10.0
"""Seconds between two lines of one step, where there is no terminal."""


class Progress:
    """Writes progress to one stream; a stream that is closed or broken is ignored."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.is_terminal = out.isatty()

    def say(self, text: str) -> None:
        """Write one line."""
        self._write(f"{text}\n")

    def dim(self, text: str) -> str:
        """Return the text in a dim style if the stream is a terminal."""
        return f"\033[2m{text}\033[0m" if self.is_terminal else text

    @contextlib.contextmanager
    def step(self, doing: str) -> Generator["Step"]:
        """Show a step while it runs: its name, how long it has taken so far, and whether it succeeded."""
        step = Step(self, doing)
        step.show("")
        try:
            yield step
        except BaseException:
            self._close("✗", step)
            raise
        self._close("✓", step)

    def live(self, text: str) -> None:
        """Replace the live line of a terminal."""
        columns = shutil.get_terminal_size().columns
        self._write(f"\r\033[K{text[: columns - 1]}")

    def _close(self, mark: str, step: "Step") -> None:
        start = "\r\033[K" if self.is_terminal else ""
        self._write(f"{start}{mark} {step.doing} {self.dim(f'{step.elapsed():.1f} s')}\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._out.write(text)
            self._out.flush()


class Step:
    """One step in progress, with the time since its start."""

    def __init__(self, progress: Progress, doing: str) -> None:
        self.doing = doing
        self._progress = progress
        self._started = time.monotonic()
        self._next_line = 0.0

    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self._started

    def show(self, detail: str) -> None:
        """Show the detail of the step: at once on a terminal, every HEARTBEAT seconds elsewhere."""
        line = f"· {self.doing} {self.elapsed():.0f} s  {detail}".rstrip()
        if self._progress.is_terminal:
            self._progress.live(line)
        elif self.elapsed() >= self._next_line:
            self._next_line = self.elapsed() + HEARTBEAT
            self._progress.say(line)
