"""The breaker of a function, as whoever calls the function meets it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import count
from threading import Barrier, Event
from typing import override

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.adapters.memory import (
    FunctionTable,
    MemoryBreakers,
    MemoryDirectory,
    MemoryFunctionStates,
    MemoryRuntimeSettings,
)
from signpost.calling.breaker import (
    PROBE_MARGIN,
    PROBE_RETRY_SECONDS,
    Breaker,
    BreakerReading,
    digest_of,
)
from signpost.calling.failures import COUNTED_CODES, FAILURES, failure, reported_failure
from signpost.calling.lookup import REVALIDATION_INTERVAL, FunctionView
from signpost.contract import (
    BreakerState,
    CallReply,
    CallRequest,
    Executor,
    Failure,
    FunctionState,
    HostedFunction,
    KeptResult,
    OpenBreakers,
    Result,
)
from signpost.errors import DeadlinePassed, Unavailable
from signpost.model import InputRequired, Principal
from tests.support.memory_gateway import ManualClock

TENANT, CALLER = "default", "somebody"
SEVERAL = ("ada", "alan", "grace")
MAIL, FILES = "email::send", "files::read"
EXECUTOR = Executor("arn:mail", "arn:mail-keys", 900_000)
PAUSE = 300.0  # the defaults
CLAIM = 30.0
"""Seconds for which a slow probe keeps others from probing."""
CLOSED = BreakerReading("closed", 0)

OK = Result({"sent": 1})
CRASHED = failure("crashed", MAIL)
REFUSED = reported_failure("permanent_error", "There is no such mailbox.")
UNCOUNTED = Failure("reported", "timeout", "none", "The host that you named is dead.", counts=False)


def named(subject: str, tenant: str = TENANT) -> Principal:
    return Principal(subject=subject, tenant=tenant, issuer="test")


class CountedStates(MemoryFunctionStates):
    def __init__(self, table: FunctionTable) -> None:
        super().__init__(table)
        self.reads = 0

    @override
    def read(self, tenant: str, function: str) -> FunctionState:
        self.reads += 1
        return super().read(tenant, function)


class Table:
    """What the gateways of a deployment share."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.rows = FunctionTable()
        self.settings = MemoryRuntimeSettings(self.rows)
        self.breakers = MemoryBreakers(self.rows)
        MemoryDirectory(self.rows).place(None, EXECUTOR, [HostedFunction(MAIL), HostedFunction(FILES)])

    def opened(self, function: str = MAIL, subject: str = CALLER) -> BreakerState | None:
        """Return the state of the breaker of one principal, without its name."""
        found = (
            self.breakers.of_tenant(TENANT).get(function, OpenBreakers()).by_principal.get(digest_of(named(subject)))
        )
        return None if found is None else replace(found, subject=None)

    def opened_for_all(self, function: str = MAIL) -> BreakerState | None:
        return self.breakers.of_tenant(TENANT).get(function, OpenBreakers()).for_all


class Gateway:
    """One of them. It remembers how often a function was tried."""

    def __init__(self, table: Table, breakers: MemoryBreakers | None = None) -> None:
        self.table = table
        self.states = CountedStates(table.rows)
        self.view = FunctionView(states=self.states, clock=table.clock)
        self.notices: list[tuple[str | None, ...]] = []
        self.breaker = Breaker(
            view=self.view,
            store=breakers or table.breakers,
            clock=table.clock,
            notice=self.receive_notice,
        )
        self.attempts = 0

    def receive_notice(self, *facts: str | None) -> None:
        self.notices.append(facts)

    def call(
        self,
        reply: CallReply | BaseException | Callable[[], CallReply] = OK,
        *,
        function: str = MAIL,
        tenant: str = TENANT,
        lasting: float = 28.0,
        subject: str = CALLER,
    ) -> CallReply:
        principal = named(subject, tenant)
        ends_at = self.table.clock.now() + lasting
        request = CallRequest(function=function, arguments={}, principal=principal, ends_at=ends_at)

        def attempt() -> CallReply:
            self.attempts += 1
            if isinstance(reply, BaseException):
                raise reply
            return reply() if callable(reply) else reply

        return self.breaker.guard(request, attempt)

    def fail(self, times: int = 3, reply: CallReply = CRASHED, *, subject: str = CALLER) -> None:
        for _ in range(times):
            assert self.call(reply, subject=subject) == reply

    def fail_for_several(self) -> None:
        """Open the breaker for all callers, by a failure for each of three principals."""
        for subject in SEVERAL:
            self.fail(1, subject=subject)

    def reading(self, function: str = MAIL, subject: str = CALLER) -> BreakerReading:
        return self.breaker.state(named(subject), function)


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def gateway(table: Table) -> Gateway:
    return Gateway(table)


@pytest.fixture
def gateway_before_probe(table: Table, gateway: Gateway) -> Gateway:
    """The breaker is open and its pause is over: the next call is the probe."""
    gateway.fail()
    table.clock.advance(PAUSE)
    gateway.attempts = 0
    return gateway


def code_of(reply: CallReply) -> str:
    assert isinstance(reply, Failure), reply
    return reply.code


def test_s240_a_new_breaker_is_closed_without_counted_failures(gateway: Gateway) -> None:
    assert gateway.reading() == CLOSED


def test_s241_an_unknown_function_is_attempted_and_never_opens_its_breaker(gateway: Gateway) -> None:
    unknown = failure("unknown_function", "nobody::knows")
    for _ in range(5):
        assert gateway.call(unknown, function="nobody::knows") == unknown
    assert gateway.reading("nobody::knows") == CLOSED


def test_s242_a_result_is_returned_unchanged(gateway: Gateway) -> None:
    for reply in (OK, KeptResult("answers/default/a.json", 7, "0" * 64), InputRequired({"name": {}}, state=1)):
        assert gateway.call(reply) is reply


def test_s243_a_failure_is_returned_unchanged(gateway: Gateway) -> None:
    assert gateway.call(CRASHED) is CRASHED
    assert gateway.call(REFUSED) is REFUSED


def test_s244_a_gateway_that_starts_later_reads_the_stored_state(table: Table, gateway: Gateway) -> None:
    gateway.fail()
    assert Gateway(table).reading() == gateway.reading() == BreakerReading("open", 3, "crashed")


def test_s245_three_failures_in_a_row_open_the_breaker(table: Table, gateway: Gateway) -> None:
    gateway.fail(2)
    gateway.call(failure("timed_out", MAIL))
    assert table.opened() == BreakerState(table.clock.now() + PAUSE, failures=3, last_failure="timed_out")
    assert gateway.reading() == BreakerReading("open", 3, "timed_out")


def test_s246_an_open_breaker_refuses_calls_with_the_time_to_retry(table: Table, gateway: Gateway) -> None:
    gateway.fail()
    table.clock.advance(100.0)
    refused = gateway.call(OK)
    assert refused == failure("circuit_open", MAIL, retry_after_ms=200_000)
    assert gateway.attempts == 3


def test_s247_a_success_resets_the_failure_count(gateway: Gateway) -> None:
    gateway.fail(2)
    assert gateway.reading() == BreakerReading("closed", 2, "crashed")
    gateway.call(OK)
    assert gateway.reading() == CLOSED
    gateway.fail(2)
    assert gateway.reading().position == "closed"


def test_s248_a_successful_probe_closes_the_breaker(table: Table, gateway_before_probe: Gateway) -> None:
    assert gateway_before_probe.call(OK) is OK
    assert table.opened() is None
    assert gateway_before_probe.reading() == CLOSED
    gateway_before_probe.fail(2)
    assert gateway_before_probe.reading().position == "closed"


def test_s249_a_failed_probe_opens_the_breaker_for_another_pause(table: Table, gateway_before_probe: Gateway) -> None:
    assert gateway_before_probe.call(failure("timed_out", MAIL)) == failure("timed_out", MAIL)
    assert table.opened() == BreakerState(table.clock.now() + PAUSE, failures=4, last_failure="timed_out")
    assert code_of(gateway_before_probe.call(OK)) == "circuit_open"


def test_s250_each_function_and_tenant_has_its_own_breaker(gateway: Gateway) -> None:
    gateway.fail()
    assert gateway.call(OK, function=FILES) is OK
    assert gateway.call(OK, tenant="acme") is OK
    assert code_of(gateway.call(OK)) == "circuit_open"


def test_s251_resetting_a_closed_breaker_only_clears_the_failure_count(gateway: Gateway) -> None:
    gateway.fail(2)
    assert not gateway.breaker.reset(TENANT, MAIL)
    assert gateway.reading() == CLOSED


def test_s252_resetting_an_open_breaker_closes_it(gateway: Gateway) -> None:
    gateway.fail()
    assert gateway.breaker.reset(TENANT, MAIL)
    assert gateway.call(OK) is OK


def test_s253_resetting_the_breaker_of_an_unknown_function_is_no_error(gateway: Gateway) -> None:
    assert not gateway.breaker.reset(TENANT, "nobody::knows")


def test_s254_closing_a_breaker_leaves_no_row(table: Table, gateway: Gateway) -> None:
    gateway.fail()
    assert table.breakers.close(TENANT, MAIL)
    assert table.breakers.of_tenant(TENANT) == {}


def test_s255_closing_a_breaker_that_is_not_open_is_no_error(table: Table) -> None:
    assert not table.breakers.close(TENANT, "nobody::knows")


def test_s259_a_hundred_concurrent_calls_leave_a_valid_state(table: Table) -> None:
    gateway = Gateway(table)
    replies: Sequence[CallReply] = [OK, CRASHED, REFUSED, CRASHED, CRASHED]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(gateway.call, (replies[number % 5] for number in range(100))))
    assert {code_of(answer) for answer in answers if isinstance(answer, Failure)} <= {
        "crashed",
        "reported",
        "circuit_open",
    }
    reading, opened = gateway.reading(), table.opened()
    assert (reading.position == "open") == (opened is not None)
    assert opened is None or (opened.failures >= 3 and opened.probing_until is None)


def test_s260_concurrent_readings_agree(gateway: Gateway) -> None:
    gateway.fail()
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(gateway.reading, [MAIL] * 100)) == {BreakerReading("open", 3, "crashed")}


def test_s261_readings_are_valid_while_the_breaker_opens_and_closes(gateway: Gateway) -> None:
    done = Event()

    def read() -> set[str]:
        seen = set[str]()
        while not done.is_set():
            reading = gateway.reading()
            seen.add(reading.position)
            assert (reading.failures == 0) == (reading.last_failure is None)
        return seen

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        for _ in range(200):
            gateway.fail()
            gateway.breaker.reset(TENANT, MAIL)
        done.set()
        assert all(reader.result() <= {"open", "closed"} for reader in readers)


def test_s262_one_of_several_gateways_probes(table: Table) -> None:
    first, second = Gateway(table), Gateway(table)
    first.fail()
    table.clock.advance(PAUSE)
    refused: list[CallReply] = []

    def attempt() -> CallReply:
        assert second.reading().position == "probing"
        refused.append(second.call(OK))
        return OK

    assert first.call(attempt) is OK
    assert refused == [failure("circuit_open", MAIL, retry_after_ms=int(PROBE_RETRY_SECONDS * 1000))]
    assert second.attempts == 0


def test_s262_one_of_sixteen_concurrent_callers_probes_after_the_pause(
    table: Table, gateway_before_probe: Gateway
) -> None:
    decided = Barrier(16)  # the others decide while the probe runs, and it ends when all have
    gateways = [gateway_before_probe, *(Gateway(table) for _ in range(3))]

    def probe() -> CallReply:
        decided.wait(timeout=20)
        return OK

    def call(number: int) -> CallReply:
        reply = gateways[number % 4].call(probe)
        if isinstance(reply, Failure):
            decided.wait(timeout=20)
        return reply

    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(call, range(16)))
    assert [code_of(reply) for reply in replies if reply is not OK] == ["circuit_open"] * 15
    assert sum(gateway.attempts for gateway in gateways) == 1
    assert table.opened() is None


@pytest.mark.parametrize("code", sorted(COUNTED_CODES))
def test_s263_exceptions_crashes_and_timeouts_count_as_failures(gateway: Gateway, code: str) -> None:
    gateway.fail(3, failure(code, MAIL))
    assert gateway.reading() == BreakerReading("open", 3, code)


def test_s263_a_call_that_passes_its_deadline_counts_as_a_failure(table: Table, gateway: Gateway) -> None:
    for _ in range(3):
        with pytest.raises(DeadlinePassed):
            gateway.call(DeadlinePassed())
    assert gateway.reading() == BreakerReading("open", 3, "timed_out")
    table.clock.advance(PAUSE)
    with pytest.raises(DeadlinePassed):
        gateway.call(DeadlinePassed())
    assert gateway.reading() == BreakerReading("open", 4, "timed_out")


@pytest.mark.parametrize("kind", ["timeout", "rate_limited", "connection_error", "transient_error"])
def test_a_reported_transient_failure_counts(gateway: Gateway, kind: str) -> None:
    gateway.fail(3, Failure("reported", kind, "none", "Not now."))  # pyright: ignore[reportArgumentType] - of the four
    assert gateway.reading().position == "open"


@pytest.mark.parametrize(
    "refusal",
    [*(failure(code, MAIL) for code in sorted(FAILURES.keys() - COUNTED_CODES)), REFUSED, UNCOUNTED],
    ids=lambda refusal: f"{refusal.code} {refusal.kind}",
)
def test_an_uncounted_failure_leaves_the_failure_count_unchanged(gateway: Gateway, refusal: Failure) -> None:
    gateway.fail(2)
    for _ in range(5):
        gateway.call(refusal)
    assert gateway.reading() == BreakerReading("closed", 2, "crashed")
    gateway.call(CRASHED)
    assert gateway.reading().position == "open"


def test_an_attempt_with_several_tries_counts_once(gateway: Gateway) -> None:
    tries = count(1)

    def three_times() -> CallReply:
        return [CRASHED for _ in range(3) if next(tries)][-1]

    gateway.call(three_times)
    assert next(tries) == 4
    assert gateway.reading() == BreakerReading("closed", 1, "crashed")


@pytest.mark.parametrize("code", ["throttled", "unreachable", "late", "access_denied", "connection_lost"])
def test_an_inconclusive_probe_lets_the_next_call_probe(table: Table, gateway_before_probe: Gateway, code: str) -> None:
    before = table.opened()
    assert code_of(gateway_before_probe.call(failure(code, MAIL))) == code
    assert table.opened() == before
    assert Gateway(table).call(OK) is OK
    assert table.opened() is None


@pytest.mark.parametrize("reply", [REFUSED, UNCOUNTED, failure("result_too_large", MAIL), InputRequired({})])
def test_a_probe_that_returns_a_refusal_or_an_input_request_closes_the_breaker(
    table: Table, gateway_before_probe: Gateway, reply: CallReply
) -> None:
    gateway_before_probe.call(reply)
    assert table.opened() is None


def test_a_probe_without_a_reply_is_repeated_after_its_time_limit(table: Table, gateway_before_probe: Gateway) -> None:
    with suppress(RuntimeError):
        gateway_before_probe.call(RuntimeError("the gateway is gone"))
    assert code_of(Gateway(table).call(OK)) == "circuit_open"
    table.clock.advance(28.0 + PROBE_MARGIN)
    assert Gateway(table).call(OK) is OK


def test_a_probe_expires_with_the_timeout_of_its_function(table: Table, gateway_before_probe: Gateway) -> None:
    table.settings.set(TENANT, MAIL, "tool_timeout_ms", 1_000)
    with suppress(RuntimeError):
        gateway_before_probe.call(RuntimeError("the gateway is gone"))
    opened = table.opened()
    assert opened is not None
    assert opened.probing_until == table.clock.now() + 1.0 + PROBE_MARGIN


def test_a_slow_probe_keeps_other_callers_waiting_for_half_a_minute_only(table: Table, gateway: Gateway) -> None:
    gateway.fail_for_several()
    table.clock.advance(PAUSE)
    replies: list[CallReply] = []

    def hang() -> CallReply:
        table.clock.advance(CLAIM - 1)
        replies.append(Gateway(table).call(OK, subject="alan"))
        table.clock.advance(1)
        replies.append(Gateway(table).call(OK, subject="alan"))
        return OK

    gateway.call(hang, subject="ada", lasting=900.0)
    assert code_of(replies[0]) == "circuit_open"
    assert replies[1] is OK
    assert table.opened_for_all() is None


class OverlappingProbes:
    """A probe of ada whose claim ends while it runs, and one of alan that begins then and outlives it."""

    def __init__(self, table: Table, first: CallReply, second: CallReply) -> None:
        self._table, self._first, self._second = table, first, second
        self._second_runs, self._second_may_end = Event(), Event()

    def run(self, between: Callable[[], None]) -> None:
        """Act between the end of the first probe and that of the second."""
        with ThreadPoolExecutor(1) as pool:
            try:
                slow = Gateway(self._table).call(lambda: self._overlap(pool), subject="ada", lasting=900.0)
                assert slow is self._first
                between()
            finally:
                self._second_may_end.set()
            assert self._alan.result() is self._second

    def _overlap(self, pool: ThreadPoolExecutor) -> CallReply:
        self._table.clock.advance(CLAIM)
        self._alan = pool.submit(Gateway(self._table).call, self._run_second, subject="alan")
        assert self._second_runs.wait(20)
        return self._first

    def _run_second(self) -> CallReply:
        self._second_runs.set()
        assert self._second_may_end.wait(20)
        return self._second


@pytest.mark.parametrize("late", [CRASHED, failure("throttled", MAIL)], ids=["failed", "inconclusive"])
def test_a_probe_that_ends_after_its_claim_lets_no_third_caller_probe(
    table: Table, gateway: Gateway, late: CallReply
) -> None:
    gateway.fail_for_several()
    table.clock.advance(PAUSE)

    def call_of_a_third() -> None:
        assert code_of(Gateway(table).call(OK, subject="grace")) == "circuit_open"

    OverlappingProbes(table, late, OK).run(call_of_a_third)
    assert table.opened_for_all() is None


def test_a_probe_that_succeeds_after_its_claim_closes_the_breaker_for_all(table: Table, gateway: Gateway) -> None:
    gateway.fail_for_several()
    table.clock.advance(PAUSE)

    def call_of_a_third() -> None:
        assert Gateway(table).call(OK, subject="grace") is OK

    OverlappingProbes(table, OK, CRASHED).run(call_of_a_third)
    assert table.opened_for_all() is None
    assert table.opened(subject="alan") is not None, "the failed probe stops its own principal"
    assert Gateway(table).call(OK, subject="grace") is OK


def test_a_gateway_with_an_outdated_reading_does_not_probe_a_closed_breaker(table: Table) -> None:
    first, second = Gateway(table), Gateway(table)
    first.fail()
    table.clock.advance(PAUSE - 1)
    second.call(OK)  # sees that it is open, and knows it for two seconds
    table.clock.advance(1)
    first.call(OK)
    second.call(CRASHED)
    assert table.opened() is None, "one failure of a function that works does not open its breaker again"


def test_other_gateways_see_an_opened_breaker_within_two_seconds(table: Table) -> None:
    first, second = Gateway(table), Gateway(table)
    second.call(OK)
    first.fail()
    assert second.call(OK) is OK
    table.clock.advance(REVALIDATION_INTERVAL)
    assert code_of(second.call(OK)) == "circuit_open"


def test_the_state_of_a_working_function_is_read_once_in_two_seconds(table: Table, gateway: Gateway) -> None:
    for _ in range(10):
        gateway.call(OK)
    assert gateway.states.reads == 1
    table.clock.advance(REVALIDATION_INTERVAL)
    gateway.call(OK)
    assert gateway.states.reads == 2


@pytest.mark.parametrize("where", [MAIL, None])
def test_an_operator_sets_the_failure_limit_and_the_pause(table: Table, gateway: Gateway, where: str | None) -> None:
    table.settings.set(TENANT, where, "breaker_failures", 1)
    table.settings.set(TENANT, where, "breaker_pause_ms", 1_500)
    gateway.fail(1)
    assert gateway.call(OK) == failure("circuit_open", MAIL, retry_after_ms=1_500)
    table.clock.advance(1.5)
    assert gateway.call(OK) is OK


def test_a_disabled_breaker_counts_no_failures_and_refuses_no_calls(table: Table, gateway: Gateway) -> None:
    gateway.fail()
    table.settings.set(TENANT, MAIL, "breaker_failures", 0)
    table.clock.advance(REVALIDATION_INTERVAL)
    gateway.fail(10)
    table.breakers.close(TENANT, MAIL)
    table.settings.unset(TENANT, MAIL, "breaker_failures")
    table.clock.advance(REVALIDATION_INTERVAL)
    gateway.fail(2)
    assert gateway.reading() == BreakerReading("closed", 2, "crashed")


THROTTLED = failure("throttled", MAIL)


class BreakerModel:
    """What a breaker is, said without views, rows and claims."""

    def __init__(self) -> None:
        self.failures = 0
        self.opened_until: float | None = None

    def call(self, reply: CallReply, now: float) -> str:
        if self.opened_until is not None and now < self.opened_until:
            return "circuit_open"
        probing = self.opened_until is not None
        if reply is CRASHED:
            self.failures += 1
            self.opened_until = now + PAUSE if self.failures >= 3 else None
        elif reply is OK or (probing and reply is REFUSED):
            self.failures, self.opened_until = 0, None
        return code_of(reply) if isinstance(reply, Failure) else "ok"


@given(
    st.lists(st.tuples(st.sampled_from([OK, CRASHED, CRASHED, REFUSED, THROTTLED]), st.sampled_from([0, 1, 150, 300])))
)
def test_the_breaker_agrees_with_its_model(steps: Sequence[tuple[CallReply, float]]) -> None:
    table, expected = Table(), BreakerModel()
    gateway = Gateway(table)
    for reply, passing in steps:
        replied = gateway.call(reply)
        seen = code_of(replied) if isinstance(replied, Failure) else "ok"
        assert seen == expected.call(reply, table.clock.now())
        reading = gateway.reading()
        assert (reading.position == "open") == (expected.opened_until is not None)
        assert reading.failures == expected.failures
        table.clock.advance(passing)


class LostWrites(MemoryBreakers):
    """Reads and claims work; whatever is to be remembered is not."""

    @override
    def open(self, tenant: str, function: str, state: BreakerState, principal: str | None = None) -> OpenBreakers:
        raise Unavailable

    @override
    def close_for(self, tenant: str, function: str, principal: str) -> None:
        raise Unavailable

    @override
    def close(self, tenant: str, function: str) -> bool:
        raise Unavailable


def test_a_reply_is_returned_even_if_the_breaker_cannot_be_written(table: Table) -> None:
    gateway, healthy = Gateway(table, LostWrites(table.rows)), Gateway(table)
    gateway.fail(4)
    assert gateway.reading() == BreakerReading("closed", 4, "crashed")
    healthy.fail()
    table.clock.advance(PAUSE)
    assert gateway.call(OK) is OK
    assert table.opened() is not None


def test_the_number_of_counted_functions_is_bounded(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signpost.calling.breaker.MAX_COUNTED_FUNCTIONS", 1)
    gateway = Gateway(table)
    gateway.fail(2)
    assert gateway.reading() == BreakerReading("closed", 2, "crashed")
    gateway.call(failure("crashed", FILES), function=FILES)
    assert gateway.reading() == CLOSED
    assert gateway.reading(FILES) == BreakerReading("closed", 1, "crashed")


def test_a_breaker_sends_one_notice_when_it_opens_and_one_when_it_closes(table: Table, gateway: Gateway) -> None:
    gateway.fail()
    gateway.call()
    assert gateway.notices == [(TENANT, MAIL, "open", CRASHED.code, CALLER)]
    table.clock.advance(PAUSE)
    gateway.call()
    gateway.call()
    assert gateway.notices[1:] == [(TENANT, MAIL, "closed", None, CALLER)]


@pytest.mark.invariant(91)
def test_failures_of_one_principal_stop_only_that_principal(table: Table, gateway: Gateway) -> None:
    gateway.fail(3, subject="attacker")
    assert code_of(gateway.call(OK, subject="attacker")) == "circuit_open"
    for other in (gateway, Gateway(table)):
        assert other.call(OK, subject="ada") is OK
        assert code_of(other.call(OK, subject="attacker")) == "circuit_open"
    assert table.opened_for_all() is None


@pytest.mark.invariant(91)
def test_one_principal_cannot_open_the_breaker_for_all_with_the_failures_of_another(
    table: Table, gateway: Gateway
) -> None:
    for _ in range(10):
        gateway.fail(1, subject="ada")
        gateway.call(OK, subject="ada")
        gateway.call(CRASHED, subject="attacker")
        gateway.fail(1, subject="alan")
        gateway.call(OK, subject="alan")
        table.clock.advance(PAUSE)
    assert table.opened_for_all() is None


def test_failures_of_several_principals_in_a_row_open_the_breaker_for_all(table: Table, gateway: Gateway) -> None:
    gateway.fail_for_several()
    assert table.opened_for_all() == BreakerState(table.clock.now() + PAUSE, failures=3, last_failure="crashed")
    assert gateway.call(OK) == failure("circuit_open", MAIL, retry_after_ms=300_000)
    assert gateway.notices == [(TENANT, MAIL, "open", "crashed", None)]


def test_a_success_of_any_principal_ends_the_row_of_failures(table: Table, gateway: Gateway) -> None:
    gateway.fail(1, subject="ada")
    gateway.fail(1, subject="alan")
    gateway.call(OK)
    gateway.fail(1, subject="grace")
    assert table.opened_for_all() is None


def test_principals_of_two_issuers_have_breakers_of_their_own() -> None:
    assert digest_of(Principal("ada", TENANT, "a")) != digest_of(Principal("ada", TENANT, "b"))


def test_a_principal_is_stopped_until_its_own_probe_succeeds(table: Table, gateway: Gateway) -> None:
    gateway.fail(3, subject="ada")
    table.clock.advance(PAUSE)
    assert gateway.call(CRASHED, subject="ada") == CRASHED
    assert code_of(gateway.call(OK, subject="ada")) == "circuit_open"
    table.clock.advance(PAUSE)
    assert gateway.call(OK, subject="ada") is OK
    assert table.breakers.of_tenant(TENANT) == {}
    assert [(position, subject) for *_, position, _, subject in gateway.notices] == [
        ("open", "ada"), ("open", "ada"), ("closed", "ada")
    ]  # fmt: skip


@pytest.mark.invariant(91)
def test_one_principal_cannot_hold_the_breaker_for_all_open(table: Table, gateway: Gateway) -> None:
    gateway.fail_for_several()
    for _ in range(5):
        table.clock.advance(PAUSE)
        assert gateway.call(CRASHED, subject="attacker") == CRASHED
        assert code_of(gateway.call(OK, subject="attacker")) == "circuit_open"
    assert gateway.call(OK, subject="ada") is OK, "the next principal probes at once"
    assert table.breakers.of_tenant(TENANT) == {}


def test_failed_probes_of_several_principals_begin_another_pause_for_all(table: Table, gateway: Gateway) -> None:
    gateway.fail_for_several()
    table.clock.advance(PAUSE)
    for subject in SEVERAL:
        assert gateway.call(CRASHED, subject=subject) == CRASHED
    assert gateway.call(OK, subject="edsger") == failure("circuit_open", MAIL, retry_after_ms=300_000)
    table.clock.advance(PAUSE)
    assert gateway.call(OK, subject="edsger") is OK
    assert gateway.call(OK, subject="ada") is OK, "a successful probe ends all breakers of the function"


def test_one_caller_at_a_time_probes_for_all(table: Table, gateway: Gateway) -> None:
    gateway.fail_for_several()
    table.clock.advance(PAUSE)
    refused: list[CallReply] = []

    def attempt() -> CallReply:
        refused.append(Gateway(table).call(OK, subject="alan"))
        return THROTTLED

    assert gateway.call(attempt, subject="ada") == THROTTLED
    assert [code_of(reply) for reply in refused] == ["circuit_open"]
    assert Gateway(table).call(OK, subject="alan") is OK


def test_resetting_a_breaker_lets_all_principals_call_again(gateway: Gateway) -> None:
    gateway.fail(3, subject="ada")
    gateway.fail(3, subject="alan")
    assert gateway.breaker.reset(TENANT, MAIL)
    assert [gateway.call(OK, subject=subject) for subject in ("ada", "alan")] == [OK, OK]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_breaker_for_all_needs_several_principals_and_the_set_number_of_failures(
    table: Table, gateway: Gateway, limit: int
) -> None:
    table.settings.set(TENANT, MAIL, "breaker_failures", limit)
    for subject in ("ada", "alan"):
        gateway.fail(limit, subject=subject)
        assert table.opened_for_all() is None
    gateway.fail(1, subject="grace")
    assert table.opened_for_all() is not None


def test_the_number_of_counted_principals_is_bounded(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signpost.calling.breaker.MAX_COUNTED_PRINCIPALS", 1)
    gateway = Gateway(table)
    gateway.fail(2, subject="ada")
    gateway.fail(1, subject="alan")
    gateway.fail(1, subject="ada")
    assert gateway.reading(subject="ada") == BreakerReading("closed", 1, "crashed")


def test_breakers_of_any_number_of_principals_cost_one_reading_in_two_seconds(gateway: Gateway) -> None:
    for number in range(20):
        gateway.call(OK, subject=f"principal {number}")
    assert gateway.states.reads == 1
