"""Limit how many sandboxes of the emulator start at once, and serve waiting calls in the order of their arrival.

The emulator starts a sandbox for every call that finds no free one. Of 64 clients that call a stack without a sandbox,
few get an answer: 64 gateways start at once, and then as many executors, so that none is ready within the 30 seconds of
API Gateway. Here a call waits until a sandbox becomes free or may start. A start waits for no other call, so functions
that call each other do not block each other.
"""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

LONGEST_START = 10.0
"""Lambda's limit on the init of a function, in seconds. A start that takes longer no longer counts."""
_LOOK_AGAIN_SECONDS = 1.0

type Lease = tuple[Any, str]
"""A sandbox or None, and how it was found, as `acquire_worker` returns them."""


@dataclass(eq=False, slots=True)
class WaitingCall:
    """A call that waits for a sandbox of its function."""

    acquire: Callable[[], Lease]
    served: threading.Event = field(default_factory=threading.Event)
    lease: Lease = (None, "waiting")
    error: Exception | None = None


class SandboxStarts:
    """Leases the sandboxes of `runtime`, which has the pools of `ministack.core.lambda_runtime`."""

    def __init__(self, runtime: Any, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._runtime = runtime
        self._acquire, self._release = runtime.acquire_worker, runtime.release_worker
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self.waiting: dict[str, deque[WaitingCall]] = defaultdict(deque)
        """The calls that wait, by function."""
        self._started_at: dict[Any, float] = {}
        """The sandboxes that start, with the time at which each was leased."""

    def acquire(
        self, func_name: str, config: Any, code_zip: Any, qualifier: str = "$LATEST", max_concurrency: int | None = None
    ) -> Lease:
        """Lease a sandbox as `acquire_worker` does, after the earlier calls of the same function."""
        call = WaitingCall(lambda: self._acquire(func_name, config, code_zip, qualifier, max_concurrency))
        key = self._runtime._worker_key(func_name, config, qualifier)  # noqa: SLF001 - it has no other name
        with self._lock:
            self.waiting[key].append(call)
            self._serve()
        while not call.served.wait(_LOOK_AGAIN_SECONDS):
            with self._lock:
                self._serve()
        if call.error is not None:
            raise call.error
        return call.lease

    def release(self, worker: Any) -> None:
        """Return a sandbox, or None after one that failed, as `release_worker` does."""
        self._release(worker)
        self.end_start(worker)

    def end_start(self, worker: Any) -> None:
        """Count a sandbox no longer among those that start."""
        with self._lock:
            self._started_at.pop(worker, None)
            self._serve()

    def _serve(self) -> None:
        """Lease a sandbox to each waiting call that may have one. Functions with fewer sandboxes come first, since the
        calls of the others may wait for them."""
        for key in sorted(self.waiting, key=self._count_sandboxes):
            calls = self.waiting[key]
            while calls and (self._has_free_sandbox(key) or self._count_starts() < self._limit):
                self._lease_to(calls.popleft())
            if not calls:
                del self.waiting[key]

    def _lease_to(self, call: WaitingCall) -> None:
        try:
            worker, how = call.lease = call.acquire()
        except Exception as error:  # noqa: BLE001 - of this call; another call may have come here to be served
            call.error = error
        else:
            if how == "spawn":
                self._started_at[worker] = self._clock()
        call.served.set()

    def _count_starts(self) -> int:
        now = self._clock()
        return sum(now - started < LONGEST_START for started in self._started_at.values())

    def _count_sandboxes(self, key: str) -> int:
        return sum(1 for _ in self._sandboxes(key))

    def _has_free_sandbox(self, key: str) -> bool:
        return any(not worker.in_use for worker in self._sandboxes(key))

    def _sandboxes(self, key: str) -> Iterator[Any]:
        with self._runtime._lock:  # noqa: SLF001 - it has no other name
            yield from list(self._runtime._workers.get(key, ()))  # noqa: SLF001 - likewise


def limit_starts(runtime: Any, service: Any, limit: int) -> None:
    """Make `ministack.services.lambda_svc` lease sandboxes through `SandboxStarts` instead of `lambda_runtime`."""
    starts = SandboxStarts(runtime, limit)
    spawn = runtime.Worker._spawn  # noqa: SLF001 - it has no other name

    def spawn_and_end_start(worker: Any) -> None:
        try:
            spawn(worker)
        finally:
            starts.end_start(worker)

    runtime.Worker._spawn = spawn_and_end_start  # noqa: SLF001 - likewise
    for module in (runtime, service):
        module.acquire_worker, module.release_worker = starts.acquire, starts.release
