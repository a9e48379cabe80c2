"""Processes that this or an earlier laptop cloud started."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

_LOOK_AGAIN_AFTER = 0.05


def command_of(pid: int) -> str:
    """The command line of a live process, empty if there is none."""
    listing = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self").exists():
        with contextlib.suppress(OSError):
            return listing.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return ""
    shown = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()


def stop_gently(pid: int, seconds: float) -> bool:
    """Send SIGTERM and wait; say whether the process ended in time. For processes that are not our children."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while command_of(pid) and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_AFTER)
    return not command_of(pid)


def stop_group(child: subprocess.Popen[bytes], seconds: float) -> None:
    """End a child that leads its own session, together with what it started."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(seconds)


def tail(log: Path, lines: int) -> str:
    """The last lines of a log."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])
