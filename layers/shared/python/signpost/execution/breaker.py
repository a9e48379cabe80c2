"""Leaves a function alone for a while that failed several times in a row.

Failures are counted here, in memory; that a breaker opened or closed is written, and all gateways see it within two
seconds. After the pause one caller finds out for everybody whether the function works again.
"""

from collections.abc import Callable
from contextlib import suppress
from math import ceil
from typing import Literal

from signpost.contract import BreakerState, Failure, FunctionState, Placement, Reply, Request
from signpost.errors import DeadlinePassed, Unavailable
from signpost.execution.failures import REPORTED, counts, failure
from signpost.execution.functions import FunctionView
from signpost.execution.tuning import effective, placement_of, timeout_ms
from signpost.ports import Breakers, Clock
from signpost.records import dataclass

PROBE_MARGIN = 5.0
"""Seconds beyond its time that a probe may take to be settled, before somebody else may try."""
PROBES_ARE_OVER_WITHIN = 2.0
"""Seconds after which whoever met a probe should come again; most are over sooner than they must."""
COUNTED_FUNCTIONS = 1024

WORKS = frozenset({REPORTED, "result_too_large"})
"""Failures, not counted ones, of a function that ran. After all others that are not counted it did not, or nobody
knows, and the function may be as broken as before."""

type Position = Literal["closed", "open", "probing"]
type Key = tuple[str, str]
"""The tenant and the function."""
type Notice = Callable[[str, str, Position, str | None], None]
"""Is told the tenant, the function, what its breaker is now, and the failure that opened it."""


@dataclass(frozen=True, slots=True)
class Reading:
    position: Position
    failures: int
    """In a row: those that opened it, or while it is closed those that this gateway saw."""
    last_failure: str | None = None


class Breaker:
    def __init__(self, *, view: FunctionView, store: Breakers, clock: Clock, notice: Notice) -> None:
        self._view = view
        self._store = store
        self._clock = clock
        self._notice = notice
        self._failures: dict[Key, list[str]] = {}

    def guarded(self, request: Request, attempt: Callable[[], Reply]) -> Reply:
        """What the attempt replies, which is one success or failure however often it tried; or circuit_open, and no
        attempt is made."""
        key = request.principal.tenant, request.function
        state = self._current(key)
        placement = placement_of(state)
        if placement is None or not effective(state, "breaker_failures"):
            return attempt()
        opened = state.breaker
        if opened is None:
            return _settled(attempt, request.function, lambda reply: self._count(key, state, reply))
        if wait := self._wait(key, opened, self._ends_at(request, state, placement)):
            return failure("circuit_open", request.function, retry_after_ms=ceil(wait * 1000))
        return _settled(attempt, request.function, lambda reply: self._judge(key, state, opened, reply))

    def left_alone(self, tenant: str, function: str) -> Failure | None:
        """For who calls later: what would be answered now, if it is known already that nothing would be called."""
        state = self._view.state(tenant, function)
        if state.breaker is None or not effective(state, "breaker_failures"):
            return None
        wait = _left(state.breaker, self._clock.now())
        return failure("circuit_open", function, retry_after_ms=ceil(wait * 1000)) if wait else None

    def state(self, tenant: str, function: str) -> Reading:
        opened = self._view.state(tenant, function).breaker
        if opened is None:
            failures = tuple(self._failures.get((tenant, function), ()))
            return Reading("closed", len(failures), failures[-1] if failures else None)
        position: Position = "probing" if _probe_left(opened, self._clock.now()) else "open"
        return Reading(position, opened.failures, opened.last_failure)

    def reset(self, tenant: str, function: str) -> bool:
        """False if it was not open."""
        self._failures.pop((tenant, function), None)
        was_open = self._store.close(tenant, function)
        self._view.forget(tenant, function)
        return was_open

    def _current(self, key: Key) -> FunctionState:
        """What the view says; but before anybody probes, what is so now: somebody may just have found out."""
        state = self._view.state(*key)
        if state.breaker is not None and not _left(state.breaker, self._clock.now()):
            self._view.forget(*key)
            state = self._view.state(*key)
        return state

    def _ends_at(self, request: Request, state: FunctionState, placement: Placement) -> float:
        return min(request.ends_at, self._clock.now() + timeout_ms(state, placement) / 1000)

    def _wait(self, key: Key, opened: BreakerState, ends_at: float) -> float:
        """Seconds after which to come again; 0 for the one who is to probe now."""
        now = self._clock.now()
        if left := _left(opened, now):
            return left
        return 0.0 if self._store.claim_probe(*key, now, ends_at + PROBE_MARGIN) else PROBES_ARE_OVER_WITHIN

    def _count(self, key: Key, state: FunctionState, reply: Reply) -> None:
        """After an attempt while it was closed. What is refused says nothing either way."""
        if not isinstance(reply, Failure):
            self._failures.pop(key, None)
        elif counts(reply):
            if len(self._failures) >= COUNTED_FUNCTIONS and key not in self._failures:
                self._failures.clear()
            in_a_row = self._failures.setdefault(key, [])
            in_a_row.append(reply.code)  # one step for all threads, which adding to a number is not
            if len(in_a_row) >= effective(state, "breaker_failures"):
                self._open(key, state, len(in_a_row), reply.code)

    def _judge(self, key: Key, state: FunctionState, opened: BreakerState, reply: Reply) -> None:
        """After a probe."""
        if isinstance(reply, Failure) and counts(reply):
            self._open(key, state, opened.failures + 1, reply.code)
        elif not isinstance(reply, Failure) or reply.code in WORKS:
            self._write(key, lambda: self._store.close(*key))
            self._notice(*key, "closed", None)
        else:  # as it was before, so that the next one who comes probes
            self._write(key, lambda: self._store.open(*key, opened))

    def _open(self, key: Key, state: FunctionState, failures: int, last_failure: str) -> None:
        opened_until = self._clock.now() + effective(state, "breaker_pause_ms") / 1000
        self._write(key, lambda: self._store.open(*key, BreakerState(opened_until, failures, last_failure)))
        self._notice(*key, "open", last_failure)

    def _write(self, key: Key, write: Callable[[], object]) -> None:
        """The reply may stand for something that was done: it is answered whether or not this can be written."""
        with suppress(Unavailable):
            write()
            self._failures.pop(key, None)
        self._view.forget(*key)


def _settled(attempt: Callable[[], Reply], function: str, settle: Callable[[Reply], None]) -> Reply:
    try:
        reply = attempt()
    except DeadlinePassed:
        settle(failure("timed_out", function))
        raise
    settle(reply)
    return reply


def _left(opened: BreakerState, now: float) -> float:
    """Seconds until it makes sense to look again whether somebody should probe."""
    if opened.opened_until > now:
        return opened.opened_until - now
    return min(_probe_left(opened, now), PROBES_ARE_OVER_WITHIN)


def _probe_left(opened: BreakerState, now: float) -> float:
    return max(opened.probing_until - now, 0.0) if opened.probing_until is not None else 0.0
