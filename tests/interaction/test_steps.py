"""A step that executes something: claimed, executed, settled; and what becomes of it where one of these fails."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, override

import pytest

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.errors import Unavailable
from signpost.model import PROXY_WORKFLOW, Json, Principal
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.source_tree import build_source_node as as_written
from signpost.workflow.engine.permissions import CANCEL, RESOLVE, RETRY
from signpost.workflow.engine.size_limits import LARGEST_CONTEXT
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Claim, InstanceWrite, WriteCondition
from signpost.workflow.ports import StepAttempt, StepOutcome
from signpost.workflow.running.attempts import SETTLE_SECONDS
from signpost.workflow.running.service import StartRequest
from tests.support.memory_workflows import CALL_SECONDS, LEASE_MARGIN, TENANT, MemoryWorkflows
from tests.support.played_executors import ExecutorCrash
from tests.support.step_cases import (
    AGENT,
    ATTEMPT_SECONDS,
    CANCELLER,
    CONSENT,
    LEASE_SECONDS,
    RESOLVER,
    STRANGER,
    UNKNOWN_OUTCOME,
    StepCase,
    define_step,
    list_link_names,
)


def test_a_step_is_claimed_for_its_lease_before_it_is_executed() -> None:
    seen: list[Any] = []

    def look(errand: StepAttempt) -> StepOutcome:
        seen.append(case.instance)
        assert case.workflows.instances.find_due(errand.claim.until) == [(TENANT, case.id)]
        assert case.workflows.instances.find_due(errand.claim.until - 0.1) == []
        return ExecutorOutcome("done")

    case = StepCase(look).start()
    now = case.workflows.clock.now()
    answer = case.submit(arguments={"n": 1})
    (during,) = seen
    assert (during.state, during.version, during.claim.standing) == ("a", 1, "running")
    assert (during.claim.until, during.claim.job.arguments) == (now + LEASE_SECONDS, {"n": 1})
    assert (during.claim.job.transition, during.claim.job.principal) == ("go", AGENT)
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": "done"})
    assert (case.instance.claim, case.workflows.instances.find_due(now + 10**6)) == (None, [])
    assert case.idempotency_keys == [f"{case.id}.go.1"]


def test_an_executor_without_a_time_limit_has_the_time_of_the_call() -> None:
    case = StepCase(ExecutorOutcome(), seconds=None).start()
    now = case.workflows.clock.now()
    case.submit()
    (errand,) = case.script.attempts
    assert errand.ends_at == now + CALL_SECONDS - SETTLE_SECONDS
    assert errand.claim.until == errand.ends_at + LEASE_MARGIN


def test_a_failed_step_without_effect_leaves_the_instance_unchanged() -> None:
    case = StepCase(ExecutorFailure("permanent_error", "No luck."), ExecutorOutcome("done")).start()
    before = case.instance
    refused = case.submit()
    assert (refused["error"]["code"], refused["error"]["errorClass"]) == ("EXECUTOR_FAILED", "permanent_error")
    assert list_link_names(refused) == ["self", "go", "stop"]
    assert case.instance == replace(before, releases=1, link=case.instance.link)
    assert len(case.workflows.instances.history(TENANT, case.id)) == 1
    assert "executor.failed" in case.events
    assert case.submit()["state"] == "b"


def test_a_step_with_an_unknown_outcome_is_shown_in_doubt() -> None:
    case = StepCase(UNKNOWN_OUTCOME).start()
    refused = case.submit()
    assert refused["error"]["code"] == "EXECUTOR_FAILED"
    assert (refused["state"], refused["version"]) == ("a", 1)
    assert "inDoubt" in refused
    assert refused["inDoubt"] == {
        "transition": "go",
        "message": UNKNOWN_OUTCOME.message,
        "claim": case.instance.claim.token,
    }
    assert list_link_names(refused) == ["self"]
    assert list_link_names(case.get(RESOLVER)) == ["self", RETRY, RESOLVE]
    for transition in ("go", "stop"):
        late = case.submit(transition)
        assert (late["error"]["code"], list_link_names(late)) == ("IN_DOUBT", ["self"])
    case.advance(10**6)
    case.workflows.run_until_idle()
    assert case.get()["inDoubt"]
    assert len(case.script.attempts) == 1


def test_a_crashed_step_is_in_doubt_once_its_lease_ends() -> None:
    case = StepCase(ExecutorCrash()).start()
    case.submit_and_crash()
    case.advance(LEASE_SECONDS - 0.1)
    pending = case.get()
    assert (pending["pending"]["transition"], pending["pending"]["on"], list_link_names(pending)) == (
        "go",
        "executor",
        ["self"],
    )
    case.advance(0.2)
    assert case.instance.claim.standing == "running"
    assert case.get()["inDoubt"]["transition"] == "go"
    assert list_link_names(case.get(RESOLVER)) == ["self", RETRY, RESOLVE]
    case.workflows.run_until_idle()
    assert case.instance.claim.standing == "in_doubt"
    assert case.events.count("executor.in_doubt") == 1
    assert case.get()["inDoubt"]["transition"] == "go"
    assert len(case.script.attempts) == 1


@pytest.mark.parametrize("document", [define_step(idempotent=True), define_step(reliability=CONSENT)])
def test_a_crashed_idempotent_step_is_repeated_with_the_same_key(document: Any) -> None:
    case = StepCase(ExecutorCrash(), ExecutorOutcome("done")).start(document)
    case.submit_and_crash()
    case.advance(LEASE_SECONDS - 0.1)
    case.workflows.run_until_idle()
    assert len(case.script.attempts) == 1
    case.advance(0.2)
    assert case.get()["pending"]["on"] == "executor"
    case.workflows.run_until_idle()
    assert case.idempotency_keys == [f"{case.id}.go.1"] * 2
    assert (case.instance.state, case.instance.version, case.instance.context) == ("b", 2, {"went": "done"})
    assert case.script.attempts[1].principal == AGENT
    assert case.script.attempts[1].claim.token != case.script.attempts[0].claim.token


def test_a_step_that_may_still_be_running_cannot_be_resolved() -> None:
    case = StepCase(replace(UNKNOWN_OUTCOME, has_ended=False)).start()
    case.script.linger_time = 30.0
    case.submit()
    assert list_link_names(case.get(RESOLVER)) == ["self"]
    refused = case.submit_override(RESOLVE, happened=False)
    assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == (
        "STALE_WORKFLOW_VERSION",
        (LEASE_SECONDS + 30) * 1000,
    )
    case.advance(LEASE_SECONDS + 30)
    assert list_link_names(case.get(RESOLVER)) == ["self", RETRY, RESOLVE]
    assert case.submit_override(RESOLVE, happened=False)["links"]


def test_an_override_applies_only_to_the_claim_that_it_names() -> None:
    case = StepCase(UNKNOWN_OUTCOME, UNKNOWN_OUTCOME).start()
    seen = case.submit()["inDoubt"]["claim"]
    case.submit_override(RETRY)
    case.advance(LEASE_SECONDS)
    for order in (RETRY, RESOLVE):
        late = case.submit(order, RESOLVER, {"claim": seen, "happened": True})
        assert (late["error"]["code"], late["version"]) == ("STALE_WORKFLOW_VERSION", 1)
    assert len(case.script.attempts) == 2


def test_a_step_that_crashes_repeatedly_is_in_doubt_after_its_last_attempt() -> None:
    case = StepCase(*[ExecutorCrash()] * 6).start(define_step(idempotent=True))
    case.submit_and_crash()
    for _ in range(5):
        case.advance(LEASE_SECONDS + 1)
        with pytest.raises(ExecutorCrash):
            case.workflows.run_until_idle()
    case.advance(LEASE_SECONDS + 1)
    case.workflows.run_until_idle()
    answer = case.get()
    assert (answer["state"], answer["version"], answer["inDoubt"]["transition"]) == ("a", 1, "go")
    assert list_link_names(answer) == [
        "self",
        RETRY,
    ]  # as the author has consented, each principal that may take the step may have it tried once more
    case.script.entries.append(ExecutorOutcome("done"))
    assert case.submit_override(RETRY, AGENT)["state"] == "b"


GUARDED_MOVES: Mapping[str, Mapping[str, Any]] = {
    "role": {"guards": [{"kind": "role", "role": "finance"}]},
    "not a role": {"guards": [{"kind": "not", "guard": {"kind": "role", "role": "guest"}}]},
    "person": {"actor": "human"},
    "arguments": {"guards": [{"kind": "role", "role": "finance"}, {"kind": "expr", "expr": "$.arguments.sum < 9"}]},
}


@pytest.mark.invariant(80)
@pytest.mark.parametrize("kind", GUARDED_MOVES)
def test_only_a_principal_that_could_have_begun_a_move_can_have_it_repeated(kind: str) -> None:
    document = define_step(reliability=CONSENT)
    document["states"]["a"]["transitions"]["go"].update(GUARDED_MOVES[kind])
    case = StepCase(UNKNOWN_OUTCOME, ExecutorOutcome("done")).start(document)
    person = replace(AGENT, human=True, roles=frozenset({"finance"}))
    guest = replace(STRANGER, roles=frozenset({"guest"}))
    case.submit(by=person, arguments={"sum": 5})
    case.advance(LEASE_SECONDS)
    assert list_link_names(case.get(guest)) == ["self"]
    refused = case.submit_override(RETRY, guest)
    assert refused["error"]["code"] == "GUARD_REJECTED"
    assert "a principal that may take go" in refused["error"]["message"]
    assert len(case.script.attempts) == 1
    colleague = replace(person, subject="colleague")
    assert list_link_names(case.get(colleague)) == ["self", RETRY]
    assert case.submit_override(RETRY, colleague)["state"] == "b"
    assert len(case.script.attempts) == 2


def test_a_resolver_retries_a_step_in_doubt_with_the_same_key() -> None:
    case = StepCase(UNKNOWN_OUTCOME, ExecutorOutcome("done")).start()
    case.submit()
    link = case.get(RESOLVER)["links"][1]
    assert link["args"]["transition"] == RETRY
    answer = case.submit(RETRY, RESOLVER, link["args"]["arguments"], version=link["args"]["expectedVersion"])
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": "done"})
    assert case.idempotency_keys == [f"{case.id}.go.1"] * 2
    assert case.script.attempts[1].principal == AGENT  # it is still the agent's step
    assert case.workflows.list_payloads(case.id, "executor.retried") == [{"by": "rosa"}]
    assert case.submit_override(RETRY)["error"]["code"] == "INVALID_TRANSITION"


def test_a_retried_step_can_be_in_doubt_again() -> None:
    case = StepCase(UNKNOWN_OUTCOME, UNKNOWN_OUTCOME).start()
    case.submit()
    assert case.submit_override(RETRY)["inDoubt"]["transition"] == "go"
    case.advance(LEASE_SECONDS)
    assert list_link_names(case.get(RESOLVER)) == ["self", RETRY, RESOLVE]


def test_a_resolver_resolves_a_step_in_doubt_with_its_output() -> None:
    case = StepCase(UNKNOWN_OUTCOME).start()
    case.submit()
    answer = case.submit_override(RESOLVE, happened=True, output=[7])
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": [7]})
    assert case.workflows.list_payloads(case.id, "executor.resolved") == [{"by": "rosa", "happened": True}]
    assert (len(case.script.attempts), case.instance.claim) == (1, None)


def test_a_step_resolved_as_not_happened_can_be_submitted_again() -> None:
    case = StepCase(UNKNOWN_OUTCOME, ExecutorOutcome("done")).start()
    case.submit()
    answer = case.submit_override(RESOLVE, happened=False)
    assert (answer["state"], answer["version"], list_link_names(answer)) == ("a", 1, ["go", "stop"])
    assert "error" not in answer
    assert case.submit()["state"] == "b"


@pytest.mark.parametrize("order", [RETRY, RESOLVE])
def test_an_override_without_the_permission_is_refused(order: str) -> None:
    case = StepCase(UNKNOWN_OUTCOME).start()
    case.submit()
    before = case.instance
    for by in (AGENT, CANCELLER):
        assert case.submit_override(order, by, happened=True)["error"]["code"] == "GUARD_REJECTED"
    assert case.instance == before
    assert len(case.script.attempts) == 1


def test_a_workflow_is_cancelled_by_its_starter_or_with_the_permission() -> None:
    for by in (AGENT, CANCELLER):
        case = StepCase().start()
        assert case.submit(CANCEL, STRANGER)["error"]["code"] == "GUARD_REJECTED"
        answer = case.submit(CANCEL, by)
        assert (answer["terminal"], answer["cancelled"]["by"], answer["version"]) == (True, by.subject, 2)
        assert answer["links"] == []
        assert "workflow.cancelled" in case.events
        assert case.submit(CANCEL, by)["error"]["code"] == "INVALID_TRANSITION"
        assert case.submit()["error"]["code"] == "INVALID_TRANSITION"


def test_a_running_step_or_one_in_doubt_cannot_be_cancelled() -> None:
    def meanwhile(_: StepAttempt) -> StepOutcome:
        refused = case.submit(CANCEL)
        assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 1_000)
        return UNKNOWN_OUTCOME

    case = StepCase(meanwhile).start()
    case.submit()
    assert case.submit(CANCEL)["error"]["code"] == "IN_DOUBT"
    case.submit_override(RESOLVE, happened=False)
    assert case.submit(CANCEL)["terminal"] is True


def test_a_pending_execution_is_abandoned_when_its_workflow_is_cancelled() -> None:
    case = StepCase(seconds=100).start()
    case.submit()
    answer = case.submit(CANCEL)
    assert (answer["terminal"], answer["state"], answer["version"]) == (True, "a", 2)
    case.workflows.run_until_idle()
    assert (case.script.attempts, case.instance.claim) == ([], None)
    assert "executor.abandoned" in case.events


def test_submissions_during_an_execution_are_refused_with_a_delay() -> None:
    def meanwhile(_: StepAttempt) -> StepOutcome:
        seen.extend(case.submit(transition) for transition in ("go", "stop"))
        return ExecutorOutcome()

    seen: list[Any] = []
    case = StepCase(meanwhile).start()
    case.submit()
    for refused in seen:
        assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 1_000)
        assert (list_link_names(refused), refused["pending"]["transition"]) == (["self"], "go")
    assert (len(case.script.attempts), case.instance.state) == (1, "b")


class RacingInstanceStore(MemoryInstanceStore):
    """Somebody else claims it in the last moment."""

    first: Callable[[], None] | None = None

    @override
    def hold(
        self, tenant: str, workflow_id: str, claim: Claim, *, replacing: WriteCondition, due_at: float | None
    ) -> Any:
        if self.first is not None:
            first, self.first = self.first, None
            first()
        return super().hold(tenant, workflow_id, claim, replacing=replacing, due_at=due_at)


def race_before_next_claim(case: StepCase, other: Callable[[], None]) -> None:
    race = case.workflows.instances
    assert isinstance(race, RacingInstanceStore)
    race.first = other


def case_with_race(*entries: Any) -> StepCase:
    case = StepCase(*entries)
    case.workflows = MemoryWorkflows({"act": case.script}, instances=RacingInstanceStore())
    return case.start()


def test_one_of_two_concurrent_claims_executes_the_step() -> None:
    case = case_with_race(ExecutorCrash())
    race_before_next_claim(case, case.submit_and_crash)
    refused = case.submit()
    assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 1_000)
    assert (list_link_names(refused), refused["pending"]["transition"]) == (["self"], "go")
    assert len(case.script.attempts) == 1
    assert case.events.count("transition.rejected") == 1


def test_a_claim_of_a_moved_instance_is_refused_with_its_state() -> None:
    case = case_with_race()
    race_before_next_claim(case, lambda: case.submit("stop"))
    refused = case.submit()
    assert (refused["error"]["code"], refused["state"], case.script.attempts) == ("STALE_WORKFLOW_VERSION", "b", [])


class LostAnswerStore:
    """Writes, and says that it could not; as often as it is told to."""

    def __init__(self, instances: MemoryInstanceStore) -> None:
        self.instances = instances
        self.lost: dict[str, int] = {}
        self.refused = 0
        """Writes that are not even made."""
        self.writes: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.instances, name)

    def _after(self, write: str, written: Any) -> Any:
        self.writes.append(write)
        if self.lost.get(write, 0) > 0:
            self.lost[write] -= 1
            raise Unavailable("Nobody heard the answer.")
        return written

    def save(self, tenant: str, entry: InstanceWrite, *, replacing: WriteCondition | None) -> bool:
        if self.refused > 0:
            self.refused -= 1
            raise Unavailable("It is overloaded.")
        return self._after("save", self.instances.save(tenant, entry, replacing=replacing))

    def hold(
        self, tenant: str, workflow_id: str, claim: Claim, *, replacing: WriteCondition, due_at: float | None
    ) -> Any:
        held = self.instances.hold(tenant, workflow_id, claim, replacing=replacing, due_at=due_at)
        return self._after("hold", held)


def case_with_lost_answers(*entries: Any) -> tuple[StepCase, LostAnswerStore]:
    stores: list[LostAnswerStore] = []

    def between(instances: MemoryInstanceStore) -> LostAnswerStore:
        stores.append(LostAnswerStore(instances))
        return stores[0]

    return StepCase(*entries, store=between).start(), stores[0]


def test_a_claim_with_a_lost_answer_is_recognised_by_its_token() -> None:
    case, store = case_with_lost_answers(ExecutorOutcome("done"))
    store.lost["hold"] = 2
    assert case.submit()["state"] == "b"
    assert store.writes.count("hold") == 3
    assert len(case.script.attempts) == 1


def test_a_settlement_with_a_lost_answer_is_written_once() -> None:
    case, store = case_with_lost_answers(ExecutorOutcome("done"))
    store.lost["save"] = 2
    answer = case.submit()
    assert (answer["state"], answer["version"], "error" in answer) == ("b", 2, False)
    assert store.writes.count("save") == 1 + 3
    assert len(case.script.attempts) == 1
    assert len(case.workflows.instances.history(TENANT, case.id)) == 2
    assert case.events.count("workflow.transitioned") == 1


def test_a_start_with_a_lost_answer_starts_one_instance() -> None:
    case, store = case_with_lost_answers()
    store.lost["save"] = 1
    answer = case.workflows.start(AGENT)
    assert (answer["state"], answer["version"]) == ("a", 1)
    assert case.workflows.list_event_types(answer["workflowId"]) == ["workflow.started"]


def test_a_step_that_cannot_be_settled_in_time_keeps_its_claim() -> None:
    case, store = case_with_lost_answers(ExecutorOutcome("done"))
    began = case.workflows.clock.now()
    store.refused = 10**6
    answer = case.submit()
    assert (answer["error"]["code"], answer["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 1_000)
    assert case.workflows.clock.now() - began <= CALL_SECONDS
    assert (case.instance.state, case.instance.claim.standing) == ("a", "running")
    case.advance(LEASE_SECONDS)
    assert case.get()["inDoubt"]
    assert len(case.script.attempts) == 1


def test_only_the_current_holder_of_a_claim_settles_the_step() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.advance(LEASE_SECONDS + 1)
        case.workflows.run_until_idle()  # and somebody else does it
        return ExecutorOutcome("first")

    case = StepCase(slow, ExecutorOutcome("second")).start(define_step(idempotent=True))
    late = case.submit()
    assert (late["error"]["code"], late["state"]) == ("STALE_WORKFLOW_VERSION", "b")
    assert (case.instance.context, case.instance.version) == ({"went": "second"}, 2)
    assert len(case.workflows.instances.history(TENANT, case.id)) == 2
    assert case.events.count("workflow.transitioned") == 1


def test_an_expired_claim_is_taken_over_by_one_of_two_wakes() -> None:
    case = case_with_race(ExecutorCrash(), ExecutorOutcome("done"))
    case.workflows.publish("demo", define_step(idempotent=True))
    case.id = case.workflows.start(AGENT)["workflowId"]
    case.submit_and_crash()
    case.advance(LEASE_SECONDS + 1)
    race_before_next_claim(case, lambda: case.workflows.wake(case.id))
    case.workflows.wake(case.id)
    assert (len(case.script.attempts), case.instance.state, case.instance.version) == (2, "b", 2)


def test_a_wake_without_a_pending_move_changes_no_instance() -> None:
    case = StepCase(UNKNOWN_OUTCOME).start()
    for _ in range(2):
        before, told = case.instance, len(case.events)
        case.workflows.wake(case.id)
        case.workflows.wake("wf_nowhere")
        assert (case.instance, len(case.events)) == (before, told)
        case.submit()
    case.submit(CANCEL)
    before = case.instance
    case.workflows.wake(case.id)
    assert case.instance == before


TIMED: Mapping[str, Any] = {"timeoutMs": 60_000, "onTimeout": {"target": "late"}}


def test_a_deadline_does_not_interrupt_an_execution() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.advance(ATTEMPT_SECONDS)
        assert case.get()["pending"]["transition"] == "go"
        case.workflows.run_until_idle()
        return ExecutorOutcome("in time")

    case = StepCase(slow).start(define_step(**TIMED))
    case.advance(58)
    assert case.submit()["state"] == "b"
    assert case.instance.context == {"went": "in time"}


def test_a_deadline_waits_until_a_doubt_is_resolved() -> None:
    for happened, state in ((True, "b"), (False, "late")):
        case = StepCase(ExecutorCrash()).start(define_step(**TIMED))
        case.advance(50)
        case.submit_and_crash()
        case.advance(10**5)
        case.workflows.run_until_idle()
        assert case.get()["inDoubt"]["transition"] == "go"
        assert case.submit_override(RESOLVE, happened=happened)["state"] in ("a", "b")
        case.workflows.run_until_idle()
        assert (case.instance.state, case.instance.version, case.instance.claim) == (state, 2, None)


def test_a_deadline_abandons_a_pending_execution() -> None:
    case = StepCase(seconds=100).start(define_step(**TIMED))
    case.submit()
    case.advance(61)
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.claim, case.script.attempts) == ("late", None, [])
    assert "executor.abandoned" in case.events


def test_a_deadline_is_applied_by_the_worker() -> None:
    case = StepCase().start(define_step(**TIMED))
    case.advance(61)
    case.workflows.run_until_idle()
    assert (case.instance.state, case.workflows.instances.find_due(10**12)) == ("late", [])


def test_an_execution_longer_than_the_call_is_left_to_the_worker() -> None:
    case = StepCase(ExecutorOutcome("done"), seconds=100).start()
    now = case.workflows.clock.now()
    answer = case.submit()
    assert (answer["state"], answer["pending"]["on"], list_link_names(answer)) == ("a", "executor", ["self"])
    assert (case.script.attempts, [hint.at for _, hint in case.workflows.instances.wakes]) == ([], [now])
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.context) == ("b", {"went": "done"})
    (errand,) = case.script.attempts
    assert (errand.ends_at, errand.claim.until) == (now + 100, now + 100 + LEASE_MARGIN)
    assert case.instance.fault is None


def test_a_failure_of_the_worker_is_shown_as_a_fault() -> None:
    case = StepCase(ExecutorFailure("permanent_error", "No luck."), ExecutorOutcome(), seconds=100).start()
    case.submit()
    case.workflows.run_until_idle()
    answer = case.get()
    assert answer["fault"] == {
        "code": "EXECUTOR_FAILED",
        "message": "No luck.",
        "transition": "go",
        "errorClass": "permanent_error",
    }
    assert list_link_names(answer) == ["go", "stop"]
    case.submit()
    case.workflows.run_until_idle()
    assert "fault" not in case.get()


def test_a_step_handed_over_too_often_fails() -> None:
    case = StepCase(seconds=100).start()
    case.submit()
    for _ in range(101):
        assert case.get()["pending"]
        case.workflows.wake(case.id, seconds=10)
    answer = case.get()
    assert (answer["fault"]["code"], list_link_names(answer), case.script.attempts) == (
        "EXECUTOR_FAILED",
        ["go", "stop"],
        [],
    )


def test_evidence_of_a_person_counts_once_for_a_resumed_step() -> None:
    asking = {"target": "open", "executor": {"kind": "human", "queue": "q"}}
    approve = {"target": "done", "actor": "human", "decision": "approve", "executor": {"kind": "act"}}
    states = {"new": {"transitions": {"ask": asking}}, "open": {"transitions": {"yes": approve}}, "done": {}}
    person = Principal("carol", TENANT, "t", human=True)
    case = StepCase(ExecutorOutcome(), seconds=100).start({"initialState": "new", "states": states})
    case.submit("ask")
    case.submit("yes", person)
    assert case.instance.guard_evidence["human_approval"].count == 0
    case.workflows.run_until_idle()
    assert case.instance.state == "done"
    assert case.instance.evidence["human_approval"].count == 1
    assert case.workflows.instances.list_open_approvals(TENANT) == []
    assert case.events.count("human.approval.resolved") == 1


def test_starts_with_the_same_token_start_one_instance() -> None:
    case = StepCase(ExecutorOutcome("done"), ExecutorOutcome("twice"))
    first = define_step()
    first["states"]["a"]["onEnter"] = {"executor": {"kind": "act"}, "output": {"began": "$.output"}}
    case.workflows.publish("demo", first)
    started = [case.workflows.start(AGENT, StartRequest("demo", client_token="mine")) for _ in range(2)]
    assert started[0]["workflowId"] == started[1]["workflowId"]
    assert [answer["context"] for answer in started] == [{"began": "done"}] * 2
    assert len(case.script.attempts) == 1
    other = case.workflows.start(STRANGER, StartRequest("demo", client_token="mine"))
    assert other["workflowId"] != started[0]["workflowId"]
    case.workflows.publish("another", define_step())
    refused = case.workflows.start(AGENT, StartRequest("another", client_token="mine"))
    assert refused["error"]["code"] == "ALREADY_STARTED"


@pytest.mark.invariant(79)
def test_a_token_that_is_sent_again_with_another_input_is_refused_and_names_the_run() -> None:
    case = StepCase(ExecutorOutcome("done"))
    document = define_step()
    document["inputSchema"] = {"type": "object", "properties": {"amount": {"type": "number", "default": 3}}}
    case.workflows.publish("demo", document)

    def start(**start_input: Json) -> Any:
        return case.workflows.start(AGENT, StartRequest("demo", start_input, client_token="mine"))

    started = start()
    for same in (start(), start(amount=3), start(amount=3.0)):
        assert same["workflowId"] == started["workflowId"]
    for other in (start(amount=300), start(amount=3, more=True)):
        assert other["error"]["code"] == "ALREADY_STARTED"
        assert started["workflowId"] in other["error"]["message"]
        assert "another input" in other["error"]["message"]
    assert case.workflows.get(started["workflowId"], AGENT)["version"] == started["version"]


def test_a_step_with_an_output_too_large_to_store_is_in_doubt() -> None:
    case = StepCase(ExecutorOutcome("x" * LARGEST_CONTEXT)).start()
    refused = case.submit()
    assert (refused["error"]["code"], refused["state"], refused["version"]) == ("EXECUTOR_FAILED", "a", 1)
    assert refused["inDoubt"]["transition"] == "go"
    case.advance(LEASE_SECONDS)
    answer = case.submit_override(RESOLVE, happened=True, output="too long to be kept")
    assert (answer["state"], answer["context"]) == ("b", {"went": "too long to be kept"})
    assert len(case.script.attempts) == 1


def proxy_definition() -> Any:
    schema = {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "integer"}}}
    executor = {"kind": "act", "idempotencyKey": True}
    pay = {"name": "bank.pay", "executor": executor, "inputSchema": schema, "output": {"paid": "$.output"}}
    found = compile_manifest(as_written({"version": 1, "proxy": {"expose": [pay]}}))
    assert isinstance(found, CompiledManifest)
    return found.workflows[PROXY_WORKFLOW]


def publish_payment_capability(*entries: Any, **more: Any) -> StepCase:
    case = StepCase(*entries, **more)
    case.workflows.publish(PROXY_WORKFLOW, proxy_definition())
    return case


def test_a_capability_with_complete_arguments_is_executed_with_its_start() -> None:
    def look(errand: StepAttempt) -> StepOutcome:
        during = case.workflows.load_instance(errand.instance.id)
        assert (during.version, during.claim.token if during.claim else None) == (1, errand.claim.token)
        return ExecutorOutcome("paid")

    case = publish_payment_capability(look)
    answer = case.workflows.start(AGENT, StartRequest(PROXY_WORKFLOW, {"capability": "bank.pay", "amount": 3}))
    assert (answer["version"], answer["context"]["lastResult"]) == (2, "paid")
    (errand,) = case.script.attempts
    assert (errand.arguments, errand.principal) == ({"amount": 3}, AGENT)
    assert errand.idempotency_key == f"{answer['workflowId']}.bank.pay.1"


def test_a_capability_with_incomplete_arguments_waits_for_a_submission() -> None:
    for given in ({}, {"amount": "much"}):
        case = publish_payment_capability()
        answer = case.workflows.start(AGENT, StartRequest(PROXY_WORKFLOW, {"capability": "bank.pay", **given}))
        assert (answer["version"], list_link_names(answer), "error" in answer) == (1, ["bank.pay"], False)


def test_a_capability_that_fails_with_its_start_can_be_called_again() -> None:
    case = publish_payment_capability(ExecutorFailure("permanent_error", "No luck."), ExecutorOutcome("paid"))
    answer = case.workflows.start(AGENT, StartRequest(PROXY_WORKFLOW, {"capability": "bank.pay", "amount": 3}))
    assert (answer["error"]["code"], list_link_names(answer)) == ("EXECUTOR_FAILED", ["self", "bank.pay"])
    link = answer["links"][1]
    again = case.workflows.submit(answer["workflowId"], "bank.pay", AGENT, link["args"]["arguments"])
    assert again["context"]["lastResult"] == "paid"


def test_a_long_capability_is_pending_after_its_start() -> None:
    case = publish_payment_capability(ExecutorOutcome("paid"), seconds=100)
    wanted = StartRequest(PROXY_WORKFLOW, {"capability": "bank.pay", "amount": 3}, client_token="once")
    answers = [case.workflows.start(AGENT, wanted) for _ in range(2)]
    assert {answer["workflowId"] for answer in answers} == {answers[0]["workflowId"]}
    assert [answer["pending"]["transition"] for answer in answers] == ["bank.pay"] * 2
    case.workflows.run_until_idle()
    assert case.workflows.start(AGENT, wanted)["context"]["lastResult"] == "paid"
    assert len(case.script.attempts) == 1
