"""What a function started and left behind."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence

from signpost.records import dataclass

PROC = "/proc"
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
            up = float(_read("uptime").split()[0])
            return [listed.process for listed in _descendants(os.getpid()) if up - listed.born <= oldest]
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


@dataclass(frozen=True, slots=True)
class _Listed:
    process: Process
    born: float
    """Seconds since the system's start."""


def _descendants(ancestor: int) -> Iterator[_Listed]:
    """Found by their parents: that a process lists its children is up to how the kernel was built."""
    by_parent: dict[int, list[_Listed]] = {}
    for listed in _living():
        by_parent.setdefault(listed.process.parent, []).append(listed)
    parents = [ancestor]
    while parents:
        children = by_parent.get(parents.pop(), [])
        parents.extend(child.process.pid for child in children)
        yield from children


def _living() -> Iterator[_Listed]:
    ticks = os.sysconf("SC_CLK_TCK")
    for name in sorted(filter(str.isdigit, os.listdir(PROC)), key=int):  # noqa: PTH208 - as in _read
        with contextlib.suppress(OSError):  # it may end while we look
            command, _, fields = _read(f"{name}/stat").partition(" (")[2].rpartition(") ")
            state, parent, *_, born = fields.split()[:20]
            if state != "Z":
                yield _Listed(Process(int(name), command, int(parent)), int(born) / ticks)


def _read(name: str) -> str:
    # pathlib would be a tenth of what the harness takes to import.
    with open(f"{PROC}/{name}") as file:  # noqa: PTH123
        return file.read()
