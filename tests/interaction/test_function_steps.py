"""A step that a function carries out: what it is called with, what its answers mean, and what it may say of people."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, override

import pytest

from signpost.adapters.memory import (
    FunctionTable,
    MemoryBreakers,
    MemoryDirectory,
    MemoryFunctionStates,
    MemoryRuntimeSettings,
)
from signpost.calling.breaker import Breaker
from signpost.calling.failures import failure, reported_failure
from signpost.calling.lookup import FunctionView
from signpost.contract import (
    BreakerState,
    CallReply,
    CallRequest,
    Executor,
    Failure,
    HostedFunction,
    KeptResult,
    Result,
)
from signpost.errors import Unavailable
from signpost.model import InputRequired
from signpost.workflow.engine.steps import FUNCTION_KIND
from signpost.workflow.running.attempts import SETTLE_SECONDS
from signpost.workflow.running.executors.function import FunctionStepExecutor
from tests.support.memory_workflows import CALL_SECONDS, LEASE_MARGIN, TENANT, MemoryWorkflows, run_until_idle
from tests.support.step_cases import AGENT, RESOLVER, list_link_names

PAY = "bank::pay"
LINGERS = 60
"""Seconds after which Lambda stops the executor."""
DECLARED_MS = 4_000


class RecordingInvoker:
    """The executors: they remember what they were asked, and answer what they are told to."""

    def __init__(self, *replies: CallReply | Callable[[], CallReply]) -> None:
        self.replies = list(replies)
        self.requests: list[CallRequest] = []

    def invoke(self, request: CallRequest) -> CallReply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        return reply() if callable(reply) else reply


def ignore_notice(tenant: str, function: str, position: str, why: str | None, stopped: str | None) -> None:
    del tenant, function, position, why, stopped


class UnavailableBreakers(MemoryBreakers):
    """Whose table may not be there."""

    is_there = True

    @override
    def claim_probe(self, tenant: str, function: str, now: float, until: float, principal: str | None = None) -> bool:
        if not self.is_there:
            raise Unavailable("Nobody can say who probes.")
        return super().claim_probe(tenant, function, now, until, principal)


class PaymentWorkflow:
    """A workflow whose `go` calls a function."""

    def __init__(
        self, *replies: CallReply | Callable[[], CallReply], hosted: HostedFunction | None = None, **transition: Any
    ) -> None:
        self.called, table = RecordingInvoker(*replies), FunctionTable()
        self.shop = MemoryWorkflows()
        MemoryDirectory(table).place(
            None, Executor("arn:bank", "arn:keys", LINGERS * 1000), [hosted or HostedFunction(PAY)]
        )
        self.settings = MemoryRuntimeSettings(table)
        view = FunctionView(states=MemoryFunctionStates(table), clock=self.shop.clock)
        self.view, self.breakers = view, UnavailableBreakers(table)
        breaker = Breaker(view=view, store=self.breakers, clock=self.shop.clock, notice=ignore_notice)
        self.shop.step_executors[FUNCTION_KIND] = FunctionStepExecutor(
            functions=view, executors=self.called, breaker=breaker, validators=self.shop.workflows.validators
        )
        pay = {"kind": FUNCTION_KIND, "function": PAY, "idempotencyKey": True}
        go = {"target": "b", "executor": pay, "output": {"went": "$.output"}, **transition}
        states = {"a": {"transitions": {"go": go}}, "b": {"transitions": {"back": {"target": "a"}}}}
        self.shop.publish("demo", {"initialState": "a", "states": states})
        self.id = self.shop.start(AGENT)["workflowId"]

    def go(self, **arguments: Any) -> Any:
        return self.shop.submit(self.id, "go", AGENT, arguments)

    def stand(self) -> Any:
        return self.shop.load_instance(self.id)

    def breaks(self, seconds: float) -> None:
        """Its breaker is open for so long."""
        self.breakers.open(TENANT, PAY, BreakerState(self.shop.clock.now() + seconds, 3, "exception"))
        self.view.forget(TENANT, PAY)


def test_a_step_calls_its_function_as_its_submitter_under_its_claim() -> None:
    bank = PaymentWorkflow(Result({"id": 7}), hosted=HostedFunction(PAY, timeout_ms=DECLARED_MS))
    now = bank.shop.clock.now()
    assert bank.go(amount=3)["context"] == {"went": {"id": 7}}
    (request,) = bank.called.requests
    assert (request.function, request.arguments, request.principal) == (PAY, {"amount": 3}, AGENT)
    assert (request.step, request.idempotency_key) == (f"{bank.id}.go.1", f"{bank.id}.go.1")
    assert request.expires_at == now + DECLARED_MS / 1000 + LINGERS + LEASE_MARGIN
    assert now + DECLARED_MS / 1000 <= request.ends_at < now + CALL_SECONDS


def test_a_lease_outlasts_the_lambda_timeout_of_the_executor() -> None:
    def look() -> CallReply:
        leases.append(bank.stand().claim.until - bank.shop.clock.now())
        return Result(None)

    leases: list[float] = []
    bank = PaymentWorkflow(look)
    bank.go()
    assert leases == [CALL_SECONDS - SETTLE_SECONDS + LINGERS + LEASE_MARGIN]


def test_a_timeout_setting_overrides_the_declared_timeout() -> None:
    bank = PaymentWorkflow(Result(None), hosted=HostedFunction(PAY, timeout_ms=DECLARED_MS))
    bank.settings.set(TENANT, PAY, "tool_timeout_ms", 100_000)
    assert bank.go()["pending"]["on"] == "executor"
    bank.shop.run_until_idle()
    assert bank.stand().state == "b"


def test_a_timeout_for_all_functions_of_a_tenant_applies_to_steps() -> None:
    bank = PaymentWorkflow(Result(None), hosted=HostedFunction(PAY))
    bank.settings.set(TENANT, None, "tool_timeout_ms", 100_000)
    assert bank.go()["pending"]["on"] == "executor"
    bank.shop.run_until_idle()
    assert bank.stand().state == "b"


@pytest.mark.parametrize(
    ("reply", "error_class"),
    [
        (reported_failure("permanent_error", "There is no such account."), "permanent_error"),
        (reported_failure("rate_limited", "Later."), "rate_limited"),
        (failure("unknown_function", PAY), "permanent_error"),
        (failure("unreachable", PAY), "connection_error"),
        (InputRequired({}), "permanent_error"),
    ],
)
def test_a_failure_without_effect_lets_the_step_be_submitted_again(reply: CallReply, error_class: str) -> None:
    bank = PaymentWorkflow(reply, Result(1))
    refused = bank.go()
    assert (refused["error"]["code"], list_link_names(refused)) == ("EXECUTOR_FAILED", ["self", "go"])
    assert refused["error"]["errorClass"] == error_class
    assert bank.go()["state"] == "b"


def test_the_retry_delay_of_a_failure_is_returned_and_kept() -> None:
    busy = Failure("reported", "rate_limited", "none", "Later.", retry_after_ms=7_000)
    assert PaymentWorkflow(busy).go()["error"]["retryAfterMs"] == 7_000
    retried = PaymentWorkflow(busy, Result(1), reliability={"retry": {"maxAttempts": 2}})
    now = retried.shop.clock.now()
    assert (retried.go()["state"], retried.shop.clock.now() - now) == ("b", 7)


def test_a_timed_out_call_can_be_resolved_once_its_executor_has_ended() -> None:
    bank = PaymentWorkflow(failure("timed_out", PAY))
    assert bank.go()["inDoubt"]["transition"] == "go"
    assert list_link_names(bank.shop.get(bank.id, RESOLVER)) == ["self"]
    bank.shop.clock.advance(CALL_SECONDS + LINGERS + LEASE_MARGIN)
    assert list_link_names(bank.shop.get(bank.id, RESOLVER)) == ["self", "$retry", "$resolve"]


def test_a_crashed_call_can_be_resolved_at_once() -> None:
    bank = PaymentWorkflow(failure("crashed", PAY))
    assert bank.go()["inDoubt"]["transition"] == "go"
    assert list_link_names(bank.shop.get(bank.id, RESOLVER)) == ["self", "$retry", "$resolve"]


def test_all_attempts_of_a_step_have_one_key() -> None:
    crashed = failure("crashed", PAY)
    bank = PaymentWorkflow(crashed, Result(1), reliability={"retry": {"maxAttempts": 2, "retryOn": [crashed.kind]}})
    assert bank.go()["state"] == "b"
    assert len({request.idempotency_key for request in bank.called.requests}) == 1
    assert len(bank.called.requests) == 2


def test_a_breaker_counts_steps_and_not_their_attempts() -> None:
    down = reported_failure("transient_error", "Not now.")
    bank = PaymentWorkflow(*[down] * 6, Result(1), reliability={"retry": {"maxAttempts": 2, "retryOn": [down.kind]}})
    for _ in range(3):
        assert bank.go()["error"]["errorClass"] == down.kind
    assert len(bank.called.requests) == 6
    bank.shop.clock.advance(3)
    waiting = bank.go()
    assert (waiting["pending"]["on"], waiting["pending"]["attempt"]) == ("retry", 2)
    bank.shop.run_until_idle()
    assert len(bank.called.requests) == 6
    bank.shop.clock.advance(301)
    bank.shop.run_until_idle()
    assert (bank.stand().state, len(bank.called.requests)) == ("b", 7)


def test_a_breaker_does_not_count_failures_with_counts_false() -> None:
    down = replace(reported_failure("transient_error", "That host does not answer."), counts=False)
    bank = PaymentWorkflow(*[down] * 4, Result(1))
    for _ in range(4):
        assert bank.go()["error"]["errorClass"] == down.kind
    assert (bank.go()["state"], len(bank.called.requests)) == ("b", 5)


def test_a_step_without_retries_fails_while_the_breaker_is_open() -> None:
    bank = PaymentWorkflow(*[reported_failure("transient_error", "Not now.")] * 3, Result(1))
    for _ in range(3):
        bank.go()
    refused = bank.go()
    assert (refused["error"]["retryAfterMs"] > 0, len(bank.called.requests)) == (True, 3)
    assert list_link_names(refused) == ["self", "go"]


def test_evidence_of_a_key_is_that_of_its_owner() -> None:
    bank = PaymentWorkflow(*[Result(None, [{"kind": "scan"}])] * 3)
    for caller in (
        AGENT,
        replace(AGENT, subject="api-key:1", owner=AGENT.subject),
        replace(AGENT, subject="api-key:2"),
    ):
        bank.shop.submit(bank.id, "go", caller)
        bank.shop.submit(bank.id, "back", caller)
    tally = bank.stand().evidence["scan"]
    assert (tally.count, tally.subjects) == (3, {AGENT.subject, "api-key:2"})


def test_evidence_has_the_subject_of_the_submitter() -> None:
    given = [{"kind": "scan", "uri": "s3://a", "subject": "somebody else"}, {"kind": "scan", "uri": "s3://b"}]
    bank = PaymentWorkflow(Result(1, given))
    assert len(bank.go()["evidence"]) == 2
    tally = bank.stand().evidence["scan"]
    assert (tally.count, tally.subjects) == (2, frozenset({"agent"}))


@pytest.mark.parametrize("kind", ["human_approval", "human_request"])
def test_a_function_cannot_give_evidence_of_human_approvals_or_requests(kind: str) -> None:
    bank = PaymentWorkflow(Result(1, [{"kind": kind, "subject": "carol"}, {"kind": "scan"}]))
    answer = bank.go()
    assert (answer["state"], [item["kind"] for item in answer["evidence"]]) == ("b", ["scan"])
    assert kind not in bank.stand().evidence
    assert kind not in bank.stand().guard_evidence or bank.stand().guard_evidence[kind].count == 0
    assert bank.shop.list_payloads(bank.id, "evidence.refused") == [{"kinds": [kind]}]


@pytest.mark.parametrize("odd", [{}, {"kind": 7}, {"kind": None}])
def test_evidence_without_a_kind_is_ignored(odd: Any) -> None:
    bank = PaymentWorkflow(Result(1, [odd, {"kind": "scan"}]))
    assert bank.go()["state"] == "b"
    assert list(bank.stand().evidence) == ["scan"]


def test_a_kept_result_is_stored_in_the_context_as_a_reference() -> None:
    kept = KeptResult("acme/answers/1", 9_000_000, "f" * 64, [{"kind": "scan"}])
    bank = PaymentWorkflow(kept)
    answer = bank.go()
    assert answer["context"]["went"] == {"ref": "acme/answers/1", "size": 9_000_000, "sha256": "f" * 64}
    assert bank.stand().evidence["scan"].count == 1


def test_evidence_of_a_retried_step_counts_once() -> None:
    down = reported_failure("transient_error", "Not now.")
    bank = PaymentWorkflow(down, Result(1, [{"kind": "scan"}]), reliability={"retry": {"maxAttempts": 3}})
    bank.go()
    assert bank.stand().evidence["scan"].count == 1


def test_a_retry_waits_while_the_breaker_is_open_and_loses_no_attempt() -> None:
    crashed = failure("crashed", PAY)
    retry = {
        "maxAttempts": 4,
        "backoff": "fixed",
        "initialDelayMs": 60_000,
        "retryOn": [crashed.kind, "transient_error"],
    }
    bank = PaymentWorkflow(crashed, Result(1), reliability={"retry": retry})
    assert bank.go()["pending"]["attempt"] == 2
    bank.breaks(seconds=90)
    bank.shop.clock.advance(61)
    bank.shop.run_until_idle()
    assert (bank.stand().claim.standing, bank.stand().claim.attempt) == ("waiting", 3)
    bank.shop.clock.advance(61)
    bank.shop.run_until_idle()
    assert (bank.stand().state, len(bank.called.requests)) == ("b", 2)


def raise_unavailable() -> CallReply:
    raise Unavailable("Nobody can say where it runs.")


def test_a_call_that_could_not_be_sent_has_no_effect() -> None:
    bank = PaymentWorkflow(raise_unavailable, Result(1))
    refused = bank.go()
    assert (refused["error"]["code"], refused["error"]["errorClass"]) == ("EXECUTOR_FAILED", "transient_error")
    assert (bank.stand().claim, list_link_names(refused)) == (None, ["self", "go"])
    assert bank.go()["state"] == "b"


def test_an_unreadable_breaker_fails_the_step_before_it_is_executed() -> None:
    bank = PaymentWorkflow(Result(1))
    bank.breaks(seconds=0)
    bank.breakers.is_there = False
    assert bank.go()["error"]["errorClass"] == "transient_error"
    assert (bank.called.requests, bank.stand().claim) == ([], None)
    bank.breakers.is_there = True
    assert bank.go()["state"] == "b"


def test_evidence_too_large_to_store_leaves_the_step_in_doubt() -> None:
    for given in ([{"kind": "k" * 201}], [{"kind": f"{number:x}", "x": "y" * 8} for number in range(4_000)]):
        bank = PaymentWorkflow(Result(1, given))
        assert bank.go()["inDoubt"]["transition"] == "go"
    somebody = replace(AGENT, subject="somebody whose subject is as long as that of some issuers")
    bank = PaymentWorkflow(Result(1, [{"kind": f"{number:04x}"} for number in range(5_000)]))
    answer = bank.shop.submit(bank.id, "go", somebody, {})
    assert (answer["inDoubt"]["transition"], answer["version"]) == ("go", 1)


@pytest.mark.invariant(91)
def test_the_steps_of_deadlines_count_for_the_starters_of_their_workflows() -> None:
    workflow = PaymentWorkflow(*[failure("exception", PAY)] * 3, Result({}))
    shop, attacker, victim = workflow.shop, replace(AGENT, subject="attacker"), replace(AGENT, subject="victim")
    pay = {"executor": {"kind": FUNCTION_KIND, "function": PAY}, "reliability": {"retry": {"maxAttempts": 1}}}
    states = {"a": {"transitions": {"go": {"target": "a"}}}, "late": {"onEnter": pay, "terminal": True}}
    timed = {"initialState": "a", "timeoutMs": 60_000, "onTimeout": {"target": "late"}, "states": states}
    shop.publish("timed", timed)
    for _ in range(3):
        shop.start(attacker, "timed")
    run_until_idle(shop.waker, shop.instances, shop.clock, is_swept=True)
    shop.clock.advance(61)
    run_until_idle(shop.waker, shop.instances, shop.clock, is_swept=True)
    started = shop.start(victim, "timed")["workflowId"]
    shop.clock.advance(61)
    run_until_idle(shop.waker, shop.instances, shop.clock, is_swept=True)
    assert [state.subject for state in workflow.breakers.of_tenant(TENANT)[PAY].by_principal.values()] == ["attacker"]
    assert shop.load_instance(started).fault is None
