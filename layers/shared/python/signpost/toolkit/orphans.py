"""Orphans: threads and processes that a function started and left running."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence

from signpost.records import dataclass

PROC = "/proc"
TICK = 0.01
"""Seconds: the resolution of the start time of processes in Linux."""
DEATH_SHOWS_WITHIN = 0.1
"""Seconds to wait for killed processes to end."""


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    command: str
    parent: int

    def __str__(self) -> str:
        return f"{self.pid} {self.command}"


class OrphanTracker:
    """Finds the orphans of one call. It is built before the call and asked after it."""

    def __init__(self) -> None:
        self._threads = set(threading.enumerate())
        self._started_at = time.monotonic()

    def threads(self) -> Sequence[str]:
        return sorted(thread.name for thread in threading.enumerate() if thread not in self._threads)

    def processes(self) -> Sequence[Process]:
        """List the descendants of this process that were started since the call began.

        A process whose parent has ended is not found, because the system gives it to another parent. The list is empty
        on systems without /proc.
        """
        oldest = time.monotonic() - self._started_at + TICK
        with contextlib.suppress(OSError):
            up = float(_read_proc_file("uptime").split()[0])
            return [entry.process for entry in _find_descendants(os.getpid()) if up - entry.born <= oldest]
        return ()


def kill_processes(processes: Sequence[Process]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, signal.SIGKILL)
    until = time.monotonic() + DEATH_SHOWS_WITHIN
    child_pids = {process.pid for process in processes if process.parent == os.getpid()}
    while child_pids and time.monotonic() < until:
        child_pids = {pid for pid in child_pids if not _is_reaped(pid)}
        time.sleep(0.001 if child_pids else 0)


def _is_reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


@dataclass(frozen=True, slots=True)
class _ProcEntry:
    process: Process
    born: float
    """Seconds from the start of the system to the start of the process."""


def _find_descendants(ancestor: int) -> Iterator[_ProcEntry]:
    """Find all descendants by the parent ids of processes: not every kernel is built to list the children of a
    process."""
    by_parent: dict[int, list[_ProcEntry]] = {}
    for entry in _list_processes():
        by_parent.setdefault(entry.process.parent, []).append(entry)
    parents = [ancestor]
    while parents:
        children = by_parent.get(parents.pop(), [])
        parents.extend(child.process.pid for child in children)
        yield from children


def _list_processes() -> Iterator[_ProcEntry]:
    ticks = os.sysconf("SC_CLK_TCK")
    for name in sorted(filter(str.isdigit, os.listdir(PROC)), key=int):  # noqa: PTH208 - as in _read_proc_file
        with contextlib.suppress(OSError):  # the process may end during the scan
            command, _, fields = _read_proc_file(f"{name}/stat").partition(" (")[2].rpartition(") ")
            state, parent, *_, born = fields.split()[:20]
            if state != "Z":
                yield _ProcEntry(Process(int(name), command, int(parent)), int(born) / ticks)


def _read_proc_file(name: str) -> str:
    # Without pathlib, whose import would be a tenth of the import time of the harness.
    with open(f"{PROC}/{name}") as file:  # noqa: PTH123
        return file.read()
