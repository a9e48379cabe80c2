"""Runs a function in a child process with a process group of its own, so that the executor can kill all of it.

It uses a pipe and a fork, because Lambda has no /dev/shm, which the queues of multiprocessing need.
"""

import contextlib
import json
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import NoReturn

from signpost.calling.failures import failure
from signpost.calling.wire import MalformedMessage, parse_reply, reply_message
from signpost.calling.wire_client import notice_objects, notices_in
from signpost.contract import Failure
from signpost.errors import DeadlinePassed
from signpost.model import InputRequired, JsonObject, Notice, as_object
from signpost.toolkit.attempt import EncodedResult, RunResult

LENGTH_BYTES = 8
NOTICE_START = b'{"notices": '
"""The beginning of the line of a notice."""
READ_SIZE = 1 << 20
POLL_INTERVAL = 0.05
"""Seconds between checks whether the child still runs. Processes that it started may hold the pipe open after it
ended."""
DEATH_SHOWS_WITHIN = 0.1
"""Seconds to wait for the exit status of a child that has closed its pipe."""


type NoticeSink = Callable[[Notice], None]
type IsolatedAct = Callable[[NoticeSink], RunResult]
"""The work of the child. It passes its notices to the sink as they arise."""


def run_isolated(function: str, ends_at: float, act: IsolatedAct, receive: NoticeSink) -> RunResult:
    """Run `act` in a child process and return its result. Afterwards the child's whole group is killed. `receive` gets
    the notices of the child, also of one that dies or does not end in time. Raises DeadlinePassed."""
    try:
        reading, child = _start_child(act)
    except OSError as fault:
        return RunResult(failure("unreachable", function), f"no process could be started: {fault}")
    try:
        message = _receive(reading, child, ends_at, receive)
        return _unpack(message, function) if message is not None else _explain_death(child, function)
    except _ForeignBytes:
        return RunResult(failure("crashed", function), "it wrote into the pipe that carries its result")
    finally:
        os.close(reading)
        _kill_group(child)


def _start_child(act: IsolatedAct) -> tuple[int, int]:
    """Start the child. Return the file descriptor that its result is read from, and its process id. Raises OSError."""
    _flush()  # else parent and child would both write the buffered output
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
        # An earlier function may have left a thread running. If the child hangs because of it, the deadline ends it.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _run_in_child(writing: int, act: IsolatedAct) -> NoReturn:
    """Run `act` in the child and exit. It never returns: the loop of Lambda's runtime, which called, belongs to the
    parent."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        sender = _Sender(writing)
        run_result = act(sender.send_notice)
        _flush()
        status = 0 if sender.send_result(run_result) else 1
    finally:
        os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the author's code may have closed or replaced it
            stream.flush()


class _Sender:
    """Writes the messages of the child: its notices, and its result at the end. A message is its length, a line of
    JSON, and in a result the value's text as it is."""

    def __init__(self, writing: int) -> None:
        self._writing = writing
        self._own_pid = os.getpid()
        self._lock = threading.Lock()  # the author's threads may report while others do

    def send_notice(self, notice: Notice) -> None:
        with contextlib.suppress(OSError):  # the author's code may have closed the pipe, which its result then shows
            self._send({"notices": notice_objects([notice])})

    def send_result(self, run_result: RunResult) -> bool:
        """Send the result, and return whether this is the process to do it."""
        outcome = run_result.outcome
        result = outcome.text if isinstance(outcome, EncodedResult) else ""
        parts = [outcome.evidence, outcome.shown] if isinstance(outcome, EncodedResult) else None
        reply = None if isinstance(outcome, EncodedResult) else reply_message(outcome)
        return self._send({"fault": run_result.fault, "beside": parts, "reply": reply}, result)

    def _send(self, members: JsonObject, text: str = "") -> bool:
        if os.getpid() != self._own_pid:  # a process that the function forked also arrives here
            return False
        line = json.dumps(members).encode() + b"\n"
        with self._lock:
            _write(self._writing, (len(line) + len(text)).to_bytes(LENGTH_BYTES) + line)
            _write(self._writing, text.encode("ascii"))
        return True


def _write(writing: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(writing, remaining) :]


class _ForeignBytes(Exception):  # noqa: N818 - it names what is in the pipe
    """Raised for bytes in the pipe that are no message of the child."""


def _receive(reading: int, child: int, ends_at: float, receive: NoticeSink) -> bytearray | None:
    """Read the child's messages, and return that of its result; None if the child ended or closed the pipe before all
    was sent. Raises DeadlinePassed or _ForeignBytes."""
    data = bytearray()
    ready = select.poll()
    ready.register(reading, select.POLLIN)
    while not _has_result(data, receive):
        remaining = ends_at - time.monotonic()
        if remaining <= 0:
            raise DeadlinePassed
        if ready.poll(min(remaining, POLL_INTERVAL) * 1000):
            chunk = os.read(reading, READ_SIZE)
            if not chunk:
                return None
            data += chunk
        elif _status_of(child) and not ready.poll(0):
            return None
    return data


def _has_result(data: bytearray, receive: NoticeSink) -> bool:
    """Take the complete notices off the data, and tell whether a complete result is next. Raises _ForeignBytes."""
    while len(data) >= LENGTH_BYTES:
        end = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES])
        if len(data) < end:
            return False
        if not data.startswith(NOTICE_START, LENGTH_BYTES):
            return True
        try:
            notices = notices_in(as_object(json.loads(data[LENGTH_BYTES:end])))
        except (MalformedMessage, ValueError) as fault:
            raise _ForeignBytes from fault
        for notice in notices:
            receive(notice)
        del data[:end]
    return False


def _unpack(message: bytearray, function: str) -> RunResult:
    try:
        return _parse_run_result(message)
    except (KeyError, MalformedMessage, ValueError):
        return RunResult(failure("crashed", function), "it wrote into the pipe that carries its result")


def _parse_run_result(message: bytearray) -> RunResult:
    """Parse a message of `_send`. Raises KeyError, MalformedMessage or ValueError for any other message."""
    end = message.find(b"\n", LENGTH_BYTES)
    line = as_object(json.loads(message[LENGTH_BYTES:end]))
    fault, parts = str(line["fault"]), line["beside"]
    if isinstance(parts, list):
        evidence, shown = map(str, parts)
        return RunResult(EncodedResult(str(memoryview(message)[end + 1 :], "ascii"), evidence, shown), fault)
    reply = parse_reply(json.dumps(line["reply"]).encode())
    if not isinstance(reply, InputRequired | Failure):
        raise MalformedMessage("it is no outcome")
    return RunResult(reply, fault)


def _explain_death(child: int, function: str) -> RunResult:
    """Derive a failure from the child's exit status. SIGKILL means out of memory: the executor itself kills the child
    only later."""
    status = _wait_for_status(child)
    if status is None:
        return RunResult(failure("crashed", function), "it closed the pipe that carries its result")
    if status.si_code == os.CLD_EXITED:
        return RunResult(failure("crashed", function), f"its process ended with exit code {status.si_status}")
    code = "out_of_memory" if status.si_status == signal.SIGKILL else "crashed"
    return RunResult(failure(code, function), f"its process was ended by signal {status.si_status}")


def _wait_for_status(child: int) -> os.waitid_result | None:
    """Wait briefly for the exit status: a process closes its pipes a moment before it has ended."""
    until = time.monotonic() + DEATH_SHOWS_WITHIN
    status = _status_of(child)
    while status is None and time.monotonic() < until:
        time.sleep(0.001)
        status = _status_of(child)
    return status


def _status_of(child: int) -> os.waitid_result | None:
    """Read the exit status of the child; None while it runs. The child is not reaped, so that its id, which is also its
    group's, is not given to another process."""
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return None  # an earlier function may have set SIGCHLD to be ignored


def _kill_group(child: int) -> None:
    # The group, and the child itself, which may not have created its group yet.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
