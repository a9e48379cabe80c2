"""The function in a process of its own, in a group of its own: whatever it does there, all of it can be killed.

A pipe and a fork, because that is what Lambda has: there is no /dev/shm, which the queues of multiprocessing need.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import NoReturn

from signpost.contract import Failure
from signpost.errors import DeadlinePassed
from signpost.execution.failures import failure
from signpost.execution.wire import NotOurs, reply_message, reply_of
from signpost.model import InputRequired, as_object
from signpost.toolkit.attempt import Ran, Value

LENGTH = 8
PIECE = 1 << 20
LOOK_AFTER = 0.05
"""Seconds between looks whether the child lives: what it started may hold the pipe open when it is gone."""
DEATH_SHOWS_WITHIN = 0.1


def run_apart(function: str, ends_at: float, act: Callable[[], Ran]) -> Ran:
    """Raises DeadlinePassed. Afterwards nothing of the child's group is left."""
    try:
        reading, child = _started(act)
    except OSError as fault:
        return Ran(failure("unreachable", function), f"no process could be started: {fault}")
    try:
        sent = _received(reading, child, ends_at)
        return _unpacked(sent, function) if sent is not None else _died(child, function)
    finally:
        os.close(reading)
        _kill(child)


def _started(act: Callable[[], Ran]) -> tuple[int, int]:
    """Where its result can be read, and the child that runs. Raises OSError."""
    _flush()  # what is buffered here would be written twice
    reading, writing = os.pipe()
    try:
        child = _fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if child == 0:
        _run_in_child(writing, act)
    os.close(writing)
    return reading, child


def _fork() -> int:
    with warnings.catch_warnings():
        # A function before may have left a thread behind. If the child hangs because of it, the deadline ends that.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _run_in_child(writing: int, act: Callable[[], Ran]) -> NoReturn:
    """Never returns: beyond the caller is the loop of Lambda's runtime, which belongs to the parent."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        own = os.getpid()
        ran = act()
        _flush()
        if os.getpid() == own:  # a function that forks comes back twice
            _send(writing, ran)
            status = 0
    finally:
        os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the author may have closed or replaced it
            stream.flush()


def _send(writing: int, ran: Ran) -> None:
    """A length, a line about it, and the result as it is."""
    outcome = ran.outcome
    result = outcome.text if isinstance(outcome, Value) else ""
    beside = [outcome.evidence, outcome.shown] if isinstance(outcome, Value) else None
    reply = None if isinstance(outcome, Value) else reply_message(outcome)
    line = json.dumps({"fault": ran.fault, "beside": beside, "reply": reply}).encode() + b"\n"
    _write(writing, (len(line) + len(result)).to_bytes(LENGTH) + line)
    _write(writing, result.encode("ascii"))


def _write(writing: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(writing, left) :]


def _received(reading: int, child: int, ends_at: float) -> bytearray | None:
    """None if the child ended, or let go of the pipe, without having sent everything. Raises DeadlinePassed."""
    data = bytearray()
    ready = select.poll()
    ready.register(reading, select.POLLIN)
    while len(data) < LENGTH or len(data) < LENGTH + int.from_bytes(data[:LENGTH]):
        left = ends_at - time.monotonic()
        if left <= 0:
            raise DeadlinePassed
        if ready.poll(min(left, LOOK_AFTER) * 1000):
            piece = os.read(reading, PIECE)
            if not piece:
                return None
            data += piece
        elif _status_of(child) and not ready.poll(0):
            return None
    return data


def _unpacked(sent: bytearray, function: str) -> Ran:
    try:
        return _ran_of(sent)
    except (KeyError, NotOurs, ValueError):
        return Ran(failure("crashed", function), "it wrote into the pipe of its own result")


def _ran_of(sent: bytearray) -> Ran:
    """Raises KeyError, NotOurs or ValueError for what `_send` did not write."""
    end = sent.find(b"\n", LENGTH)
    line = as_object(json.loads(sent[LENGTH:end]))
    fault, beside = str(line["fault"]), line["beside"]
    if isinstance(beside, list):
        evidence, shown = map(str, beside)
        return Ran(Value(str(memoryview(sent)[end + 1 :], "ascii"), evidence, shown), fault)
    reply = reply_of(json.dumps(line["reply"]).encode())
    if not isinstance(reply, InputRequired | Failure):
        raise NotOurs("it is no outcome")
    return Ran(reply, fault)


def _died(child: int, function: str) -> Ran:
    """Who died by SIGKILL was not killed by us: that comes later."""
    status = _soon(child)
    if status is None:
        return Ran(failure("crashed", function), "it closed the pipe of its own result")
    if status.si_code == os.CLD_EXITED:
        return Ran(failure("crashed", function), f"its process ended with exit code {status.si_status}")
    code = "out_of_memory" if status.si_status == signal.SIGKILL else "crashed"
    return Ran(failure(code, function), f"its process was ended by signal {status.si_status}")


def _soon(child: int) -> os.waitid_result | None:
    """A process lets go of its pipes a moment before it has ended."""
    until = time.monotonic() + DEATH_SHOWS_WITHIN
    status = _status_of(child)
    while status is None and time.monotonic() < until:
        time.sleep(0.001)
        status = _status_of(child)
    return status


def _status_of(child: int) -> os.waitid_result | None:
    """How it ended; None while it lives. It is left unreaped, so that its id, which is its group's, stays its own."""
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None  # a function before may have asked for no news of children


def _kill(child: int) -> None:
    # The group, and the child itself, which may not have got as far as founding it.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
