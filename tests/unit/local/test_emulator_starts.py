"""How many sandboxes of the emulator start at once, and which call gets the next one."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from local.emulator_starts import LONGEST_START, SandboxStarts
from tests.support.waiting import wait_for

LIMIT = 2


@dataclass(eq=False)
class Sandbox:
    function: str
    in_use: bool = True


@dataclass
class Pools:
    """The pools of the emulator, without its processes."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _workers: dict[str, list[Sandbox]] = field(default_factory=dict[str, list[Sandbox]])

    def acquire_worker(
        self, func_name: str, config: Any, code_zip: Any, qualifier: str, max_concurrency: int | None
    ) -> tuple[Sandbox, str]:
        del config, code_zip, qualifier, max_concurrency
        if func_name == "broken":
            raise RuntimeError("The function has no code.")
        with self._lock:
            pool = self._workers.setdefault(func_name, [])
            for sandbox in pool:
                if not sandbox.in_use:
                    sandbox.in_use = True
                    return sandbox, "reused"
            pool.append(Sandbox(func_name))
            return pool[-1], "spawn"

    def release_worker(self, sandbox: Sandbox | None) -> None:
        if sandbox is not None:
            sandbox.in_use = False

    def _worker_key(self, func_name: str, config: Any, qualifier: str) -> str:
        del config, qualifier
        return func_name


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class World:
    starts: SandboxStarts
    clock: Clock
    threads: ThreadPoolExecutor

    def acquire(self, function: str = "gateway") -> Sandbox:
        return self.starts.acquire(function, {}, b"")[0]

    def queue(self, function: str = "gateway") -> Future[Sandbox]:
        """Let another thread call a function, and return when it waits or has its sandbox."""
        waiting_before = count_waiting(self.starts)
        future = self.threads.submit(self.acquire, function)
        wait_for(
            "the call of a function",
            lambda: future.done() or count_waiting(self.starts) > waiting_before,
            bool,
        )
        return future


def count_waiting(starts: SandboxStarts) -> int:
    return sum(len(calls) for calls in starts.waiting.values())


@pytest.fixture
def world() -> Iterator[World]:
    clock = Clock()
    with ThreadPoolExecutor(max_workers=8) as threads:
        yield World(SandboxStarts(Pools(), LIMIT, clock), clock, threads)
        clock.now += LONGEST_START  # the calls that still wait end, and so do their threads


def start_as_many_as_may(world: World, function: str = "gateway") -> Sequence[Sandbox]:
    return [world.acquire(function) for _ in range(LIMIT)]


@pytest.mark.parametrize("end", [SandboxStarts.end_start, SandboxStarts.release], ids=["ready", "released"])
def test_a_call_waits_while_too_many_sandboxes_start(world: World, end: Callable[[SandboxStarts, Any], None]) -> None:
    first, _ = start_as_many_as_may(world)
    waiting = world.queue()
    assert not waiting.done()
    end(world.starts, first)
    waiting.result(10)


def test_a_waiting_call_gets_the_sandbox_that_another_call_returns(world: World) -> None:
    first, _ = start_as_many_as_may(world)
    waiting = world.queue()
    world.starts.release(first)
    assert waiting.result(10) is first


def test_waiting_calls_are_served_in_the_order_of_their_arrival(world: World) -> None:
    sandbox = world.acquire()
    world.starts.end_start(sandbox)
    start_as_many_as_may(world, "executor")
    calls = [world.queue() for _ in range(3)]
    for served, call in enumerate(calls):
        assert [other.done() for other in calls] == [number < served for number in range(3)]
        world.starts.release(sandbox)
        assert call.result(10) is sandbox


def test_a_function_without_a_sandbox_may_start_before_further_ones_of_another_function(world: World) -> None:
    """Otherwise calls of the gateway that wait for an executor would wait for all other starts of the gateway."""
    first, _ = start_as_many_as_may(world)
    gateway = world.queue()
    executor = world.queue("executor")
    world.starts.end_start(first)
    assert executor.result(10).function == "executor"
    assert not gateway.done()
    world.starts.end_start(executor.result())
    gateway.result(10)


def test_a_sandbox_that_does_not_become_ready_no_longer_counts_after_the_longest_start(world: World) -> None:
    start_as_many_as_may(world)
    waiting = world.queue()
    world.clock.now += LONGEST_START
    waiting.result(10)


def test_a_fault_of_the_emulator_is_the_error_of_the_call_that_waits_for_it(world: World) -> None:
    first, _ = start_as_many_as_may(world)
    waiting = world.queue("broken")
    world.starts.end_start(first)
    with pytest.raises(RuntimeError, match="has no code"):
        waiting.result(10)


def test_a_call_may_start_a_sandbox_after_one_that_failed(world: World) -> None:
    first, _ = start_as_many_as_may(world)
    waiting = world.queue()
    world.starts.end_start(first)
    world.starts.release(None)
    waiting.result(10)
