"""A step that is tried again, by the same or by another: now, after a pause, or by whoever has the time."""

from typing import Any

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.testing.embedded_worker import process_due_wakes
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Claim, EvidenceItem
from signpost.workflow.ports import StepAttempt, StepOutcome
from signpost.workflow.running.step_writer import MAX_HAND_OVERS
from tests.support.memory_workflows import CALL_SECONDS, LEASE_MARGIN, TENANT, MemoryWorkflows
from tests.support.played_executors import ExecutorCrash, ScriptedExecutor
from tests.support.step_cases import (
    AGENT,
    ATTEMPT_SECONDS,
    LEASE_SECONDS,
    RESOLVER,
    UNKNOWN_OUTCOME,
    StepCase,
    define_step,
    list_link_names,
)

BUSY = ExecutorFailure("transient_error", "Not now.")
BROKEN = ExecutorFailure("permanent_error", "Never.")


def definition_with_retries(most: int = 3, **retry: Any) -> Any:
    return define_step(reliability={"retry": {"maxAttempts": most, **retry}})


def attempts_of(case: StepCase) -> list[tuple[int, int]]:
    return [(errand.claim.candidate, errand.claim.attempt) for errand in case.script.attempts]


def test_a_transient_failure_is_retried_with_the_same_key() -> None:
    case = StepCase(BUSY, BUSY, ExecutorOutcome("done")).start(definition_with_retries())
    answer = case.submit()
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": "done"})
    assert attempts_of(case) == [(0, 1), (0, 2), (0, 3)]
    assert len(set(case.idempotency_keys)) == 1
    assert len({errand.claim.token for errand in case.script.attempts}) == 3  # who came late for one has missed it
    executed = [kind for kind in case.events if kind.startswith("executor")]
    assert executed == ["executor.started", "executor.retrying"] * 2 + ["executor.started", "executor.succeeded"]


def test_a_step_without_attempts_left_fails_and_can_be_submitted_again() -> None:
    case = StepCase(BUSY, BUSY, BUSY, ExecutorOutcome("done")).start(definition_with_retries())
    refused = case.submit()
    assert (refused["error"]["errorClass"], list_link_names(refused)) == ("transient_error", ["self", "go", "stop"])
    assert (refused["version"], case.instance.claim) == (1, None)
    assert case.events[-2:] == ["executor.failed", "transition.rejected"]
    assert case.submit()["state"] == "b"


def test_each_attempt_has_its_own_lease() -> None:
    leases: list[float] = []

    def slow(came: StepOutcome) -> Any:
        def play(errand: StepAttempt) -> StepOutcome:
            held = case.instance.claim
            assert (held.until, held.attempt) == (errand.claim.until, errand.claim.attempt)
            leases.append(held.until - case.workflows.clock.now())
            case.advance(ATTEMPT_SECONDS)
            return came

        return play

    case = StepCase(slow(BUSY), slow(BUSY), slow(ExecutorOutcome())).start(definition_with_retries())
    assert case.submit()["state"] == "b"
    assert leases == [LEASE_SECONDS] * 3


def test_a_retry_waits_for_the_declared_backoff() -> None:
    case = StepCase(BUSY, BUSY, ExecutorOutcome()).start(
        definition_with_retries(backoff="exponential", initialDelayMs=2_000)
    )
    now = case.workflows.clock.now()
    assert case.submit()["state"] == "b"
    assert case.workflows.clock.now() - now == 2 + 4


def test_a_long_backoff_is_left_to_the_worker() -> None:
    case = StepCase(BUSY, ExecutorOutcome("done")).start(
        definition_with_retries(backoff="fixed", initialDelayMs=600_000)
    )
    now = case.workflows.clock.now()
    answer = case.submit()
    assert answer["pending"] == {"transition": "go", "on": "retry", "attempt": 2, "retryAfterMs": 60_000}
    assert (list_link_names(answer), answer["version"], "error" in answer) == (["self"], 1, False)
    assert [hint.at for _, hint in case.workflows.instances.wakes] == [now + 600]
    assert case.workflows.instances.find_due(now + 600) == [(TENANT, case.id)]
    refused = case.submit("stop")
    assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 60_000)
    case.advance(599)
    case.workflows.run_until_idle()
    case.workflows.wake(case.id)
    assert attempts_of(case) == [(0, 1)]
    case.advance(1)
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.context) == ("b", {"went": "done"})
    assert attempts_of(case) == [(0, 1), (0, 2)]
    assert len(set(case.idempotency_keys)) == 1
    assert case.script.attempts[1].principal == AGENT


def test_a_retry_is_continued_by_a_wake_or_by_the_index_alone() -> None:
    for hinted in (True, False):
        case = StepCase(BUSY, ExecutorOutcome("done")).start(
            definition_with_retries(backoff="fixed", initialDelayMs=600_000)
        )
        case.submit()
        case.advance(600)
        if hinted:
            assert process_due_wakes(case.workflows.waker, case.workflows.instances, case.workflows.clock) == 1
        else:
            case.workflows.instances.wakes.clear()
            case.workflows.run_until_idle()
        assert case.instance.state == "b"


def test_the_worker_waits_for_a_backoff_that_fits_its_time() -> None:
    case = StepCase(BUSY, ExecutorOutcome(), seconds=100).start(
        definition_with_retries(backoff="fixed", initialDelayMs=20_000)
    )
    case.submit()
    now = case.workflows.clock.now()
    case.workflows.run_until_idle()
    assert (case.instance.state, case.workflows.clock.now() - now) == ("b", 20)


def test_the_worker_does_not_wait_for_a_long_backoff() -> None:
    case = StepCase(BUSY, ExecutorOutcome(), seconds=100).start(
        definition_with_retries(backoff="fixed", initialDelayMs=20_001)
    )
    case.submit()
    now = case.workflows.clock.now()
    case.workflows.run_until_idle()
    assert (case.instance.state, case.workflows.clock.now() - now) == ("a", 0)
    case.advance(21)
    case.workflows.run_until_idle()
    assert case.instance.state == "b"


class LeaseRecorder:
    """A store that sees what is held before each pause, and after it."""

    def __init__(self, instances: MemoryInstanceStore) -> None:
        self._instances = instances
        self.leases = list[float]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instances, name)

    def hold(self, tenant: str, workflow_id: str, claim: Claim, **stand: Any) -> Claim | None:
        self.leases.append(claim.until)
        return self._instances.hold(tenant, workflow_id, claim, **stand)


def test_a_backoff_is_part_of_the_lease() -> None:
    """Whoever comes while it lasts finds it held, and does not begin the same try."""
    stores = list[LeaseRecorder]()

    def store(instances: MemoryInstanceStore) -> LeaseRecorder:
        stores.append(LeaseRecorder(instances))
        return stores[0]

    def begun(_: StepAttempt) -> ExecutorOutcome:
        begins_at.append((case.workflows.clock.now(), len(stores[0].leases)))
        return ExecutorOutcome()

    begins_at = list[tuple[float, int]]()
    case = StepCase(BUSY, begun, seconds=1, store=store).start(
        definition_with_retries(backoff="fixed", initialDelayMs=10_000)
    )
    now = case.workflows.clock.now()
    case.submit()
    assert begins_at == [(now + 10, 2)]
    assert stores[0].leases == [now + 1 + LEASE_MARGIN, now + 10 + 1 + LEASE_MARGIN]


def test_an_attempt_without_time_left_is_left_to_the_worker() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.advance(20)
        return BUSY

    case = StepCase(slow, ExecutorOutcome("done"), seconds=20).start(definition_with_retries())
    answer = case.submit()
    assert (answer["pending"]["on"], answer["pending"]["attempt"]) == ("retry", 2)
    assert len(case.script.attempts) == 1
    case.workflows.run_until_idle()
    assert (case.instance.state, attempts_of(case)) == ("b", [(0, 1), (0, 2)])


def test_a_workflow_can_be_cancelled_while_a_retry_waits() -> None:
    case = StepCase(BUSY).start(definition_with_retries(backoff="fixed", initialDelayMs=600_000))
    case.submit()
    assert case.submit("$cancel")["terminal"] is True
    case.advance(601)
    case.workflows.run_until_idle()
    assert (len(case.script.attempts), case.instance.version) == (1, 2)


def test_a_deadline_ends_a_waiting_retry() -> None:
    document = define_step(
        reliability={"retry": {"maxAttempts": 2, "backoff": "fixed", "initialDelayMs": 600_000}},
        timeoutMs=60_000,
        onTimeout={"target": "late"},
    )
    case = StepCase(BUSY).start(document)
    case.submit()
    case.advance(61)
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.claim) == ("late", None)
    case.advance(600)
    case.workflows.run_until_idle()
    assert len(case.script.attempts) == 1


def test_an_unknown_outcome_is_retried_only_for_the_declared_classes() -> None:
    case = StepCase(UNKNOWN_OUTCOME, ExecutorOutcome("done")).start(definition_with_retries())
    assert case.submit()["state"] == "b"
    doubtful = StepCase(UNKNOWN_OUTCOME).start(definition_with_retries(retryOn=["transient_error"]))
    assert doubtful.submit()["inDoubt"]
    assert list_link_names(doubtful.get(RESOLVER)) == ["self", "$retry", "$resolve"]


def test_an_unknown_outcome_of_the_last_attempt_is_in_doubt_and_can_be_retried() -> None:
    case = StepCase(UNKNOWN_OUTCOME, UNKNOWN_OUTCOME, ExecutorOutcome("done")).start(definition_with_retries(2))
    refused = case.submit()
    assert (refused["error"]["errorClass"], refused["inDoubt"]["transition"]) == ("timeout", "go")
    case.advance(LEASE_SECONDS)
    assert list_link_names(case.get()) == ["self", "$retry"]
    assert case.submit_override("$retry", AGENT)["state"] == "b"


def test_a_failed_attempt_after_an_unknown_outcome_is_in_doubt() -> None:
    case = StepCase(UNKNOWN_OUTCOME, BROKEN).start(definition_with_retries(2))
    refused = case.submit()
    assert (refused["error"]["errorClass"], refused["inDoubt"]["transition"]) == ("permanent_error", "go")


def definition_with_fallbacks(reliability: Any = None) -> Any:
    fallbacks = [{"kind": "other", "n": 1}, {"kind": "noone"}, {"kind": "other", "n": 2}]
    return define_step(reliability={"fallback": {"executors": fallbacks}, **(reliability or {})})


def case_with_fallbacks(first: list[Any], second: list[Any], document: Any = None) -> tuple[StepCase, ScriptedExecutor]:
    case, other = StepCase(*first), ScriptedExecutor(*second, seconds=ATTEMPT_SECONDS)
    case.workflows.step_executors["other"] = other
    return case.start(document or definition_with_fallbacks()), other


def test_a_fallback_is_executed_with_the_key_of_the_first_executor() -> None:
    case, other = case_with_fallbacks([BROKEN], [ExecutorOutcome("instead")])
    answer = case.submit()
    assert (answer["state"], answer["context"]) == ("b", {"went": "instead"})
    (errand,) = other.attempts
    assert (errand.idempotency_key, errand.claim.candidate, errand.claim.attempt) == (case.idempotency_keys[0], 1, 1)
    assert case.workflows.list_payloads(case.id, "fallback.selected")[0]["previousError"] == BROKEN.message


def test_a_fallback_of_an_unknown_kind_is_skipped() -> None:
    case, other = case_with_fallbacks([BROKEN], [BROKEN, ExecutorOutcome("last")])
    assert case.submit()["context"] == {"went": "last"}
    assert [errand.executor.settings["n"] for errand in other.attempts] == [1, 2]


def test_the_failure_of_the_last_fallback_is_returned() -> None:
    case, other = case_with_fallbacks([BROKEN], [BROKEN, ExecutorFailure("transient_error", "Nor I.")])
    refused = case.submit()
    assert (refused["error"]["message"], refused["version"], len(other.attempts)) == ("Nor I.", 1, 2)


def test_a_crashed_fallback_is_repeated_and_not_the_first_executor() -> None:
    document = definition_with_fallbacks({"retry": {"maxAttempts": 1}})
    case, other = case_with_fallbacks([BROKEN], [ExecutorCrash(), ExecutorOutcome("instead")], document)
    case.submit_and_crash()
    case.advance(LEASE_SECONDS + 1)
    case.workflows.run_until_idle()
    assert (case.instance.context, len(case.script.attempts)) == ({"went": "instead"}, 1)
    assert [errand.claim.candidate for errand in other.attempts] == [1, 1]


def test_a_fallback_is_not_executed_after_an_unknown_outcome_without_consent() -> None:
    case, other = case_with_fallbacks([UNKNOWN_OUTCOME], [])
    assert case.submit()["inDoubt"]
    assert other.attempts == []


def test_evidence_counts_once_over_all_attempts() -> None:
    scan = EvidenceItem("scan", "agent")
    case = StepCase(BUSY, UNKNOWN_OUTCOME, ExecutorOutcome("done", [scan])).start(definition_with_retries())
    assert case.submit()["evidence"] == [{"kind": "scan"}]
    assert case.instance.evidence["scan"].count == 1
    told = case.workflows.instances.history(TENANT, case.id)
    assert [item for _, evidence in told for item in evidence] == [scan]


def test_evidence_of_a_step_executed_twice_counts_once() -> None:
    scan = EvidenceItem("scan", "agent")

    def slow(_: StepAttempt) -> StepOutcome:
        case.advance(LEASE_SECONDS + 1)
        case.workflows.run_until_idle()
        return ExecutorOutcome("first", [scan])

    case = StepCase(slow, ExecutorOutcome("second", [scan])).start(define_step(idempotent=True))
    case.submit()
    assert (case.instance.evidence["scan"].count, len(case.script.attempts)) == (1, 2)


def test_a_step_longer_than_the_worker_gets_all_the_time_of_the_worker() -> None:
    case = StepCase(ExecutorOutcome(), seconds=10**6).start()
    case.submit()
    case.workflows.run_until_idle()
    (errand,) = case.script.attempts
    assert errand.claim.until - case.workflows.clock.now() == 800 + LEASE_MARGIN
    assert case.instance.state == "b"


def test_hand_overs_are_counted_in_the_claim() -> None:
    case = StepCase(ExecutorOutcome(), seconds=100).start()
    case.submit()
    assert case.instance.claim.handed_over == 1
    case.workflows.wake(case.id, seconds=CALL_SECONDS)
    assert case.instance.claim.handed_over == 2
    assert MAX_HAND_OVERS == 100
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.claim) == ("b", None)


def test_an_executor_of_an_unknown_kind_fails_at_once_without_a_claim() -> None:
    shop = MemoryWorkflows()
    shop.publish("demo", define_step())
    workflow_id = shop.start(AGENT)["workflowId"]
    refused = shop.submit(workflow_id, "go", AGENT)
    assert (refused["error"]["code"], refused["error"]["errorClass"]) == ("EXECUTOR_FAILED", "permanent_error")
    assert shop.instances.wakes == []


def test_a_step_in_doubt_cannot_be_resolved_while_an_earlier_attempt_may_run() -> None:
    """Also if the rest was gone on with by somebody else, who is done already."""

    def overruns(_: StepAttempt) -> StepOutcome:
        case.advance(20)
        return ExecutorFailure("timeout", "It was not waited for any longer.", "unknown", has_ended=False)

    case, began = StepCase(overruns, seconds=20), 0.0
    case.script.linger_time = 900
    case.workflows.step_executors["other"] = ScriptedExecutor(BROKEN, seconds=ATTEMPT_SECONDS)
    began = case.workflows.clock.now()
    fallback = {"timeoutMs": 20_000, "fallback": {"executors": [{"kind": "other"}]}}
    case.start(define_step(idempotent=True, reliability=fallback))
    assert case.submit()["pending"]["on"] == "retry"
    case.workflows.run_until_idle()
    assert case.instance.claim.standing == "in_doubt"
    assert list_link_names(case.get(RESOLVER)) == ["self"]
    assert case.submit_override("$resolve", happened=False)["error"]["code"] == "STALE_WORKFLOW_VERSION"
    case.advance(began + 20 + 900 + LEASE_MARGIN - case.workflows.clock.now())
    assert list_link_names(case.get(RESOLVER)) == ["self", "$retry", "$resolve"]


def test_a_chain_leaves_a_hop_without_a_time_limit_to_the_worker() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.advance(CALL_SECONDS / 2)
        return ExecutorOutcome()

    hop = {"actor": "deterministic", "executor": {"kind": "act"}}
    states = {name: {"transitions": {"on": {**hop, "target": target}}} for name, target in (("a", "b"), ("b", "c"))}
    case = StepCase(slow, slow, seconds=None)
    case.start({"initialState": "a", "states": {**states, "c": {"terminal": True}}})
    assert (case.get()["state"], case.get()["pending"]["on"], len(case.script.attempts)) == ("b", "chain", 1)
    case.workflows.run_until_idle()
    assert case.instance.state == "c"
