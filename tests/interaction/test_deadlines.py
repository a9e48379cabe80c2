"""No function keeps its executor: real functions that block in real ways, and real time."""

import gc
import hashlib
import os
import queue
import signal
import socket
import sqlite3
import subprocess
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from signpost.contract import CallReply, Failure, Result
from signpost.errors import DeadlinePassed
from signpost.model import JsonObject
from signpost.toolkit import CallEnded, Context
from signpost.toolkit.deadline import DeadlineTimer
from tests.support import function_host
from tests.support.function_host import host_callable
from tests.support.slowdown import CLOCK_CORRECTION, shortest
from tests.support.waiting import wait_for

SOON = 0.2
"""Seconds until the deadline."""
SPARE = 0.5
"""Seconds after it by which the reply is there."""
LATE = 0.2
"""Seconds that a function comes back after it."""
TIMED_OUT = Failure("timed_out", "timeout", "unknown", "f took too long and was stopped.")

pytestmark = pytest.mark.filterwarnings(
    # Processes are killed under the Popen that started them, which then complains of being forgotten.
    "ignore:subprocess .* is still running:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
over = threading.Event()
"""Set when a test is over, for what it left behind."""


@pytest.fixture(autouse=True)
def release_leftovers() -> Iterator[None]:
    over.clear()
    yield
    over.set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # here, or they complain in the midst of a later test


def sleep() -> None:
    time.sleep(60)


def spin() -> None:
    while True:
        pass


def join() -> None:
    thread = threading.Thread(target=over.wait, daemon=True)
    thread.start()
    thread.join()


def receive() -> None:
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        ours.recv(1)


def run_process() -> None:
    subprocess.run(["sleep", "60"], check=False)


def wait_for_process() -> None:
    subprocess.Popen(["sleep", "60"]).wait()


def wait_for_process_twice() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        process.wait()


def wait_for_processes() -> None:
    subprocess.run("sleep 60 & sleep 60 & wait", shell=True, check=False)  # noqa: S602 - it starts more processes


def get() -> None:
    queue.Queue[int]().get()


def wait_for_pool() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(over.wait)


def swallow_once() -> None:
    with suppress(BaseException):
        time.sleep(60)
    time.sleep(60)


def destroy() -> None:
    class Slow:
        def __del__(self) -> None:
            time.sleep(60)

    Slow()
    time.sleep(60)


def answer_for_ever() -> object:
    class Endless(dict[str, int]):
        def items(self) -> Any:
            while True:
                pass

    return Endless(a=1)


STOPPED_HERE = (
    sleep, spin, join, receive, run_process, wait_for_process, wait_for_process_twice, get, wait_for_pool,
    swallow_once, destroy, answer_for_ever,
)  # fmt: skip


def derive_key() -> None:
    hashlib.pbkdf2_hmac("sha256", b"", b"", 200_000_000)


def compress() -> None:
    zlib.compress(os.urandom(1 << 20) * 300, 9)


def query() -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(endless).fetchone()


def swallow_all() -> None:
    while True:
        with suppress(BaseException):
            time.sleep(60)


def ignore_signals() -> None:
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(60)


def reset_handler() -> None:
    signal.signal(signal.SIGALRM, ignore_alarm)
    time.sleep(60)


def block_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(60)


def cancel_timer() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(60)


def fork_children() -> None:
    for _ in range(3):
        if os.fork() == 0:
            time.sleep(60)
    time.sleep(60)


STOPPED_APART = (
    *STOPPED_HERE, wait_for_processes, derive_key, compress, query, swallow_all, ignore_signals, reset_handler,
    block_signals, cancel_timer, fork_children,
)  # fmt: skip


def switch(run: Callable[[], object]) -> Callable[[JsonObject], object]:
    """Does it only if told so, to see how the next calls fare."""
    return lambda args: {"do": run, "sleep": sleep, "be well": lambda: "well"}[str(args["what"])]()


def ignore_alarm(*_: object) -> None:
    """The handler of an author who wants no alarms."""


def overrun(
    world: function_host.FunctionHost,
    got_so_far: Callable[[], object],
    arguments: JsonObject | None = None,
    deadlines: Sequence[float] = (SOON, 4 * SOON, 16 * SOON),
) -> None:
    """Make a call that overruns, again until its function has got so far: a pause of the machine may take all of a
    short deadline."""
    for seconds in deadlines:
        assert world.call("f", arguments or {}, seconds) == TIMED_OUT
        if got_so_far():
            return
    pytest.fail("The function never got so far.")


def check_next_call(world: function_host.FunctionHost) -> None:
    assert world.call("f", {"what": "be well"}) == Result("well", [])
    assert shortest(lambda: seconds_after_deadline(world, "sleep"), SPARE) < SPARE


def seconds_after_deadline(world: function_host.FunctionHost, what: str) -> float:
    """Make a call that overruns, and return by how many seconds its answer came after its deadline."""
    began = time.monotonic()
    assert world.call("f", {"what": what}, SOON) == TIMED_OUT
    late = time.monotonic() - began - SOON
    assert late > -CLOCK_CORRECTION
    return late


def check_stopped(run: Callable[[], object], *, isolate: bool) -> None:
    before = function_host.list_child_processes()
    world = host_callable(switch(run), isolate=isolate)
    assert shortest(lambda: seconds_after_deadline(world, "do"), SPARE) < SPARE
    assert function_host.list_child_processes() <= before
    check_next_call(world)


@pytest.mark.parametrize("run", STOPPED_HERE, ids=lambda run: run.__name__)
def test_a_function_that_python_can_interrupt_is_stopped_in_place(run: Callable[[], object]) -> None:
    check_stopped(run, isolate=False)


@pytest.mark.parametrize("run", STOPPED_APART, ids=lambda run: run.__name__)
def test_an_isolated_function_that_blocks_is_killed(run: Callable[[], object]) -> None:
    check_stopped(run, isolate=True)


def test_every_process_of_a_group_is_killed(tmp_path: Path) -> None:
    listing = tmp_path / "processes"

    def multiply() -> None:
        listing.write_text("")
        for _ in range(3):
            if os.fork() == 0:
                break
        with listing.open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(60)

    def listed() -> list[int]:
        return [int(line) for line in listing.read_text().split()]

    overrun(host_callable(multiply, isolate=True), lambda: len(listed()) == 4)
    processes = listed()
    wait_for(
        "the group to end", lambda: list(filter(function_host.is_process_alive, processes)), lambda alive: not alive
    )


def test_processes_left_by_an_isolated_function_are_killed_when_it_returns() -> None:
    world = host_callable(lambda: subprocess.Popen(["sleep", "60"]).pid, isolate=True)
    reply = world.call("f")
    assert isinstance(reply, Result)
    assert isinstance(reply.value, int)
    pid = reply.value
    wait_for("the process to end", lambda: function_host.is_process_alive(pid), lambda alive: not alive)


# What the first ring cannot stop, and comes back by itself


def return_late(tamper: Callable[[], object], comebacks: list[str]) -> Callable[[], object]:
    def run() -> object:
        back_at = time.monotonic() + SOON + LATE
        tamper()
        while time.monotonic() < back_at:
            with suppress(BaseException):
                time.sleep(back_at - time.monotonic())
        comebacks.append("late")
        return "late"

    return run


def leave_alarms() -> None:
    """Blocked ones wait; the timer is the author's, and goes on."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)


TAMPERING: dict[str, Callable[[], object]] = {
    "swallowed": lambda: None,
    "ignored": lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN),
    "handled": lambda: signal.signal(signal.SIGALRM, ignore_alarm),
    "blocked": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM}),
    "cancelled": lambda: signal.setitimer(signal.ITIMER_REAL, 0),
    "alarms left": leave_alarms,
}


@pytest.mark.parametrize("tamper", TAMPERING.values(), ids=TAMPERING)
def test_a_function_that_returns_late_has_timed_out_and_the_next_call_works(tamper: Callable[[], object]) -> None:
    comebacks: list[str] = []
    world = host_callable(switch(return_late(tamper, comebacks)))
    overrun(world, lambda: comebacks, {"what": "do"}, deadlines=[SOON] * 5)
    assert "late" in world.log.find_lines("fault")[-1]["fault"]
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    check_next_call(world)


def test_a_timer_that_a_function_leaves_running_does_not_hit_the_next_call() -> None:
    def leave() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)

    world = host_callable(lambda args: leave() if args else time.sleep(0.3))
    assert world.call("f", {"do": True}) == Result(None, [])
    assert world.call("f") == Result(None, [])


def test_an_alarm_before_the_deadline_stops_no_function() -> None:
    def alarmed() -> str:
        signal.raise_signal(signal.SIGALRM)
        return "well"

    assert host_callable(alarmed).call("f") == Result("well", [])


def test_an_alarm_between_calls_is_ignored() -> None:
    world = host_callable(lambda: "well")
    world.call("f")
    signal.raise_signal(signal.SIGALRM)
    assert world.call("f") == Result("well", [])


def test_an_alarm_is_never_raised_outside_the_function() -> None:
    ring = DeadlineTimer()
    for number in range(300):
        ended = time.monotonic() + number * 1e-5
        outcome: object = None
        try:
            outcome = ring.run_within(ended, lambda: sum(range(2000)))
        except DeadlinePassed:
            outcome = "stopped"
        # Were an alarm still to come, it would be raised here.
        assert outcome in ("stopped", sum(range(2000)))


@pytest.mark.parametrize("isolate", [False, True])
def test_a_function_is_stopped_before_the_lambda_sandbox_ends(isolate: bool) -> None:
    world = host_callable(sleep, isolate=isolate)
    message = function_host.call_message(function_host.build_call("f", {}, 60), function_host.TOKEN)

    def seconds_to_answer() -> float:
        began = time.monotonic()
        assert world.handle(message, remaining_ms=400) == TIMED_OUT
        return time.monotonic() - began

    assert shortest(seconds_to_answer, 0.4) < 0.4


# What is left behind


def test_a_thread_left_behind_is_named_and_its_context_refuses_calls() -> None:
    refused: list[Exception] = []

    def call_later(ctx: Context) -> None:
        over.wait()
        try:
            ctx.call("crm::find")
        except CallEnded as ended:
            refused.append(ended)

    def leave(_args: JsonObject, ctx: Context) -> None:
        thread = threading.Thread(target=call_later, args=(ctx,), name="the-straggler", daemon=True)
        thread.start()
        threads.append(thread)
        thread.join()

    threads: list[threading.Thread] = []
    world = host_callable(leave)
    overrun(world, lambda: threads)
    (line,) = world.log.find_lines("left behind")
    assert line["threads"] == ["the-straggler"]
    over.set()
    threads[0].join()
    assert len(refused) == 1


def test_processes_left_behind_by_a_timed_out_function_are_named_and_killed() -> None:
    before = function_host.list_child_processes()
    processes: list[subprocess.Popen[bytes]] = []

    def leave() -> None:
        processes.append(subprocess.Popen(["sleep", "60"]))
        time.sleep(60)

    world = host_callable(leave)
    overrun(world, lambda: processes)
    (line,) = world.log.find_lines("left behind")
    assert line["processes"] == [f"{processes[0].pid} sleep"]
    assert line["killed"] is True
    assert function_host.list_child_processes() <= before


def test_processes_started_before_the_call_are_left_running() -> None:
    with subprocess.Popen(["sleep", "60"]) as earlier:
        time.sleep(0.05)  # processes are told apart by a clock that ticks a hundred times a second
        world = host_callable(sleep)
        assert world.call("f", {}, SOON) == TIMED_OUT
        assert earlier.poll() is None
        assert world.log.find_lines("left behind") == []
        earlier.kill()


def test_processes_of_a_failed_call_are_named_and_left_running() -> None:
    processes: list[subprocess.Popen[bytes]] = []

    def fail() -> None:
        processes.append(subprocess.Popen(["sleep", "60"]))
        raise ValueError

    world = host_callable(fail)
    reply: CallReply = world.call("f")
    assert isinstance(reply, Failure)
    (line,) = world.log.find_lines("left behind")
    assert (line["processes"], line["killed"]) == ([f"{processes[0].pid} sleep"], False)
    with processes[0] as process:
        assert process.poll() is None
        process.kill()
