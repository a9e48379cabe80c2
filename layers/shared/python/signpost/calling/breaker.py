"""Stops calls of a function for a while after several failures in a row.

Each gateway counts failures in memory, for each principal. The failures of one principal stop the calls of that
principal only: its input may have caused them. Failures of several principals in a row stop the calls of all callers of
the tenant. An opened or closed breaker is written to the store, and all gateways see it within two seconds. After the
pause one call, the probe, finds out for all whom the breaker stops whether the function works again.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING, Literal

from signpost.caches import BoundedCache
from signpost.calling.failures import REPORTED, failure, is_counted
from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import effective_setting, placement_of, timeout_ms
from signpost.contract import BreakerState, CallReply, CallRequest, Failure, FunctionState, OpenBreakers, Placement
from signpost.errors import DeadlinePassed, Unavailable
from signpost.model import Principal
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.calling.ports import Breakers
    from signpost.ports import Clock

SEVERAL_PRINCIPALS = 3
"""Different principals whose failures in a row open the breaker for all callers."""
PROBE_MARGIN = 5.0
"""Seconds after its deadline for a probe to be recorded, before another caller may probe."""
LONGEST_PROBE_CLAIM = 30.0
"""Seconds after which another caller may probe although a probe is still running. Calls of clients end earlier; only
the worker runs functions for longer, for up to 15 minutes."""
PROBE_RETRY_SECONDS = 2.0
"""Seconds after which a caller that was refused because of a running probe should try again; most probes end earlier
than they must."""
MAX_COUNTED_FUNCTIONS = 1024
MAX_COUNTED_PRINCIPALS = 64
"""Principals of one function whose failures a gateway counts. Another one takes the place of the first."""
LONGEST_SUBJECT = 256

RAN_CODES = frozenset({REPORTED, "result_too_large"})
"""Codes of failures that are not counted and that prove that the function ran. After the other failures that are not
counted it did not run, or that is unknown, and the function may still be broken."""

type BreakerPosition = Literal["closed", "open", "probing"]
type BreakerNotice = Callable[[str, str, BreakerPosition, str | None, str | None], None]
"""Reports a change: the tenant, the function, the new position, the failure that opened the breaker, and the subject of
the principal that it stops (None for all callers)."""


@dataclass(frozen=True, slots=True)
class BreakerReading:
    """The state of a breaker as operators see it."""

    position: BreakerPosition
    failures: int
    """Failures in a row: those that opened the breaker or, while it is closed, those that this gateway counted."""
    last_failure: str | None = None


@dataclass(frozen=True, slots=True)
class _GuardedCall:
    """Whose call of which function a breaker guards."""

    tenant: str
    function: str
    digest: str
    """Stands for the principal."""
    subject: str

    @property
    def key(self) -> tuple[str, str]:
        return self.tenant, self.function


@dataclass(frozen=True, slots=True)
class _Opened:
    """A breaker that stops a call."""

    state: BreakerState
    digest: str | None
    """None for the breaker that stops all callers."""


@dataclass(frozen=True, slots=True)
class _Probe:
    """A call that finds out whether a breaker can close."""

    opened: _Opened
    claimed_until: float
    """The time until which no other call may probe. The probe may run for longer."""


class _CountedFailures:
    """The failures of one function that this gateway has counted."""

    def __init__(self) -> None:
        self.by_principal = BoundedCache[str, list[str]](MAX_COUNTED_PRINCIPALS)
        """The codes of each principal's failures since its last success."""
        self.in_a_row: list[str] = []
        """The digests of the principals that failed since the last success of any principal."""

    def add(self, digest: str, code: str, limit: int) -> int:
        """Add a failure and return the number of the principal's failures."""
        codes = self.by_principal.find_or_put(digest, list[str])
        codes.append(code)  # atomic between threads; adding to a number is not
        if self.in_a_row.count(digest) < limit:
            self.in_a_row.append(digest)
        return len(codes)

    def forget(self, digest: str) -> None:
        """Forget the failures of a principal, whose call has succeeded."""
        self.by_principal.drop(digest)
        self.in_a_row.clear()

    def are_general(self, limit: int) -> bool:
        """Tell whether so many failures in a row come from several principals."""
        return len(self.in_a_row) >= limit and len(set(self.in_a_row)) >= SEVERAL_PRINCIPALS


class Breaker:
    """Guards calls of functions and records their outcome."""

    def __init__(self, *, view: FunctionView, store: "Breakers", clock: "Clock", notice: BreakerNotice) -> None:
        self._view = view
        self._store = store
        self._clock = clock
        self._notice = notice
        self._failures = BoundedCache[tuple[str, str], _CountedFailures](MAX_COUNTED_FUNCTIONS)

    def guard(self, request: CallRequest, attempt: Callable[[], CallReply]) -> CallReply:
        """Run the attempt and record its reply, or refuse with circuit_open without running it. The reply counts as one
        success or failure, however often the attempt tried."""
        guarded = _guarded_call(request.principal, request.function)
        state = self._current(guarded)
        placement = placement_of(state)
        if placement is None or not effective_setting(state, "breaker_failures"):
            return attempt()
        opened = _find_opened(state.breakers, guarded.digest, self._clock.now())
        if opened is None:
            return _run_attempt(attempt, request.function, lambda reply: self._record_attempt(guarded, state, reply))
        probe = _Probe(opened, self._claim_end(request, state, placement))
        if wait := self._seconds_to_wait(guarded, probe):
            return failure("circuit_open", request.function, retry_after_ms=ceil(wait * 1000))
        return _run_attempt(attempt, request.function, lambda reply: self._record_probe(guarded, state, probe, reply))

    def find_refusal(self, principal: Principal, function: str) -> Failure | None:
        """Return the failure with which a call would be refused now, or None. For calls that are made later."""
        state = self._view.state(principal.tenant, function)
        now = self._clock.now()
        opened = _find_opened(state.breakers, digest_of(principal), now)
        if opened is None or not effective_setting(state, "breaker_failures"):
            return None
        wait = _seconds_left(opened.state, now)
        return failure("circuit_open", function, retry_after_ms=ceil(wait * 1000)) if wait else None

    def state(self, principal: Principal, function: str) -> BreakerReading:
        """Return the position and the failures of the breaker that stops this principal, or would stop it."""
        now, digest = self._clock.now(), digest_of(principal)
        state = self._view.state(principal.tenant, function)
        opened = _find_opened(state.breakers, digest, now)
        if opened is None or not effective_setting(state, "breaker_failures"):
            counted = self._failures.get((principal.tenant, function))
            failures = tuple(counted.by_principal.get(digest) or ()) if counted is not None else ()
            return BreakerReading("closed", len(failures), failures[-1] if failures else None)
        position: BreakerPosition = "probing" if _probe_seconds_left(opened.state, now) else "open"
        return BreakerReading(position, opened.state.failures, opened.state.last_failure)

    def reset(self, tenant: str, function: str) -> bool:
        """Close all breakers of a function and forget the counted failures. Return False if none was open."""
        self._failures.drop((tenant, function))
        was_open = self._store.close(tenant, function)
        self._view.forget(tenant, function)
        return was_open

    def _current(self, guarded: _GuardedCall) -> FunctionState:
        """Read the state from the view or, where a probe would be next, from the store: another gateway may just have
        recorded one."""
        state, now = self._view.state(*guarded.key), self._clock.now()
        opened = _find_opened(state.breakers, guarded.digest, now)
        if opened is not None and not _seconds_left(opened.state, now):
            self._view.forget(*guarded.key)
            state = self._view.state(*guarded.key)
        return state

    def _claim_end(self, request: CallRequest, state: FunctionState, placement: Placement) -> float:
        """Return the time until which the call, as a probe, keeps other callers from probing."""
        now = self._clock.now()
        ends_at = min(request.ends_at, now + timeout_ms(state, placement) / 1000)
        return min(ends_at + PROBE_MARGIN, now + LONGEST_PROBE_CLAIM)

    def _seconds_to_wait(self, guarded: _GuardedCall, probe: _Probe) -> float:
        """Return the seconds after which the caller should try again, or 0 if this call is the probe."""
        now = self._clock.now()
        if seconds := _seconds_left(probe.opened.state, now):
            return seconds
        is_probe = self._store.claim_probe(*guarded.key, now, probe.claimed_until, probe.opened.digest)
        return 0.0 if is_probe else PROBE_RETRY_SECONDS

    def _record_attempt(self, guarded: _GuardedCall, state: FunctionState, reply: CallReply) -> None:
        """Count the reply of an attempt through a closed breaker. A failure that is not counted changes nothing."""
        if not isinstance(reply, Failure):
            self._forget_failures(guarded)
        elif is_counted(reply):
            limit = effective_setting(state, "breaker_failures")
            counted = self._failures.find_or_put(guarded.key, _CountedFailures)
            failures = counted.add(guarded.digest, reply.code, limit)
            if counted.are_general(limit):
                self._open_for_all(guarded, state, len(counted.in_a_row), reply.code)
            elif failures >= limit:
                self._stop(guarded, state, failures, reply.code)

    def _record_probe(self, guarded: _GuardedCall, state: FunctionState, probe: _Probe, reply: CallReply) -> None:
        """Close the breaker after a probe that ran, or open it again after one that failed. A reply that comes after
        the claim has ended counts as well: it is the newest that is known of the function."""
        if isinstance(reply, Failure) and is_counted(reply):
            self._record_failed_probe(guarded, state, probe, reply.code)
        elif not isinstance(reply, Failure) or reply.code in RAN_CODES:
            self._close(guarded, probe.opened)
        else:  # unchanged, so that the next call is a probe
            self._release(guarded, probe)

    def _record_failed_probe(self, guarded: _GuardedCall, state: FunctionState, probe: _Probe, code: str) -> None:
        """Stop the principal of the probe for another pause. The breaker for all callers begins another pause only
        once probes of several principals have failed, so that no principal can hold it open alone."""
        opened = probe.opened
        failures = opened.state.failures + 1
        after = self._stop(guarded, state, failures, code)
        if opened.digest is not None:
            return
        probes = [stop for stop in after.by_principal.values() if stop.opened_until > opened.state.opened_until]
        if len(probes) >= SEVERAL_PRINCIPALS:
            self._open_for_all(guarded, state, failures, code)
        else:
            self._release(guarded, probe)

    def _release(self, guarded: _GuardedCall, probe: _Probe) -> None:
        """Let the next call probe, unless the claim has ended and another call probes already."""
        until, digest = probe.claimed_until, probe.opened.digest
        self._write(guarded, lambda: self._store.release_probe(*guarded.key, until, digest))

    def _open_for_all(self, guarded: _GuardedCall, state: FunctionState, failures: int, code: str) -> None:
        breaker = BreakerState(self._pause_end(state), failures, code)
        if self._write(guarded, lambda: self._store.open(*guarded.key, breaker)):
            self._failures.drop(guarded.key)
        self._notice(*guarded.key, "open", code, None)

    def _stop(self, guarded: _GuardedCall, state: FunctionState, failures: int, code: str) -> OpenBreakers:
        """Open the breaker of the call's principal and return all open breakers, as far as they are known."""
        breaker = BreakerState(self._pause_end(state), failures, code, subject=guarded.subject)
        written = self._write(guarded, lambda: self._store.open(*guarded.key, breaker, guarded.digest))
        counted = self._failures.get(guarded.key)
        if written is not None and counted is not None:
            counted.by_principal.drop(guarded.digest)
        self._notice(*guarded.key, "open", code, guarded.subject)
        return written or OpenBreakers()

    def _close(self, guarded: _GuardedCall, opened: _Opened) -> None:
        if opened.digest is None:
            self._write(guarded, lambda: self._store.close(*guarded.key))
        else:
            self._write(guarded, lambda: self._store.close_for(*guarded.key, guarded.digest))
        self._forget_failures(guarded)
        self._notice(*guarded.key, "closed", None, None if opened.digest is None else guarded.subject)

    def _pause_end(self, state: FunctionState) -> float:
        return self._clock.now() + effective_setting(state, "breaker_pause_ms") / 1000

    def _forget_failures(self, guarded: _GuardedCall) -> None:
        counted = self._failures.get(guarded.key)
        if counted is not None:
            counted.forget(guarded.digest)

    def _write[Written](self, guarded: _GuardedCall, write: Callable[[], Written]) -> Written | None:
        """Write to the store and drop the view's copy. An unavailable store is ignored: the function may have had an
        effect, so the reply is returned in any case."""
        written = None
        with suppress(Unavailable):
            written = write()
        self._view.forget(*guarded.key)
        return written


def digest_of(principal: Principal) -> str:
    """Return the text that stands for a principal of a tenant in rows of breakers."""
    return hashlib.sha256(json.dumps([principal.issuer, principal.subject]).encode()).hexdigest()[:32]


def _guarded_call(principal: Principal, function: str) -> _GuardedCall:
    subject = principal.subject[:LONGEST_SUBJECT].encode(errors="replace").decode()
    return _GuardedCall(principal.tenant, function, digest_of(principal), subject)


def _find_opened(breakers: OpenBreakers, digest: str, now: float) -> _Opened | None:
    """Find the breaker that stops the principal for the longest time. After both pauses that for all callers is left:
    its probe decides about both."""
    found = [_Opened(breakers.for_all, None)] if breakers.for_all is not None else []
    if digest in breakers.by_principal:
        found.append(_Opened(breakers.by_principal[digest], digest))
    return max(found, key=lambda opened: _seconds_left(opened.state, now), default=None)


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
