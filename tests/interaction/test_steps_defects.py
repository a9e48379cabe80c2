"""What other gateways get wrong with steps, and what must therefore never be seen here."""

from collections.abc import Mapping
from typing import Any

import pytest

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.model import Principal
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.source_tree import build_source_node
from signpost.workflow.engine.permissions import CANCEL, RESOLVE, RETRY
from signpost.workflow.engine.steps import ON_ENTER, ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import EvidenceItem, WriteCondition
from signpost.workflow.ports import StepAttempt, StepOutcome
from signpost.workflow.running.service import StartRequest
from tests.support.machines import Crash, Script
from tests.support.step_cases import AGENT, LEASE, UNKNOWN, Case, executing, linked
from tests.support.workshop import TENANT, Workshop

BROKEN = ExecutorFailure("permanent_error", "Never.")
PAYER = Principal("payer", TENANT, "t", permissions=frozenset({"pay"}))
RACERS = 8


class Turnstile(MemoryInstanceStore):
    """Lets each of several who have read the same write before the one who let it in."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[Any] = []

    def hold(
        self, tenant: str, workflow_id: str, claim: Any, *, replacing: WriteCondition, due_at: float | None
    ) -> Any:
        if self.others:
            self.others.pop()()
        return super().hold(tenant, workflow_id, claim, replacing=replacing, due_at=due_at)


def test_whoever_loses_a_race_executes_nothing_and_hears_no_internal_error() -> None:
    case, instances = Case(ExecutorOutcome("done"), *[Crash()] * RACERS), Turnstile()
    case.shop = Workshop({"act": case.script}, instances=instances)
    case.begun()
    answers: list[Any] = []
    instances.others = [lambda: answers.append(case.go(version=1))] * (RACERS - 1)
    answers.append(case.go(version=1))
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [None, *["STALE_WORKFLOW_VERSION"] * (RACERS - 1)]
    assert all(linked(answer)[0] == "self" for answer in answers[1:])
    assert (case.stand.version, len(case.script.errands)) == (2, 1)


GUARDED: Mapping[str, Any] = {
    "bank.pay": {
        "executor": {"kind": "act", "idempotencyKey": True},
        "guards": [{"kind": "permission", "permission": "pay"}],
    }
}
"""A capability that not everybody may use."""
NAMED: Mapping[str, Any] = {"capability": "bank.pay"}


def with_capabilities(case: Case, document: Any, by: Principal = AGENT) -> Any:
    """Started, as it would be published: with the capabilities in the places that name them."""
    found = compile_manifest(
        build_source_node({"version": 1, "capabilities": GUARDED, "workflows": {"demo": document}})
    )
    assert isinstance(found, CompiledManifest), found
    case.shop.publish("demo", found.workflows["demo"])
    answer = case.shop.start(by)
    case.id = answer.get("workflowId", "")
    return answer


def paying_on_entry(**go: Any) -> Any:
    """`b` pays on being entered; `hop` leads there by itself, and so does the deadline."""
    states = {
        "a": {"transitions": {"go": {"target": "b", **go}}},
        "hop": {"transitions": {"on": {"actor": "deterministic", "target": "b"}}},
        "b": {"onEnter": {"executor": NAMED, "output": {"paid": "$.output"}}, "terminal": True},
    }
    return {"initialState": "a", "states": states}


WAYS: Mapping[str, Mapping[str, Any]] = {
    "a move": {},
    "a move that has executed something": {"executor": {"kind": "other"}},
    "a hop": {"target": "hop"},
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_into_a_state_leads_past_the_guard_of_the_capability_that_it_names(way: str) -> None:
    for by, executed in ((AGENT, 0), (PAYER, 1)):
        case = Case(*[ExecutorOutcome("paid")] * 2)
        case.shop.machines["other"] = Script(ExecutorOutcome())
        with_capabilities(case, paying_on_entry(**WAYS[way]))
        answer = case.go(by=by)
        case.shop.settle()
        assert len(case.script.errands) == executed
        assert ("error" in answer, case.stand.context) == (not executed, {"paid": "paid"} if executed else {})
        assert (case.get().get("terminal", False), len(case.get()["links"])) == (bool(executed), 1 - executed)


def test_a_start_and_a_deadline_do_not_pass_the_guard_of_the_capability_that_a_state_names_either() -> None:
    for executed, by in enumerate((AGENT, PAYER)):
        case = Case(ExecutorOutcome("paid"))
        answer = with_capabilities(case, {**paying_on_entry(), "initialState": "b"}, by)
        assert (len(case.script.errands), "error" in answer) == (executed, not executed)
    case = Case(ExecutorOutcome("paid"))
    with_capabilities(case, {**paying_on_entry(), "timeoutMs": 1_000, "onTimeout": {"target": "b"}})
    case.wait(2)
    late = case.get()
    case.shop.settle()
    assert (late["state"], case.script.errands, linked(case.get())) == ("b", [], [ON_ENTER])
    assert case.go(ON_ENTER, PAYER)["context"] == {"paid": "paid"}


def test_a_fallback_that_names_a_capability_is_neither_left_out_nor_a_way_past_its_guard() -> None:
    stands_in = {"fallback": {"executors": [NAMED]}}
    go = {"target": "b", "executor": {"kind": "other"}, "reliability": stands_in, "output": {"paid": "$.output"}}
    document = {"initialState": "a", "states": {"a": {"transitions": {"go": go}}, "b": {"terminal": True}}}
    case, other = Case(ExecutorOutcome("paid")), Script(BROKEN)
    case.shop.machines["other"] = other
    with_capabilities(case, document)
    assert case.go()["error"]["code"] == "GUARD_REJECTED"
    assert (other.errands, case.script.errands) == ([], [])
    assert case.go(by=PAYER)["context"] == {"paid": "paid"}
    assert (len(other.errands), len(case.script.errands)) == (1, 1)


def looping() -> Any:
    """Each round executes something, and nothing but the limit ends them."""
    again = {"target": "b", "actor": "deterministic", "executor": {"kind": "act"}}
    states = {"a": {"transitions": {"go": {"target": "b"}}}, "b": {"transitions": {"again": again}}}
    return {"initialState": "a", "maxChainDepth": 2, "states": states}


@pytest.mark.parametrize("seconds", [1.0, 100.0])
def test_a_chain_that_reached_its_limit_is_no_dead_end_whoever_carried_it_there(seconds: float) -> None:
    case = Case(*[ExecutorOutcome(n) for n in range(6)], seconds=seconds).begun(looping())
    for rounds in (2, 5):
        case.go("go" if rounds == 2 else "again")
        case.shop.settle()
        stopped = case.get()
        assert (linked(stopped), stopped.get("pending"), len(case.script.errands)) == (["again"], None, rounds)


def at_the_end(**settings: Any) -> Any:
    """`go` executes something, and so does the last state on being entered."""
    entry = {"executor": {"kind": "act", **settings}, "output": {"told": "$.output"}}
    states = {
        "a": {"transitions": {"go": {"target": "b", "executor": {"kind": "act"}}}},
        "b": {"onEnter": entry, "terminal": True},
        "late": {"terminal": True},
    }
    return {"initialState": "a", "states": states, "timeoutMs": 60_000, "onTimeout": {"target": "late"}}


def test_an_entry_that_failed_is_not_taken_for_the_end() -> None:
    case = Case(ExecutorOutcome(), BROKEN, ExecutorOutcome("told")).begun(at_the_end())
    refused = case.go()
    assert (refused["error"]["code"], refused["state"], refused["entering"]) == ("EXECUTOR_FAILED", "b", "b")
    assert ("terminal" in refused, linked(refused)) == (False, ["self", ON_ENTER])
    case.wait(100)  # nobody leaves the end, whatever is left to do there
    case.shop.settle()
    assert (linked(case.get()), case.shop.instances.find_due(10**10), "workflow.completed" in case.events) == (
        [ON_ENTER],
        [],
        False,
    )
    done = case.go(ON_ENTER)
    assert (done["terminal"], done["context"], linked(done)) == (True, {"told": "told"}, [])
    assert case.events.count("workflow.completed") == 1


def test_an_entry_that_crashed_where_everything_ends_is_not_left_there() -> None:
    case = Case(ExecutorOutcome(), Crash(), ExecutorOutcome("told")).begun(at_the_end(idempotent=True))
    case.crashes()
    case.wait(LEASE + 1)
    case.shop.settle()
    assert (case.get()["terminal"], case.stand.context, case.stand.claim) == (True, {"told": "told"}, None)


def test_an_entry_that_crashed_where_everything_ends_is_shown_in_doubt() -> None:
    case = Case(ExecutorOutcome(), Crash()).begun(at_the_end())
    case.crashes()
    case.wait(LEASE + 1)
    case.shop.settle()
    assert (case.get()["inDoubt"]["transition"], "terminal" in case.get()) == (ON_ENTER, False)
    assert case.order(RESOLVE, happened=True, output="told")["terminal"] is True


def test_an_entry_that_takes_long_is_not_forgotten_where_everything_ends() -> None:
    document = at_the_end()
    document["states"]["a"]["transitions"]["go"]["executor"] = {"kind": "other"}
    case = Case(ExecutorOutcome("told"), seconds=100)
    case.shop.machines["other"] = Script(ExecutorOutcome(), seconds=1)
    case.begun(document)
    waiting = case.go()
    assert (waiting["state"], waiting["pending"]["transition"], "terminal" in waiting) == ("b", ON_ENTER, False)
    case.shop.settle()
    assert (case.get()["terminal"], case.stand.context) == (True, {"told": "told"})


def test_whoever_leaves_what_the_end_does_has_cancelled() -> None:
    case = Case(ExecutorOutcome(), BROKEN).begun(at_the_end())
    case.go()
    answer = case.go(CANCEL)
    assert (answer["terminal"], answer["cancelled"], linked(answer)) == (True, {"by": "agent"}, [])


def test_a_start_whose_entry_fails_is_no_orphan() -> None:
    document = executing()
    document["states"]["a"]["onEnter"] = {"executor": {"kind": "act"}}
    case = Case(BROKEN, ExecutorOutcome())
    case.shop.publish("demo", document)
    refused = case.shop.start(AGENT)
    assert (refused["error"]["code"], refused["entering"]) == ("EXECUTOR_FAILED", "a")
    assert linked(refused) == ["self", ON_ENTER]
    assert "transition.rejected" in case.shop.events(refused["workflowId"])
    assert linked(case.shop.submit(refused["workflowId"], ON_ENTER, AGENT)) == ["go", "stop"]


def test_evidence_of_one_hop_does_not_count_again_at_the_next() -> None:
    def scanned(errand: StepAttempt) -> StepOutcome:
        return ExecutorOutcome(1, [EvidenceItem("scan", "agent")] if errand.executor.settings.get("scans") else [])

    hops = {
        state: {"transitions": {"on": {"target": to, "actor": "deterministic", "executor": {"kind": "act"}}}}
        for state, to in (("b", "c"), ("c", "d"), ("d", "e"))
    }
    scanning = {"target": "b", "executor": {"kind": "act", "scans": True}}
    states = {"a": {"transitions": {"go": scanning}}, **hops, "e": {"terminal": True}}
    case = Case(*[scanned] * 4).begun({"initialState": "a", "states": states})
    answer = case.go()
    assert (answer["state"], case.stand.evidence["scan"].count) == ("e", 1)
    told = case.shop.instances.history(TENANT, case.id)
    assert [len(evidence) for _, evidence in told] == [0, 1, 0, 0, 0]


def test_the_key_does_not_change_whoever_comes_again_at_the_version() -> None:
    consenting = executing(reliability={"retry": {"maxAttempts": 2}, "fallback": {"executors": [{"kind": "act"}]}})
    came = [BROKEN, BROKEN, ExecutorFailure("transient_error", "Not now."), Crash(), *[UNKNOWN] * 4]
    case = Case(*came, ExecutorOutcome("done")).begun(consenting)
    case.go()  # it and its fallback fail, and nothing has happened
    case.crashes()  # sent again: another try, which nobody hears of
    case.wait(LEASE + 1)
    case.shop.settle()  # taken over, to the last of all tries
    case.wait(LEASE)
    assert case.order(RETRY)["inDoubt"]
    case.wait(LEASE)
    case.order(RESOLVE, happened=False)
    assert case.go()["state"] == "b"
    assert len(case.keys) == len(came) + 1
    assert set(case.keys) == {f"{case.id}.go.1"}


def test_a_start_that_is_sent_twice_at_once_starts_one() -> None:
    def meanwhile(_: StepAttempt) -> StepOutcome:
        answers.append(case.shop.start(AGENT, wanted))
        return ExecutorOutcome()

    answers: list[Any] = []
    wanted, document = StartRequest("demo", client_token="mine"), executing()
    document["states"]["a"]["onEnter"] = {"executor": {"kind": "act"}}
    case = Case(meanwhile)
    case.shop.publish("demo", document)
    answers.append(case.shop.start(AGENT, wanted))
    assert len({answer["workflowId"] for answer in answers}) == 1
    assert [answer["pending"]["transition"] for answer in answers[:1]] == [ON_ENTER]
    assert (linked(answers[1]), len(case.script.errands)) == (["go", "stop"], 1)
