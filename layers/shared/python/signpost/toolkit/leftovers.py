"""What a function started and left behind."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICK = 0.01
"""Seconds, as fine as Linux says when a process was started."""
DEATH_SHOWS_WITHIN = 0.1


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    command: str
    parent: int

    def __str__(self) -> str:
        return f"{self.pid} {self.command}"


class Leftovers:
    """Made before a call, and asked after it."""

    def __init__(self) -> None:
        self._threads = set(threading.enumerate())
        self._began = time.monotonic()

    def threads(self) -> Sequence[str]:
        return sorted(thread.name for thread in threading.enumerate() if thread not in self._threads)

    def processes(self) -> Sequence[Process]:
        """Those of ours that were born since, and theirs; not those whose parent has ended, which the system gave away.
        Empty where there is no /proc to say so."""
        oldest = time.monotonic() - self._began + TICK
        with contextlib.suppress(OSError):
            up = float((PROC / "uptime").read_text().split()[0])
            return [process for process, born in _descendants(os.getpid()) if up - born <= oldest]
        return ()


def kill(processes: Sequence[Process]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, signal.SIGKILL)
    until = time.monotonic() + DEATH_SHOWS_WITHIN
    own = {process.pid for process in processes if process.parent == os.getpid()}
    while own and time.monotonic() < until:
        own = {pid for pid in own if not _is_reaped(pid)}
        time.sleep(0.001 if own else 0)


def _is_reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _descendants(parent: int) -> Iterator[tuple[Process, float]]:
    """Each with the seconds since the system's start at which it was born."""
    for pid in _children(parent):
        with contextlib.suppress(OSError):  # it may end while we look
            command, _, fields = (PROC / f"{pid}/stat").read_text().partition(" (")[2].rpartition(") ")
            state, *_, born = fields.split()[:20]
            if state != "Z":
                yield Process(pid, command, parent), int(born) / os.sysconf("SC_CLK_TCK")
        yield from _descendants(pid)


def _children(parent: int) -> Iterator[int]:
    for listing in (PROC / f"{parent}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            yield from map(int, listing.read_text().split())
