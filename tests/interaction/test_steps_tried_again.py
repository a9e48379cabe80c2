"""A step that is tried again, by the same or by another: now, after a pause, or by whoever has the time."""

from typing import Any

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Claim, EvidenceItem
from signpost.workflow.ports import StepAttempt, StepOutcome
from signpost.workflow.running.step_writer import MAX_HAND_OVERS
from tests.support.machines import Crash, Script
from tests.support.step_cases import AGENT, LEASE, RESOLVER, SECONDS, UNKNOWN, Case, executing, linked
from tests.support.workshop import CALL, MARGIN, TENANT, Workshop, by_hints

BUSY = ExecutorFailure("transient_error", "Not now.")
BROKEN = ExecutorFailure("permanent_error", "Never.")


def retrying(most: int = 3, **retry: Any) -> Any:
    return executing(reliability={"retry": {"maxAttempts": most, **retry}})


def tries(case: Case) -> list[tuple[int, int]]:
    return [(errand.claim.candidate, errand.claim.attempt) for errand in case.script.errands]


def test_what_passes_is_tried_again_with_the_same_key_and_by_the_same() -> None:
    case = Case(BUSY, BUSY, ExecutorOutcome("done")).begun(retrying())
    answer = case.go()
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": "done"})
    assert tries(case) == [(0, 1), (0, 2), (0, 3)]
    assert len(set(case.keys)) == 1
    assert len({errand.claim.token for errand in case.script.errands}) == 3  # who came late for one has missed it
    executed = [kind for kind in case.events if kind.startswith("executor")]
    assert executed == ["executor.started", "executor.retrying"] * 2 + ["executor.started", "executor.succeeded"]


def test_when_no_try_is_left_it_has_failed_and_can_be_begun_again() -> None:
    case = Case(BUSY, BUSY, BUSY, ExecutorOutcome("done")).begun(retrying())
    refused = case.go()
    assert (refused["error"]["errorClass"], linked(refused)) == ("transient_error", ["self", "go", "stop"])
    assert (refused["version"], case.stand.claim) == (1, None)
    assert case.events[-2:] == ["executor.failed", "transition.rejected"]
    assert case.go()["state"] == "b"


def test_for_each_try_there_is_a_lease_of_its_own() -> None:
    leases: list[float] = []

    def slow(came: StepOutcome) -> Any:
        def play(errand: StepAttempt) -> StepOutcome:
            held = case.stand.claim
            assert (held.until, held.attempt) == (errand.claim.until, errand.claim.attempt)
            leases.append(held.until - case.shop.clock.now())
            case.wait(SECONDS)
            return came

        return play

    case = Case(slow(BUSY), slow(BUSY), slow(ExecutorOutcome())).begun(retrying())
    assert case.go()["state"] == "b"
    assert leases == [LEASE] * 3


def test_between_two_tries_it_waits_as_long_as_its_author_says() -> None:
    case = Case(BUSY, BUSY, ExecutorOutcome()).begun(retrying(backoff="exponential", initialDelayMs=2_000))
    now = case.shop.clock.now()
    assert case.go()["state"] == "b"
    assert case.shop.clock.now() - now == 2 + 4


def test_a_long_pause_is_waited_for_by_nobody() -> None:
    case = Case(BUSY, ExecutorOutcome("done")).begun(retrying(backoff="fixed", initialDelayMs=600_000))
    now = case.shop.clock.now()
    answer = case.go()
    assert answer["pending"] == {"transition": "go", "on": "retry", "attempt": 2, "retryAfterMs": 60_000}
    assert (linked(answer), answer["version"], "error" in answer) == (["self"], 1, False)
    assert [hint.at for _, hint in case.shop.instances.wakes] == [now + 600]
    assert case.shop.instances.find_due(now + 600) == [(TENANT, case.id)]
    refused = case.go("stop")
    assert (refused["error"]["code"], refused["error"]["retryAfterMs"]) == ("STALE_WORKFLOW_VERSION", 60_000)
    case.wait(599)
    case.shop.settle()
    case.shop.wake(case.id)
    assert tries(case) == [(0, 1)]
    case.wait(1)
    case.shop.settle()
    assert (case.stand.state, case.stand.context) == ("b", {"went": "done"})
    assert tries(case) == [(0, 1), (0, 2)]
    assert len(set(case.keys)) == 1
    assert case.script.errands[1].principal == AGENT


def test_the_hint_alone_is_enough_to_go_on_and_so_is_the_index() -> None:
    for hinted in (True, False):
        case = Case(BUSY, ExecutorOutcome("done")).begun(retrying(backoff="fixed", initialDelayMs=600_000))
        case.go()
        case.wait(600)
        if hinted:
            assert by_hints(case.shop.waker, case.shop.instances, case.shop.clock) == 1
        else:
            case.shop.instances.wakes.clear()
            case.shop.settle()
        assert case.stand.state == "b"


def test_the_worker_waits_itself_where_there_is_time_for_it() -> None:
    case = Case(BUSY, ExecutorOutcome(), seconds=100).begun(retrying(backoff="fixed", initialDelayMs=20_000))
    case.go()
    now = case.shop.clock.now()
    case.shop.settle()
    assert (case.stand.state, case.shop.clock.now() - now) == ("b", 20)


def test_nobody_sleeps_through_a_long_pause() -> None:
    case = Case(BUSY, ExecutorOutcome(), seconds=100).begun(retrying(backoff="fixed", initialDelayMs=20_001))
    case.go()
    now = case.shop.clock.now()
    case.shop.settle()
    assert (case.stand.state, case.shop.clock.now() - now) == ("a", 0)
    case.wait(21)
    case.shop.settle()
    assert case.stand.state == "b"


class Pauses:
    """A store that sees what is held before each pause, and after it."""

    def __init__(self, instances: MemoryInstanceStore) -> None:
        self._instances = instances
        self.leases = list[float]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instances, name)

    def hold(self, tenant: str, workflow_id: str, claim: Claim, **stand: Any) -> Claim | None:
        self.leases.append(claim.until)
        return self._instances.hold(tenant, workflow_id, claim, **stand)


def test_a_pause_is_part_of_the_lease() -> None:
    """Whoever comes while it lasts finds it held, and does not begin the same try."""
    stores = list[Pauses]()

    def store(instances: MemoryInstanceStore) -> Pauses:
        stores.append(Pauses(instances))
        return stores[0]

    def begun(_: StepAttempt) -> ExecutorOutcome:
        begins_at.append((case.shop.clock.now(), len(stores[0].leases)))
        return ExecutorOutcome()

    begins_at = list[tuple[float, int]]()
    case = Case(BUSY, begun, seconds=1, store=store).begun(retrying(backoff="fixed", initialDelayMs=10_000))
    now = case.shop.clock.now()
    case.go()
    assert begins_at == [(now + 10, 2)]
    assert stores[0].leases == [now + 1 + MARGIN, now + 10 + 1 + MARGIN]


def test_when_the_time_is_short_the_next_try_is_made_by_whoever_has_some() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.wait(20)
        return BUSY

    case = Case(slow, ExecutorOutcome("done"), seconds=20).begun(retrying())
    answer = case.go()
    assert (answer["pending"]["on"], answer["pending"]["attempt"]) == ("retry", 2)
    assert len(case.script.errands) == 1
    case.shop.settle()
    assert (case.stand.state, tries(case)) == ("b", [(0, 1), (0, 2)])


def test_while_a_retry_is_waited_for_it_may_be_cancelled() -> None:
    case = Case(BUSY).begun(retrying(backoff="fixed", initialDelayMs=600_000))
    case.go()
    assert case.go("$cancel")["terminal"] is True
    case.wait(601)
    case.shop.settle()
    assert (len(case.script.errands), case.stand.version) == (1, 2)


def test_a_deadline_ends_what_waits_for_a_retry() -> None:
    document = executing(
        reliability={"retry": {"maxAttempts": 2, "backoff": "fixed", "initialDelayMs": 600_000}},
        timeoutMs=60_000,
        onTimeout={"target": "late"},
    )
    case = Case(BUSY).begun(document)
    case.go()
    case.wait(61)
    case.shop.settle()
    assert (case.stand.state, case.stand.claim) == ("late", None)
    case.wait(600)
    case.shop.settle()
    assert len(case.script.errands) == 1


def test_what_is_unknown_is_tried_again_where_its_author_consented_to_that_class() -> None:
    case = Case(UNKNOWN, ExecutorOutcome("done")).begun(retrying())
    assert case.go()["state"] == "b"
    doubtful = Case(UNKNOWN).begun(retrying(retryOn=["transient_error"]))
    assert doubtful.go()["inDoubt"]
    assert linked(doubtful.get(RESOLVER)) == ["self", "$retry", "$resolve"]


def test_what_is_unknown_in_the_last_try_is_in_doubt_and_anybody_may_have_it_repeated() -> None:
    case = Case(UNKNOWN, UNKNOWN, ExecutorOutcome("done")).begun(retrying(2))
    refused = case.go()
    assert (refused["error"]["errorClass"], refused["inDoubt"]["transition"]) == ("timeout", "go")
    case.wait(LEASE)
    assert linked(case.get()) == ["self", "$retry"]
    assert case.order("$retry", AGENT)["state"] == "b"


def test_a_try_that_failed_does_not_say_what_came_of_the_one_before() -> None:
    case = Case(UNKNOWN, BROKEN).begun(retrying(2))
    refused = case.go()
    assert (refused["error"]["errorClass"], refused["inDoubt"]["transition"]) == ("permanent_error", "go")


def with_fallbacks(reliability: Any = None) -> Any:
    fallbacks = [{"kind": "other", "n": 1}, {"kind": "noone"}, {"kind": "other", "n": 2}]
    return executing(reliability={"fallback": {"executors": fallbacks}, **(reliability or {})})


def falling_back(first: list[Any], second: list[Any], document: Any = None) -> tuple[Case, Script]:
    case, other = Case(*first), Script(*second, seconds=SECONDS)
    case.shop.machines["other"] = other
    return case.begun(document or with_fallbacks()), other


def test_when_one_fails_the_next_does_it_with_the_key_of_the_first() -> None:
    case, other = falling_back([BROKEN], [ExecutorOutcome("instead")])
    answer = case.go()
    assert (answer["state"], answer["context"]) == ("b", {"went": "instead"})
    (errand,) = other.errands
    assert (errand.idempotency_key, errand.claim.candidate, errand.claim.attempt) == (case.keys[0], 1, 1)
    assert case.shop.payloads(case.id, "fallback.selected")[0]["previousError"] == BROKEN.message


def test_whoever_cannot_be_run_is_passed_over() -> None:
    case, other = falling_back([BROKEN], [BROKEN, ExecutorOutcome("last")])
    assert case.go()["context"] == {"went": "last"}
    assert [errand.executor.settings["n"] for errand in other.errands] == [1, 2]


def test_when_all_have_failed_the_last_one_says_why() -> None:
    case, other = falling_back([BROKEN], [BROKEN, ExecutorFailure("transient_error", "Nor I.")])
    refused = case.go()
    assert (refused["error"]["message"], refused["version"], len(other.errands)) == ("Nor I.", 1, 2)


def test_after_a_fallback_was_selected_a_crash_is_taken_up_there() -> None:
    document = with_fallbacks({"retry": {"maxAttempts": 1}})
    case, other = falling_back([BROKEN], [Crash(), ExecutorOutcome("instead")], document)
    case.crashes()
    case.wait(LEASE + 1)
    case.shop.settle()
    assert (case.stand.context, len(case.script.errands)) == ({"went": "instead"}, 1)
    assert [errand.claim.candidate for errand in other.errands] == [1, 1]


def test_without_consent_nobody_else_does_what_may_have_happened() -> None:
    case, other = falling_back([UNKNOWN], [])
    assert case.go()["inDoubt"]
    assert other.errands == []


def test_evidence_counts_once_however_often_it_was_tried() -> None:
    scan = EvidenceItem("scan", "agent")
    case = Case(BUSY, UNKNOWN, ExecutorOutcome("done", [scan])).begun(retrying())
    assert case.go()["evidence"] == [{"kind": "scan"}]
    assert case.stand.evidence["scan"].count == 1
    told = case.shop.instances.history(TENANT, case.id)
    assert [item for _, evidence in told for item in evidence] == [scan]


def test_what_is_lost_between_two_machines_is_executed_twice_and_counts_once() -> None:
    scan = EvidenceItem("scan", "agent")

    def slow(_: StepAttempt) -> StepOutcome:
        case.wait(LEASE + 1)
        case.shop.settle()
        return ExecutorOutcome("first", [scan])

    case = Case(slow, ExecutorOutcome("second", [scan])).begun(executing(idempotent=True))
    case.go()
    assert (case.stand.evidence["scan"].count, len(case.script.errands)) == (1, 2)


def test_a_step_that_needs_more_than_anybody_has_takes_what_there_is() -> None:
    case = Case(ExecutorOutcome(), seconds=10**6).begun()
    case.go()
    case.shop.settle()
    (errand,) = case.script.errands
    assert errand.claim.until - case.shop.clock.now() == 800 + MARGIN
    assert case.stand.state == "b"


def test_the_hop_counter_is_of_the_claim() -> None:
    case = Case(ExecutorOutcome(), seconds=100).begun()
    case.go()
    assert case.stand.claim.handed_over == 1
    case.shop.wake(case.id, seconds=CALL)
    assert case.stand.claim.handed_over == 2
    assert MAX_HAND_OVERS == 100
    case.shop.settle()
    assert (case.stand.state, case.stand.claim) == ("b", None)


def test_a_kind_that_nothing_runs_fails_at_once_and_claims_nothing() -> None:
    shop = Workshop()
    shop.publish("demo", executing())
    workflow_id = shop.start(AGENT)["workflowId"]
    refused = shop.submit(workflow_id, "go", AGENT)
    assert (refused["error"]["code"], refused["error"]["errorClass"]) == ("EXECUTOR_FAILED", "permanent_error")
    assert shop.instances.wakes == []


def test_nobody_says_what_came_of_it_while_an_earlier_try_may_still_go_on() -> None:
    """Also if the rest was gone on with by somebody else, who is done already."""

    def overruns(_: StepAttempt) -> StepOutcome:
        case.wait(20)
        return ExecutorFailure("timeout", "It was not waited for any longer.", "unknown", has_ended=False)

    case, began = Case(overruns, seconds=20), 0.0
    case.script.lingering = 900
    case.shop.machines["other"] = Script(BROKEN, seconds=SECONDS)
    began = case.shop.clock.now()
    fallback = {"timeoutMs": 20_000, "fallback": {"executors": [{"kind": "other"}]}}
    case.begun(executing(idempotent=True, reliability=fallback))
    assert case.go()["pending"]["on"] == "retry"
    case.shop.settle()
    assert case.stand.claim.standing == "in_doubt"
    assert linked(case.get(RESOLVER)) == ["self"]
    assert case.order("$resolve", happened=False)["error"]["code"] == "STALE_WORKFLOW_VERSION"
    case.wait(began + 20 + 900 + MARGIN - case.shop.clock.now())
    assert linked(case.get(RESOLVER)) == ["self", "$retry", "$resolve"]


def test_a_chain_leaves_to_somebody_with_more_time_what_does_not_say_how_long_it_takes() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.wait(CALL / 2)
        return ExecutorOutcome()

    hop = {"actor": "deterministic", "executor": {"kind": "act"}}
    states = {name: {"transitions": {"on": {**hop, "target": target}}} for name, target in (("a", "b"), ("b", "c"))}
    case = Case(slow, slow, seconds=None)
    case.begun({"initialState": "a", "states": {**states, "c": {"terminal": True}}})
    assert (case.get()["state"], case.get()["pending"]["on"], len(case.script.errands)) == ("b", "chain", 1)
    case.shop.settle()
    assert case.stand.state == "c"
