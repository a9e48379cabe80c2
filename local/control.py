"""A laptop cloud in the background: up, down, clean, status, env."""

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
from local.home import Home, Ready
from local.ports import Ports
from local.processes import command_of
from local.progress import Progress
from local.stack import SAM, tool_environment

_LOOK_AGAIN_AFTER = 0.1
_SECONDS_TO_STOP = 75.0


def up(home: Home, ports: Ports, progress: Progress) -> None:
    """Start a cloud in the background, showing its progress until it is ready."""
    if home.occupant() is None:
        _start(home, ports, progress)
    else:
        progress.say(_wait_until_ready(home, progress).closing)


def down(home: Home, progress: Progress) -> None:
    """Stop the cloud that runs in this home, or the emulator of one that was killed."""
    pid = home.occupant()
    if pid is None:
        stopped = home.exists and Emulator(home.path, 0).stop_orphan()
        progress.say("Stopped an emulator that was left behind." if stopped else "The laptop cloud is not running.")
        return
    _check_is_ours(pid)
    with progress.step("stopping the laptop cloud"):
        os.kill(pid, signal.SIGTERM)
        _wait_until_gone(home, pid)


def clean(home: Home, progress: Progress) -> None:
    """Stop the cloud and delete its data."""
    if not home.path.exists():
        progress.say(f"There is nothing in {home.path}.")
        return
    if not home.exists:
        raise CloudError(f"{home.path} is not the home of a laptop cloud, so nothing was deleted.")
    down(home, progress)
    shutil.rmtree(home.path)
    progress.say(f"Deleted {home.path}.")


def status(home: Home, progress: Progress) -> bool:
    """Say whether a cloud runs and serves."""
    pid, ready = home.occupant(), home.ready()
    if ready is not None:
        progress.say(f"The laptop cloud is up (process {pid}).\n{ready.closing}")
    elif pid is not None:
        progress.say(f"The laptop cloud is starting or stopping (process {pid}).")
    else:
        saved = Emulator(home.path, 0).last_saved
        kept = f" Its data was saved at {saved:%Y-%m-%d %H:%M:%S}." if saved else ""
        progress.say(f"The laptop cloud is not running.{kept}")
    return ready is not None


def env(home: Home, progress: Progress) -> None:
    """Print what makes a shell talk to this cloud: eval "$(python -m local env)"."""
    ready = home.ready()
    if ready is None:
        raise CloudError("The laptop cloud is not running. Start it: make up")
    # A profile or a session token of a real account would win over these keys, or spoil them.
    progress.say("unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SESSION_TOKEN")
    for name, value in Emulator(home.path, Ports(ready.port).emulator).environment().items():
        progress.say(f"export {name}={shlex.quote(value)}")
    # Last, since it has a Python of its own.
    progress.say(f'export PATH={shlex.quote(str(PROJECT / ".venv/bin"))}:"$PATH":{shlex.quote(str(SAM.parent))}')


def _start(home: Home, ports: Ports, progress: Progress) -> None:
    home.make()
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
        while home.ready() is None:
            ended = child.poll() is not None
            _copy(log, progress)
            if ended:
                raise CloudError(f"The laptop cloud did not start; what it said is in {home.log}.")
            time.sleep(_LOOK_AGAIN_AFTER)
        _copy(log, progress)


def _copy(log: BinaryIO, progress: Progress) -> None:
    news = log.read().decode(errors="replace")
    if news:
        progress.say(news.removesuffix("\n"))


def _wait_until_ready(home: Home, progress: Progress) -> Ready:
    if (ready := home.ready()) is not None:
        return ready
    with progress.step("waiting for the laptop cloud, which is starting"):
        while (ready := home.ready()) is None:
            if home.occupant() is None:
                raise CloudError(f"The laptop cloud did not start; what it said may be in {home.log}.")
            time.sleep(_LOOK_AGAIN_AFTER)
    return ready


def _check_is_ours(pid: int) -> None:
    words = command_of(pid).split()
    if "local" not in words or "run" not in words:
        raise CloudError(f"Process {pid} holds the lock of the laptop cloud but is not one, so it was left alone.")


def _wait_until_gone(home: Home, pid: int) -> None:
    deadline = time.monotonic() + _SECONDS_TO_STOP
    while home.occupant() == pid:
        if time.monotonic() > deadline:
            raise CloudError(f"The laptop cloud (process {pid}) has not stopped; see {home.log}.")
        time.sleep(_LOOK_AGAIN_AFTER)


def default_home() -> Path:
    """Where `make run` keeps its cloud."""
    return PROJECT / ".local/cloud"
