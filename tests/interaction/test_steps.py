"""A step that executes something: claimed, executed, settled; and what becomes of it where one of these fails."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, override

import pytest

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.errors import Unavailable
from signpost.model import PROXY_WORKFLOW, Principal
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.source_tree import build_source_node as as_written
from signpost.workflow.engine.permissions import CANCEL, RESOLVE, RETRY
from signpost.workflow.engine.size_limits import LARGEST_CONTEXT
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Claim, InstanceWrite, WriteCondition
from signpost.workflow.ports import StepAttempt, StepOutcome
from signpost.workflow.running.attempts import SETTLE_SECONDS
from signpost.workflow.running.service import StartRequest
from tests.support.machines import Crash
from tests.support.step_cases import (
    AGENT,
    CANCELLER,
    CONSENT,
    LEASE,
    RESOLVER,
    SECONDS,
    STRANGER,
    UNKNOWN,
    Case,
    executing,
    linked,
)
from tests.support.workshop import CALL, MARGIN, TENANT, Workshop


def test_what_is_executed_is_claimed_first_for_as_long_as_it_may_take() -> None:
    seen: list[Any] = []

    def look(errand: StepAttempt) -> StepOutcome:
        seen.append(case.stand)
        assert case.shop.instances.find_due(errand.claim.until) == [(TENANT, case.id)]
        assert case.shop.instances.find_due(errand.claim.until - 0.1) == []
        return ExecutorOutcome("done")

    case = Case(look).begun()
    now = case.shop.clock.now()
    answer = case.go(arguments={"n": 1})
    (during,) = seen
    assert (during.state, during.version, during.claim.standing) == ("a", 1, "running")
    assert (during.claim.until, during.claim.job.arguments) == (now + LEASE, {"n": 1})
    assert (during.claim.job.transition, during.claim.job.principal) == ("go", AGENT)
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": "done"})
    assert (case.stand.claim, case.shop.instances.find_due(now + 10**6)) == (None, [])
    assert case.keys == [f"{case.id}.go.1"]


def test_what_does_not_say_how_long_it_takes_has_the_time_of_the_call() -> None:
    case = Case(ExecutorOutcome(), seconds=None).begun()
    now = case.shop.clock.now()
    case.go()
    (errand,) = case.script.errands
    assert errand.ends_at == now + CALL - SETTLE_SECONDS
    assert errand.claim.until == errand.ends_at + MARGIN


def test_what_failed_and_did_nothing_leaves_it_as_it_was() -> None:
    case = Case(ExecutorFailure("permanent_error", "No luck."), ExecutorOutcome("done")).begun()
    before = case.stand
    refused = case.go()
    assert (refused["error"]["code"], refused["error"]["errorClass"]) == ("EXECUTOR_FAILED", "permanent_error")
    assert linked(refused) == ["self", "go", "stop"]
    assert case.stand == replace(before, releases=1)
    assert len(case.shop.instances.history(TENANT, case.id)) == 1
    assert "executor.failed" in case.events
    assert case.go()["state"] == "b"


def test_what_nobody_knows_the_outcome_of_is_shown_in_doubt() -> None:
    case = Case(UNKNOWN).begun()
    refused = case.go()
    assert refused["error"]["code"] == "EXECUTOR_FAILED"
    assert (refused["state"], refused["version"]) == ("a", 1)
    assert "inDoubt" in refused
    assert refused["inDoubt"] == {"transition": "go", "message": UNKNOWN.message, "claim": case.stand.claim.token}
    assert linked(refused) == ["self"]
    assert linked(case.get(RESOLVER)) == ["self", RETRY, RESOLVE]
    for transition in ("go", "stop"):
        late = case.go(transition)
        assert (late["error"]["code"], linked(late)) == ("IN_DOUBT", ["self"])
    case.wait(10**6)
    case.shop.settle()
    assert case.get()["inDoubt"]
    assert len(case.script.errands) == 1


def test_what_crashed_is_in_doubt_once_its_lease_is_over_without_anybody_writing_that_down() -> None:
    case = Case(Crash()).begun()
    case.crashes()
    case.wait(LEASE - 0.1)
    pending = case.get()
    assert (pending["pending"]["transition"], pending["pending"]["on"], linked(pending)) == ("go", "executor", ["self"])
    case.wait(0.2)
    assert case.stand.claim.standing == "running"
    assert case.get()["inDoubt"]["transition"] == "go"
    assert linked(case.get(RESOLVER)) == ["self", RETRY, RESOLVE]
    case.shop.settle()
    assert case.stand.claim.standing == "in_doubt"
    assert case.events.count("executor.in_doubt") == 1
    assert case.get()["inDoubt"]["transition"] == "go"
    assert len(case.script.errands) == 1


@pytest.mark.parametrize("document", [executing(idempotent=True), executing(reliability=CONSENT)])
def test_what_crashed_and_may_be_repeated_is_with_the_same_key(document: Any) -> None:
    case = Case(Crash(), ExecutorOutcome("done")).begun(document)
    case.crashes()
    case.wait(LEASE - 0.1)
    case.shop.settle()
    assert len(case.script.errands) == 1
    case.wait(0.2)
    assert case.get()["pending"]["on"] == "executor"
    case.shop.settle()
    assert case.keys == [f"{case.id}.go.1"] * 2
    assert (case.stand.state, case.stand.version, case.stand.context) == ("b", 2, {"went": "done"})
    assert case.script.errands[1].principal == AGENT
    assert case.script.errands[1].claim.token != case.script.errands[0].claim.token


def test_what_may_still_go_on_is_resolved_by_nobody_until_it_cannot_any_more() -> None:
    case = Case(replace(UNKNOWN, has_ended=False)).begun()
    case.script.lingering = 30.0
    case.go()
    assert linked(case.get(RESOLVER)) == ["self"]
    refused = case.order(RESOLVE, happened=False)
    assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == (
        "STALE_WORKFLOW_VERSION",
        (LEASE + 30) * 1000,
    )
    case.wait(LEASE + 30)
    assert linked(case.get(RESOLVER)) == ["self", RETRY, RESOLVE]
    assert case.order(RESOLVE, happened=False)["links"]


def test_what_is_said_goes_for_the_execution_that_was_seen_and_for_no_other() -> None:
    case = Case(UNKNOWN, UNKNOWN).begun()
    seen = case.go()["inDoubt"]["claim"]
    case.order(RETRY)
    case.wait(LEASE)
    for order in (RETRY, RESOLVE):
        late = case.go(order, RESOLVER, {"claim": seen, "happened": True})
        assert (late["error"]["code"], late["version"]) == ("STALE_WORKFLOW_VERSION", 1)
    assert len(case.script.errands) == 2


def test_what_crashes_again_and_again_is_given_up_in_the_end() -> None:
    case = Case(*[Crash()] * 6).begun(executing(idempotent=True))
    case.crashes()
    for _ in range(5):
        case.wait(LEASE + 1)
        with pytest.raises(Crash):
            case.shop.settle()
    case.wait(LEASE + 1)
    case.shop.settle()
    answer = case.get()
    assert (answer["state"], answer["version"], answer["inDoubt"]["transition"]) == ("a", 1, "go")
    assert linked(answer) == ["self", RETRY]  # as the author has consented, anybody may have it tried once more
    case.script.entries.append(ExecutorOutcome("done"))
    assert case.order(RETRY, AGENT)["state"] == "b"


def test_whoever_may_has_it_executed_once_more_with_the_same_key() -> None:
    case = Case(UNKNOWN, ExecutorOutcome("done")).begun()
    case.go()
    link = case.get(RESOLVER)["links"][1]
    assert link["args"]["transition"] == RETRY
    answer = case.go(RETRY, RESOLVER, link["args"]["arguments"], version=link["args"]["expectedVersion"])
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": "done"})
    assert case.keys == [f"{case.id}.go.1"] * 2
    assert case.script.errands[1].principal == AGENT  # it is still the agent's step
    assert case.shop.payloads(case.id, "executor.retried") == [{"by": "rosa"}]
    assert case.order(RETRY)["error"]["code"] == "INVALID_TRANSITION"


def test_what_was_retried_and_is_in_doubt_again_stays_there() -> None:
    case = Case(UNKNOWN, UNKNOWN).begun()
    case.go()
    assert case.order(RETRY)["inDoubt"]["transition"] == "go"
    case.wait(LEASE)
    assert linked(case.get(RESOLVER)) == ["self", RETRY, RESOLVE]


def test_whoever_may_says_what_came_of_it() -> None:
    case = Case(UNKNOWN).begun()
    case.go()
    answer = case.order(RESOLVE, happened=True, output=[7])
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": [7]})
    assert case.shop.payloads(case.id, "executor.resolved") == [{"by": "rosa", "happened": True}]
    assert (len(case.script.errands), case.stand.claim) == (1, None)


def test_what_has_not_happened_can_be_done_again() -> None:
    case = Case(UNKNOWN, ExecutorOutcome("done")).begun()
    case.go()
    answer = case.order(RESOLVE, happened=False)
    assert (answer["state"], answer["version"], linked(answer)) == ("a", 1, ["go", "stop"])
    assert "error" not in answer
    assert case.go()["state"] == "b"


@pytest.mark.parametrize("order", [RETRY, RESOLVE])
def test_whoever_may_not_resolve_is_refused_and_nothing_is_executed(order: str) -> None:
    case = Case(UNKNOWN).begun()
    case.go()
    before = case.stand
    for by in (AGENT, CANCELLER):
        assert case.order(order, by, happened=True)["error"]["code"] == "GUARD_REJECTED"
    assert case.stand == before
    assert len(case.script.errands) == 1


def test_a_workflow_is_cancelled_by_whoever_started_it_and_by_whoever_may() -> None:
    for by in (AGENT, CANCELLER):
        case = Case().begun()
        assert case.go(CANCEL, STRANGER)["error"]["code"] == "GUARD_REJECTED"
        answer = case.go(CANCEL, by)
        assert (answer["terminal"], answer["cancelled"]["by"], answer["version"]) == (True, by.subject, 2)
        assert answer["links"] == []
        assert "workflow.cancelled" in case.events
        assert case.go(CANCEL, by)["error"]["code"] == "INVALID_TRANSITION"
        assert case.go()["error"]["code"] == "INVALID_TRANSITION"


def test_nothing_is_cancelled_of_which_it_is_open_what_came_of_it() -> None:
    def meanwhile(_: StepAttempt) -> StepOutcome:
        refused = case.go(CANCEL)
        assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 1_000)
        return UNKNOWN

    case = Case(meanwhile).begun()
    case.go()
    assert case.go(CANCEL)["error"]["code"] == "IN_DOUBT"
    case.order(RESOLVE, happened=False)
    assert case.go(CANCEL)["terminal"] is True


def test_what_was_only_to_be_begun_is_left_when_it_is_cancelled() -> None:
    case = Case(seconds=100).begun()
    case.go()
    answer = case.go(CANCEL)
    assert (answer["terminal"], answer["state"], answer["version"]) == (True, "a", 2)
    case.shop.settle()
    assert (case.script.errands, case.stand.claim) == ([], None)
    assert "executor.abandoned" in case.events


def test_while_something_is_executed_whoever_wants_something_else_is_told_to_look_again() -> None:
    def meanwhile(_: StepAttempt) -> StepOutcome:
        seen.extend(case.go(transition) for transition in ("go", "stop"))
        return ExecutorOutcome()

    seen: list[Any] = []
    case = Case(meanwhile).begun()
    case.go()
    for refused in seen:
        assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 1_000)
        assert (linked(refused), refused["pending"]["transition"]) == (["self"], "go")
    assert (len(case.script.errands), case.stand.state) == (1, "b")


class Race(MemoryInstanceStore):
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


def racing(case: Case, other: Callable[[], None]) -> None:
    race = case.shop.instances
    assert isinstance(race, Race)
    race.first = other


def raced(*entries: Any) -> Case:
    case = Case(*entries)
    case.shop = Workshop({"act": case.script}, instances=Race())
    return case.begun()


def test_of_two_who_claim_at_once_one_executes_and_the_other_is_told_that_it_is_under_way() -> None:
    case = raced(Crash())
    racing(case, case.crashes)
    refused = case.go()
    assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 1_000)
    assert (linked(refused), refused["pending"]["transition"]) == (["self"], "go")
    assert len(case.script.errands) == 1
    assert case.events.count("transition.rejected") == 1


def test_whoever_claims_what_has_moved_is_told_where_it_stands() -> None:
    case = raced()
    racing(case, lambda: case.go("stop"))
    refused = case.go()
    assert (refused["error"]["code"], refused["state"], case.script.errands) == ("STALE_WORKFLOW_VERSION", "b", [])


class LostAnswers:
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


def with_lost(*entries: Any) -> tuple[Case, LostAnswers]:
    stores: list[LostAnswers] = []

    def between(instances: MemoryInstanceStore) -> LostAnswers:
        stores.append(LostAnswers(instances))
        return stores[0]

    return Case(*entries, store=between).begun(), stores[0]


def test_a_claim_whose_answer_was_lost_is_known_as_ones_own() -> None:
    case, store = with_lost(ExecutorOutcome("done"))
    store.lost["hold"] = 2
    assert case.go()["state"] == "b"
    assert store.writes.count("hold") == 3
    assert len(case.script.errands) == 1


def test_what_was_settled_and_not_heard_of_is_settled_once() -> None:
    case, store = with_lost(ExecutorOutcome("done"))
    store.lost["save"] = 2
    answer = case.go()
    assert (answer["state"], answer["version"], "error" in answer) == ("b", 2, False)
    assert store.writes.count("save") == 1 + 3
    assert len(case.script.errands) == 1
    assert len(case.shop.instances.history(TENANT, case.id)) == 2
    assert case.events.count("workflow.transitioned") == 1


def test_a_start_whose_answer_was_lost_is_one() -> None:
    case, store = with_lost()
    store.lost["save"] = 1
    answer = case.shop.start(AGENT)
    assert (answer["state"], answer["version"]) == ("a", 1)
    assert case.shop.events(answer["workflowId"]) == ["workflow.started"]


def test_what_cannot_be_settled_in_time_keeps_its_claim() -> None:
    case, store = with_lost(ExecutorOutcome("done"))
    began = case.shop.clock.now()
    store.refused = 10**6
    answer = case.go()
    assert (answer["error"]["code"], answer["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 1_000)
    assert case.shop.clock.now() - began <= CALL
    assert (case.stand.state, case.stand.claim.standing) == ("a", "running")
    case.wait(LEASE)
    assert case.get()["inDoubt"]
    assert len(case.script.errands) == 1


def test_what_was_taken_over_is_settled_by_whoever_took_it_and_by_nobody_else() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.wait(LEASE + 1)
        case.shop.settle()  # and somebody else does it
        return ExecutorOutcome("first")

    case = Case(slow, ExecutorOutcome("second")).begun(executing(idempotent=True))
    late = case.go()
    assert (late["error"]["code"], late["state"]) == ("STALE_WORKFLOW_VERSION", "b")
    assert (case.stand.context, case.stand.version) == ({"went": "second"}, 2)
    assert len(case.shop.instances.history(TENANT, case.id)) == 2
    assert case.events.count("workflow.transitioned") == 1


def test_a_claim_is_taken_over_once_by_several_who_are_woken() -> None:
    case = raced(Crash(), ExecutorOutcome("done"))
    case.shop.publish("demo", executing(idempotent=True))
    case.id = case.shop.start(AGENT)["workflowId"]
    case.crashes()
    case.wait(LEASE + 1)
    racing(case, lambda: case.shop.wake(case.id))
    case.shop.wake(case.id)
    assert (len(case.script.errands), case.stand.state, case.stand.version) == (2, "b", 2)


def test_to_wake_what_asks_for_nothing_changes_nothing() -> None:
    case = Case(UNKNOWN).begun()
    for _ in range(2):
        before, told = case.stand, len(case.events)
        case.shop.wake(case.id)
        case.shop.wake("wf_nowhere")
        assert (case.stand, len(case.events)) == (before, told)
        case.go()
    case.go(CANCEL)
    before = case.stand
    case.shop.wake(case.id)
    assert case.stand == before


TIMED: Mapping[str, Any] = {"timeoutMs": 60_000, "onTimeout": {"target": "late"}}


def test_a_deadline_does_not_interrupt_what_is_executed() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.wait(SECONDS)
        assert case.get()["pending"]["transition"] == "go"
        case.shop.settle()
        return ExecutorOutcome("in time")

    case = Case(slow).begun(executing(**TIMED))
    case.wait(58)
    assert case.go()["state"] == "b"
    assert case.stand.context == {"went": "in time"}


def test_a_deadline_waits_until_a_doubt_is_resolved() -> None:
    for happened, state in ((True, "b"), (False, "late")):
        case = Case(Crash()).begun(executing(**TIMED))
        case.wait(50)
        case.crashes()
        case.wait(10**5)
        case.shop.settle()
        assert case.get()["inDoubt"]["transition"] == "go"
        assert case.order(RESOLVE, happened=happened)["state"] in ("a", "b")
        case.shop.settle()
        assert (case.stand.state, case.stand.version, case.stand.claim) == (state, 2, None)


def test_a_deadline_ends_what_was_only_to_be_begun() -> None:
    case = Case(seconds=100).begun(executing(**TIMED))
    case.go()
    case.wait(61)
    case.shop.settle()
    assert (case.stand.state, case.stand.claim, case.script.errands) == ("late", None, [])
    assert "executor.abandoned" in case.events


def test_a_deadline_that_nobody_looks_at_is_kept() -> None:
    case = Case().begun(executing(**TIMED))
    case.wait(61)
    case.shop.settle()
    assert (case.stand.state, case.shop.instances.find_due(10**12)) == ("late", [])


def test_what_may_take_longer_than_there_is_time_is_done_by_whoever_has_it() -> None:
    case = Case(ExecutorOutcome("done"), seconds=100).begun()
    now = case.shop.clock.now()
    answer = case.go()
    assert (answer["state"], answer["pending"]["on"], linked(answer)) == ("a", "executor", ["self"])
    assert (case.script.errands, [hint.at for _, hint in case.shop.instances.wakes]) == ([], [now])
    case.shop.settle()
    assert (case.stand.state, case.stand.context) == ("b", {"went": "done"})
    (errand,) = case.script.errands
    assert (errand.ends_at, errand.claim.until) == (now + 100, now + 100 + MARGIN)
    assert case.stand.fault is None


def test_what_failed_without_anybody_waiting_is_shown_to_whoever_looks() -> None:
    case = Case(ExecutorFailure("permanent_error", "No luck."), ExecutorOutcome(), seconds=100).begun()
    case.go()
    case.shop.settle()
    answer = case.get()
    assert answer["fault"] == {
        "code": "EXECUTOR_FAILED",
        "message": "No luck.",
        "transition": "go",
        "errorClass": "permanent_error",
    }
    assert linked(answer) == ["go", "stop"]
    case.go()
    case.shop.settle()
    assert "fault" not in case.get()


def test_what_is_handed_over_again_and_again_ends() -> None:
    case = Case(seconds=100).begun()
    case.go()
    for _ in range(101):
        assert case.get()["pending"]
        case.shop.wake(case.id, seconds=10)
    answer = case.get()
    assert (answer["fault"]["code"], linked(answer), case.script.errands) == ("EXECUTOR_FAILED", ["go", "stop"], [])


def test_evidence_of_a_person_counts_once_however_often_the_step_is_taken_up() -> None:
    asking = {"target": "open", "executor": {"kind": "human", "queue": "q"}}
    approve = {"target": "done", "actor": "human", "decision": "approve", "executor": {"kind": "act"}}
    states = {"new": {"transitions": {"ask": asking}}, "open": {"transitions": {"yes": approve}}, "done": {}}
    person = Principal("carol", TENANT, "t", human=True)
    case = Case(ExecutorOutcome(), seconds=100).begun({"initialState": "new", "states": states})
    case.go("ask")
    case.go("yes", person)
    assert case.stand.guard_evidence["human_approval"].count == 0
    case.shop.settle()
    assert case.stand.state == "done"
    assert case.stand.evidence["human_approval"].count == 1
    assert case.shop.instances.list_open_approvals(TENANT) == []
    assert case.events.count("human.approval.resolved") == 1


def test_whoever_asks_again_with_the_same_token_has_started_one() -> None:
    case = Case(ExecutorOutcome("done"), ExecutorOutcome("twice"))
    first = executing()
    first["states"]["a"]["onEnter"] = {"executor": {"kind": "act"}, "output": {"began": "$.output"}}
    case.shop.publish("demo", first)
    started = [case.shop.start(AGENT, StartRequest("demo", client_token="mine")) for _ in range(2)]
    assert started[0]["workflowId"] == started[1]["workflowId"]
    assert [answer["context"] for answer in started] == [{"began": "done"}] * 2
    assert len(case.script.errands) == 1
    other = case.shop.start(STRANGER, StartRequest("demo", client_token="mine"))
    assert other["workflowId"] != started[0]["workflowId"]
    case.shop.publish("another", executing())
    refused = case.shop.start(AGENT, StartRequest("another", client_token="mine"))
    assert refused["error"]["code"] == "ALREADY_STARTED"


def test_what_was_done_and_cannot_be_kept_is_in_doubt_and_not_forgotten() -> None:
    case = Case(ExecutorOutcome("x" * LARGEST_CONTEXT)).begun()
    refused = case.go()
    assert (refused["error"]["code"], refused["state"], refused["version"]) == ("EXECUTOR_FAILED", "a", 1)
    assert refused["inDoubt"]["transition"] == "go"
    case.wait(LEASE)
    answer = case.order(RESOLVE, happened=True, output="too long to be kept")
    assert (answer["state"], answer["context"]) == ("b", {"went": "too long to be kept"})
    assert len(case.script.errands) == 1


def proxy() -> Any:
    schema = {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "integer"}}}
    executor = {"kind": "act", "idempotencyKey": True}
    pay = {"name": "bank.pay", "executor": executor, "inputSchema": schema, "output": {"paid": "$.output"}}
    found = compile_manifest(as_written({"version": 1, "proxy": {"expose": [pay]}}))
    assert isinstance(found, CompiledManifest)
    return found.workflows[PROXY_WORKFLOW]


def paying(*entries: Any, **more: Any) -> Case:
    case = Case(*entries, **more)
    case.shop.publish(PROXY_WORKFLOW, proxy())
    return case


def test_a_capability_that_is_given_everything_is_executed_with_its_start() -> None:
    def look(errand: StepAttempt) -> StepOutcome:
        during = case.shop.stand(errand.instance.id)
        assert (during.version, during.claim.token if during.claim else None) == (1, errand.claim.token)
        return ExecutorOutcome("paid")

    case = paying(look)
    answer = case.shop.start(AGENT, StartRequest(PROXY_WORKFLOW, {"capability": "bank.pay", "amount": 3}))
    assert (answer["version"], answer["context"]["lastResult"]) == (2, "paid")
    (errand,) = case.script.errands
    assert (errand.arguments, errand.principal) == ({"amount": 3}, AGENT)
    assert errand.idempotency_key == f"{answer['workflowId']}.bank.pay.1"


def test_a_capability_that_is_not_given_everything_waits_for_it() -> None:
    for given in ({}, {"amount": "much"}):
        case = paying()
        answer = case.shop.start(AGENT, StartRequest(PROXY_WORKFLOW, {"capability": "bank.pay", **given}))
        assert (answer["version"], linked(answer), "error" in answer) == (1, ["bank.pay"], False)


def test_a_capability_that_fails_with_its_start_can_be_called_again() -> None:
    case = paying(ExecutorFailure("permanent_error", "No luck."), ExecutorOutcome("paid"))
    answer = case.shop.start(AGENT, StartRequest(PROXY_WORKFLOW, {"capability": "bank.pay", "amount": 3}))
    assert (answer["error"]["code"], linked(answer)) == ("EXECUTOR_FAILED", ["self", "bank.pay"])
    link = answer["links"][1]
    again = case.shop.submit(answer["workflowId"], "bank.pay", AGENT, link["args"]["arguments"])
    assert again["context"]["lastResult"] == "paid"


def test_a_capability_that_takes_long_is_pending_after_its_start_and_is_started_once() -> None:
    case = paying(ExecutorOutcome("paid"), seconds=100)
    wanted = StartRequest(PROXY_WORKFLOW, {"capability": "bank.pay", "amount": 3}, client_token="once")
    answers = [case.shop.start(AGENT, wanted) for _ in range(2)]
    assert {answer["workflowId"] for answer in answers} == {answers[0]["workflowId"]}
    assert [answer["pending"]["transition"] for answer in answers] == ["bank.pay"] * 2
    case.shop.settle()
    assert case.shop.start(AGENT, wanted)["context"]["lastResult"] == "paid"
    assert len(case.script.errands) == 1
