"""Functions for the processes that this or an earlier laptop cloud started."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

_POLL_SECONDS = 0.05


def command_of(pid: int) -> str:
    """Return the command line of a process, or an empty text if no such process is alive."""
    listing = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self").exists():
        with contextlib.suppress(OSError):
            return listing.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return ""
    listed = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return listed.stdout.strip()


def stop_gently(pid: int, seconds: float) -> bool:
    """Send SIGTERM to a process that is not a child of this one, and wait. Return whether it ended in time."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while command_of(pid) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return not command_of(pid)


def stop_group(child: subprocess.Popen[bytes], seconds: float) -> None:
    """End a child that leads its own session, together with the processes that it started."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)


def tail(log: Path, lines: int) -> str:
    """Return the last lines of a log, or an empty text if it cannot be read."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])
