"""Functions that overrun their deadline, each in its own way, and each also in an isolated process."""

import contextlib
import hashlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Mapping

from signpost.model import JsonObject
from signpost.toolkit import Function, executor
from stage import effects

type BlockingForm = Callable[[], object]

LONG_SECONDS = 60
"""Seconds that each function takes if it is not stopped: far longer than the sandbox lives."""


def _spin() -> None:
    until = time.monotonic() + LONG_SECONDS
    while time.monotonic() < until:
        pass


def _join() -> None:
    thread = threading.Thread(target=time.sleep, args=(LONG_SECONDS,), name="the thread that was joined", daemon=True)
    thread.start()
    thread.join()


def _socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.recv(1)


def _subprocess() -> None:
    subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({LONG_SECONDS})"]).wait()


def _pbkdf2() -> None:
    hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 100_000_000)


def _zlib() -> None:
    zlib.compress(os.urandom(256_000_000), 9)


def _sqlite() -> None:
    counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000) SELECT count(*) FROM n"
    sqlite3.connect(":memory:").execute(counting).fetchone()


def _swallow() -> None:
    until = time.monotonic() + LONG_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(BaseException):
            time.sleep(LONG_SECONDS)


def _ignore() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(LONG_SECONDS)


def _reset() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(LONG_SECONDS)


def _mask() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(LONG_SECONDS)


OVERRUN_SECONDS = 2.6
"""Seconds until a function ends after the deadline that tests give it, and before Lambda ends the sandbox."""


def _outlast() -> None:
    until = time.monotonic() + OVERRUN_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(BaseException):
            time.sleep(until - time.monotonic())


FORMS: Mapping[str, BlockingForm] = {
    "sleep": lambda: time.sleep(LONG_SECONDS),
    "spin": _spin,
    "join": _join,
    "socket": _socket,
    "subprocess": _subprocess,
    "pbkdf2": _pbkdf2,
    "zlib": _zlib,
    "sqlite": _sqlite,
    "swallow": _swallow,
    "ignore": _ignore,
    "reset": _reset,
    "mask": _mask,
    "nap": lambda: time.sleep(OVERRUN_SECONDS),
    "outlast": _outlast,
    "return": lambda: None,
}


def _function(name: str, form: BlockingForm, *, isolate: bool) -> Function:
    def run(arguments: JsonObject) -> str:
        effects.count(f"{arguments['effect']}.started")
        form()
        effects.count(f"{arguments['effect']}.finished")
        return "finished"

    prefix = "isolated" if isolate else "blocking"
    return Function(f"{prefix}::{name}", run, isolate=isolate)


def build_functions() -> list[Function]:
    return [_function(name, form, isolate=isolate) for isolate in (False, True) for name, form in FORMS.items()]


handler = executor(*build_functions())
