"""The commands for a laptop cloud in the background: up, down, clean, status, env."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO

from local.emulator import PROJECT, Emulator
from local.errors import CloudError
from local.home import Home, ReadyNotice
from local.ports import Ports
from local.processes import command_of
from local.progress import Progress
from local.sam import SAM, tool_environment

_POLL_SECONDS = 0.1
_SECONDS_TO_STOP = 75.0


def up(home: Home, ports: Ports, progress: Progress) -> None:
    """Start a cloud in the background, showing its progress until it is ready."""
    if home.occupant() is None:
        _start(home, ports, progress)
    else:
        progress.say(_wait_until_ready(home, progress).closing)


def down(home: Home, progress: Progress) -> None:
    """Stop the cloud that runs in this home, or the emulator of a cloud that was killed."""
    pid = home.occupant()
    if pid is None:
        stopped = home.exists and Emulator(home.path, 0).stop_orphan()
        killed = "Stopped the emulator of a cloud that had been killed."
        progress.say(killed if stopped else "The laptop cloud is not running.")
        return
    _check_is_ours(pid)
    with progress.step("stopping the laptop cloud"):
        os.kill(pid, signal.SIGTERM)
        _wait_until_gone(home, pid)


def clean(home: Home, progress: Progress) -> None:
    """Stop the cloud and delete its data."""
    if not home.path.exists():
        progress.say(f"{home.path} does not exist, so there is nothing to delete.")
        return
    if not home.exists:
        raise CloudError(f"{home.path} is not the home of a laptop cloud, so nothing was deleted.")
    down(home, progress)
    shutil.rmtree(home.path)
    progress.say(f"Deleted {home.path}.")


def status(home: Home, progress: Progress) -> bool:
    """Print whether a cloud runs in this home, and return whether it serves."""
    pid, notice = home.occupant(), home.ready_notice()
    if notice is not None:
        progress.say(f"The laptop cloud is up (process {pid}).\n{notice.closing}")
    elif pid is not None:
        progress.say(f"The laptop cloud is starting or stopping (process {pid}).")
    else:
        saved = Emulator(home.path, 0).last_saved
        saved_at = f" Its data was saved at {saved:%Y-%m-%d %H:%M:%S}." if saved else ""
        progress.say(f"The laptop cloud is not running.{saved_at}")
    return notice is not None


def env(home: Home, progress: Progress) -> None:
    """Print the shell commands that direct AWS clients to this cloud: eval "$(python -m local env)"."""
    notice = home.ready_notice()
    if notice is None:
        raise CloudError("The laptop cloud is not running. Start it: make up")
    # A profile of a real account would override these keys, and a session token would make them invalid.
    progress.say("unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SESSION_TOKEN")
    for name, value in Emulator(home.path, Ports(notice.port).emulator).environment().items():
        progress.say(f"export {name}={shlex.quote(value)}")
    # The SAM CLI goes last in PATH, since its folder has a Python of its own.
    progress.say(f'export PATH={shlex.quote(str(PROJECT / ".venv/bin"))}:"$PATH":{shlex.quote(str(SAM.parent))}')


def _start(home: Home, ports: Ports, progress: Progress) -> None:
    home.create()
    with home.log.open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "local", "run", "--detached", "--home", home.path, "--port", str(ports.door)],
            cwd=PROJECT,
            env={**tool_environment(), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    with home.log.open("rb") as log:
        while home.ready_notice() is None:
            has_ended = child.poll() is not None
            _copy(log, progress)
            if has_ended:
                raise CloudError(f"The laptop cloud did not start. Its output is in {home.log}.")
            time.sleep(_POLL_SECONDS)
        _copy(log, progress)


def _copy(log: BinaryIO, progress: Progress) -> None:
    text = log.read().decode(errors="replace")
    if text:
        progress.say(text.removesuffix("\n"))


def _wait_until_ready(home: Home, progress: Progress) -> ReadyNotice:
    if (notice := home.ready_notice()) is not None:
        return notice
    with progress.step("waiting for the laptop cloud, which is starting"):
        while (notice := home.ready_notice()) is None:
            if home.occupant() is None:
                raise CloudError(f"The laptop cloud did not start. Its output, if any, is in {home.log}.")
            time.sleep(_POLL_SECONDS)
    return notice


def _check_is_ours(pid: int) -> None:
    words = command_of(pid).split()
    if "local" not in words or "run" not in words:
        raise CloudError(f"Process {pid} holds the lock of the laptop cloud but is another program; it still runs.")


def _wait_until_gone(home: Home, pid: int) -> None:
    deadline = time.monotonic() + _SECONDS_TO_STOP
    while home.occupant() == pid:
        if time.monotonic() > deadline:
            raise CloudError(f"The laptop cloud (process {pid}) has not stopped; see {home.log}.")
        time.sleep(_POLL_SECONDS)


def default_home() -> Path:
    """Return the directory of the cloud that `make run` starts."""
    return PROJECT / ".local/cloud"
