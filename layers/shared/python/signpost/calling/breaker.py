"""Stops calls of a function for a while after several failures in a row.

Each gateway counts failures in memory. An opened or closed breaker is written to the store, and all gateways see it
within two seconds. After the pause one call, the probe, finds out for all callers whether the function works again.
"""

from collections.abc import Callable
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING, Literal

from signpost.calling.failures import REPORTED, failure, is_counted
from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import effective_setting, placement_of, timeout_ms
from signpost.contract import BreakerState, CallReply, CallRequest, Failure, FunctionState, Placement
from signpost.errors import DeadlinePassed, Unavailable
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.calling.ports import Breakers
    from signpost.ports import Clock

PROBE_MARGIN = 5.0
"""Seconds after its deadline for a probe to be recorded, before another caller may probe."""
PROBE_RETRY_SECONDS = 2.0
"""Seconds after which a caller that was refused because of a running probe should try again; most probes end earlier
than they must."""
MAX_COUNTED_FUNCTIONS = 1024

RAN_CODES = frozenset({REPORTED, "result_too_large"})
"""Codes of failures that are not counted and that prove that the function ran. After the other failures that are not
counted it did not run, or that is unknown, and the function may still be broken."""

type BreakerPosition = Literal["closed", "open", "probing"]
type BreakerKey = tuple[str, str]
"""The tenant and the function id."""
type BreakerNotice = Callable[[str, str, BreakerPosition, str | None], None]
"""Reports a change: the tenant, the function, the new position and the failure that opened the breaker."""


@dataclass(frozen=True, slots=True)
class BreakerReading:
    """The state of a breaker as operators see it."""

    position: BreakerPosition
    failures: int
    """Failures in a row: those that opened the breaker or, while it is closed, those that this gateway counted."""
    last_failure: str | None = None


class Breaker:
    """Guards calls of functions and records their outcome."""

    def __init__(self, *, view: FunctionView, store: "Breakers", clock: "Clock", notice: BreakerNotice) -> None:
        self._view = view
        self._store = store
        self._clock = clock
        self._notice = notice
        self._failures: dict[BreakerKey, list[str]] = {}

    def guard(self, request: CallRequest, attempt: Callable[[], CallReply]) -> CallReply:
        """Run the attempt and record its reply, or refuse with circuit_open without running it. The reply counts as one
        success or failure, however often the attempt tried."""
        key = request.principal.tenant, request.function
        state = self._current(key)
        placement = placement_of(state)
        if placement is None or not effective_setting(state, "breaker_failures"):
            return attempt()
        opened = state.breaker
        if opened is None:
            return _run_attempt(attempt, request.function, lambda reply: self._record_attempt(key, state, reply))
        if wait := self._seconds_to_wait(key, opened, self._ends_at(request, state, placement)):
            return failure("circuit_open", request.function, retry_after_ms=ceil(wait * 1000))
        return _run_attempt(attempt, request.function, lambda reply: self._record_probe(key, state, opened, reply))

    def find_refusal(self, tenant: str, function: str) -> Failure | None:
        """Return the failure with which a call would be refused now, or None. For calls that are made later."""
        state = self._view.state(tenant, function)
        if state.breaker is None or not effective_setting(state, "breaker_failures"):
            return None
        wait = _seconds_left(state.breaker, self._clock.now())
        return failure("circuit_open", function, retry_after_ms=ceil(wait * 1000)) if wait else None

    def state(self, tenant: str, function: str) -> BreakerReading:
        """Return the position and the failures of a breaker."""
        opened = self._view.state(tenant, function).breaker
        if opened is None:
            failures = tuple(self._failures.get((tenant, function), ()))
            return BreakerReading("closed", len(failures), failures[-1] if failures else None)
        position: BreakerPosition = "probing" if _probe_seconds_left(opened, self._clock.now()) else "open"
        return BreakerReading(position, opened.failures, opened.last_failure)

    def reset(self, tenant: str, function: str) -> bool:
        """Close the breaker and forget the counted failures. Return False if it was not open."""
        self._failures.pop((tenant, function), None)
        was_open = self._store.close(tenant, function)
        self._view.forget(tenant, function)
        return was_open

    def _current(self, key: BreakerKey) -> FunctionState:
        """Read the state from the view or, where a probe would be next, from the store: another gateway may just have
        recorded one."""
        state = self._view.state(*key)
        if state.breaker is not None and not _seconds_left(state.breaker, self._clock.now()):
            self._view.forget(*key)
            state = self._view.state(*key)
        return state

    def _ends_at(self, request: CallRequest, state: FunctionState, placement: Placement) -> float:
        """Return the time by which the call ends."""
        return min(request.ends_at, self._clock.now() + timeout_ms(state, placement) / 1000)

    def _seconds_to_wait(self, key: BreakerKey, opened: BreakerState, ends_at: float) -> float:
        """Return the seconds after which the caller should try again, or 0 if this call is the probe."""
        now = self._clock.now()
        if seconds := _seconds_left(opened, now):
            return seconds
        return 0.0 if self._store.claim_probe(*key, now, ends_at + PROBE_MARGIN) else PROBE_RETRY_SECONDS

    def _record_attempt(self, key: BreakerKey, state: FunctionState, reply: CallReply) -> None:
        """Count the reply of an attempt through a closed breaker. A failure that is not counted changes nothing."""
        if not isinstance(reply, Failure):
            self._failures.pop(key, None)
        elif is_counted(reply):
            if len(self._failures) >= MAX_COUNTED_FUNCTIONS and key not in self._failures:
                self._failures.clear()
            codes = self._failures.setdefault(key, [])
            codes.append(reply.code)  # atomic between threads; adding to a number is not
            if len(codes) >= effective_setting(state, "breaker_failures"):
                self._open(key, state, len(codes), reply.code)

    def _record_probe(self, key: BreakerKey, state: FunctionState, opened: BreakerState, reply: CallReply) -> None:
        """Close the breaker after a probe that ran, or open it again after one that failed."""
        if isinstance(reply, Failure) and is_counted(reply):
            self._open(key, state, opened.failures + 1, reply.code)
        elif not isinstance(reply, Failure) or reply.code in RAN_CODES:
            self._write(key, lambda: self._store.close(*key))
            self._notice(*key, "closed", None)
        else:  # unchanged, so that the next call is a probe
            self._write(key, lambda: self._store.open(*key, opened))

    def _open(self, key: BreakerKey, state: FunctionState, failures: int, last_failure: str) -> None:
        opened_until = self._clock.now() + effective_setting(state, "breaker_pause_ms") / 1000
        self._write(key, lambda: self._store.open(*key, BreakerState(opened_until, failures, last_failure)))
        self._notice(*key, "open", last_failure)

    def _write(self, key: BreakerKey, write: Callable[[], object]) -> None:
        """Write to the store and drop the view's copy. An unavailable store is ignored: the function may have had an
        effect, so the reply is returned in any case."""
        with suppress(Unavailable):
            write()
            self._failures.pop(key, None)
        self._view.forget(*key)


def _run_attempt(attempt: Callable[[], CallReply], function: str, record: Callable[[CallReply], None]) -> CallReply:
    """Run the attempt and hand its reply to `record`. A passed deadline counts as timed_out."""
    try:
        reply = attempt()
    except DeadlinePassed:
        record(failure("timed_out", function))
        raise
    record(reply)
    return reply


def _seconds_left(opened: BreakerState, now: float) -> float:
    """Return the seconds until a call should check again whether it becomes the probe."""
    if opened.opened_until > now:
        return opened.opened_until - now
    return min(_probe_seconds_left(opened, now), PROBE_RETRY_SECONDS)


def _probe_seconds_left(opened: BreakerState, now: float) -> float:
    """Return the seconds that a running probe may still take."""
    return max(opened.probing_until - now, 0.0) if opened.probing_until is not None else 0.0
