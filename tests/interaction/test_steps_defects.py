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
from tests.support.memory_workflows import TENANT, MemoryWorkflows
from tests.support.played_executors import ExecutorCrash, ScriptedExecutor
from tests.support.step_cases import AGENT, LEASE_SECONDS, UNKNOWN_OUTCOME, StepCase, define_step, list_link_names

BROKEN = ExecutorFailure("permanent_error", "Never.")
PAYER = Principal("payer", TENANT, "t", permissions=frozenset({"pay"}))
RACERS = 8


class OvertakenInstanceStore(MemoryInstanceStore):
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


def test_a_request_that_loses_a_race_executes_no_step_and_gets_a_refusal() -> None:
    case, instances = StepCase(ExecutorOutcome("done"), *[ExecutorCrash()] * RACERS), OvertakenInstanceStore()
    case.workflows = MemoryWorkflows({"act": case.script}, instances=instances)
    case.start()
    answers: list[Any] = []
    instances.others = [lambda: answers.append(case.submit(version=1))] * (RACERS - 1)
    answers.append(case.submit(version=1))
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [None, *["STALE_WORKFLOW_VERSION"] * (RACERS - 1)]
    assert all(list_link_names(answer)[0] == "self" for answer in answers[1:])
    assert (case.instance.version, len(case.script.attempts)) == (2, 1)


GUARDED: Mapping[str, Any] = {
    "bank.pay": {
        "executor": {"kind": "act", "idempotencyKey": True},
        "guards": [{"kind": "permission", "permission": "pay"}],
    }
}
"""A capability that not everybody may use."""
NAMED: Mapping[str, Any] = {"capability": "bank.pay"}


def start_with_capabilities(case: StepCase, document: Any, by: Principal = AGENT) -> Any:
    """Started, as it would be published: with the capabilities in the places that name them."""
    found = compile_manifest(
        build_source_node({"version": 1, "capabilities": GUARDED, "workflows": {"demo": document}})
    )
    assert isinstance(found, CompiledManifest), found
    case.workflows.publish("demo", found.workflows["demo"])
    answer = case.workflows.start(by)
    case.id = answer.get("workflowId", "")
    return answer


def definition_with_paying_entry(**go: Any) -> Any:
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
def test_every_way_into_a_state_applies_the_guard_of_its_capability(way: str) -> None:
    for by, executed in ((AGENT, 0), (PAYER, 1)):
        case = StepCase(*[ExecutorOutcome("paid")] * 2)
        case.workflows.step_executors["other"] = ScriptedExecutor(ExecutorOutcome())
        start_with_capabilities(case, definition_with_paying_entry(**WAYS[way]))
        answer = case.submit(by=by)
        case.workflows.run_until_idle()
        assert len(case.script.attempts) == executed
        assert ("error" in answer, case.instance.context) == (not executed, {"paid": "paid"} if executed else {})
        assert (case.get().get("terminal", False), len(list_link_names(case.get()))) == (bool(executed), 1 - executed)


def test_a_start_and_a_deadline_apply_the_guard_of_the_entry_capability() -> None:
    for executed, by in enumerate((AGENT, PAYER)):
        case = StepCase(ExecutorOutcome("paid"))
        answer = start_with_capabilities(case, {**definition_with_paying_entry(), "initialState": "b"}, by)
        assert (len(case.script.attempts), "error" in answer) == (executed, not executed)
    case = StepCase(ExecutorOutcome("paid"))
    start_with_capabilities(case, {**definition_with_paying_entry(), "timeoutMs": 1_000, "onTimeout": {"target": "b"}})
    case.advance(2)
    late = case.get()
    case.workflows.run_until_idle()
    assert (late["state"], case.script.attempts, list_link_names(case.get())) == ("b", [], [ON_ENTER])
    assert case.submit(ON_ENTER, PAYER)["context"] == {"paid": "paid"}


def test_a_fallback_to_a_capability_applies_its_guard() -> None:
    stands_in = {"fallback": {"executors": [NAMED]}}
    go = {"target": "b", "executor": {"kind": "other"}, "reliability": stands_in, "output": {"paid": "$.output"}}
    document = {"initialState": "a", "states": {"a": {"transitions": {"go": go}}, "b": {"terminal": True}}}
    case, other = StepCase(ExecutorOutcome("paid")), ScriptedExecutor(BROKEN)
    case.workflows.step_executors["other"] = other
    start_with_capabilities(case, document)
    assert case.submit()["error"]["code"] == "GUARD_REJECTED"
    assert (other.attempts, case.script.attempts) == ([], [])
    assert case.submit(by=PAYER)["context"] == {"paid": "paid"}
    assert (len(other.attempts), len(case.script.attempts)) == (1, 1)


def looping_definition() -> Any:
    """Each round executes something, and nothing but the limit ends them."""
    again = {"target": "b", "actor": "deterministic", "executor": {"kind": "act"}}
    states = {"a": {"transitions": {"go": {"target": "b"}}}, "b": {"transitions": {"again": again}}}
    return {"initialState": "a", "maxChainDepth": 2, "states": states}


@pytest.mark.parametrize("seconds", [1.0, 100.0])
def test_a_chain_at_its_limit_can_be_continued_by_a_submission(seconds: float) -> None:
    case = StepCase(*[ExecutorOutcome(n) for n in range(6)], seconds=seconds).start(looping_definition())
    for rounds in (2, 5):
        case.submit("go" if rounds == 2 else "again")
        case.workflows.run_until_idle()
        stopped = case.get()
        assert (list_link_names(stopped), stopped.get("pending"), len(case.script.attempts)) == (
            ["again"],
            None,
            rounds,
        )


def definition_with_final_entry(**settings: Any) -> Any:
    """`go` executes something, and so does the last state on being entered."""
    entry = {"executor": {"kind": "act", **settings}, "output": {"told": "$.output"}}
    states = {
        "a": {"transitions": {"go": {"target": "b", "executor": {"kind": "act"}}}},
        "b": {"onEnter": entry, "terminal": True},
        "late": {"terminal": True},
    }
    return {"initialState": "a", "states": states, "timeoutMs": 60_000, "onTimeout": {"target": "late"}}


def test_a_terminal_state_with_a_failed_entry_is_not_terminal() -> None:
    case = StepCase(ExecutorOutcome(), BROKEN, ExecutorOutcome("told")).start(definition_with_final_entry())
    refused = case.submit()
    assert (refused["error"]["code"], refused["state"], refused["entering"]) == ("EXECUTOR_FAILED", "b", "b")
    assert ("terminal" in refused, list_link_names(refused)) == (False, ["self", ON_ENTER])
    case.advance(100)  # nobody leaves the end, whatever is left to do there
    case.workflows.run_until_idle()
    assert (
        list_link_names(case.get()),
        case.workflows.instances.find_due(10**10),
        "workflow.completed" in case.events,
    ) == (
        [ON_ENTER],
        [],
        False,
    )
    done = case.submit(ON_ENTER)
    assert (done["terminal"], done["context"], list_link_names(done)) == (True, {"told": "told"}, [])
    assert case.events.count("workflow.completed") == 1


def test_a_crashed_idempotent_entry_of_a_terminal_state_is_repeated() -> None:
    case = StepCase(ExecutorOutcome(), ExecutorCrash(), ExecutorOutcome("told")).start(
        definition_with_final_entry(idempotent=True)
    )
    case.submit_and_crash()
    case.advance(LEASE_SECONDS + 1)
    case.workflows.run_until_idle()
    assert (case.get()["terminal"], case.instance.context, case.instance.claim) == (True, {"told": "told"}, None)


def test_a_crashed_entry_of_a_terminal_state_is_shown_in_doubt() -> None:
    case = StepCase(ExecutorOutcome(), ExecutorCrash()).start(definition_with_final_entry())
    case.submit_and_crash()
    case.advance(LEASE_SECONDS + 1)
    case.workflows.run_until_idle()
    assert (case.get()["inDoubt"]["transition"], "terminal" in case.get()) == (ON_ENTER, False)
    assert case.submit_override(RESOLVE, happened=True, output="told")["terminal"] is True


def test_a_long_entry_of_a_terminal_state_is_executed_by_the_worker() -> None:
    document = definition_with_final_entry()
    document["states"]["a"]["transitions"]["go"]["executor"] = {"kind": "other"}
    case = StepCase(ExecutorOutcome("told"), seconds=100)
    case.workflows.step_executors["other"] = ScriptedExecutor(ExecutorOutcome(), seconds=1)
    case.start(document)
    waiting = case.submit()
    assert (waiting["state"], waiting["pending"]["transition"], "terminal" in waiting) == ("b", ON_ENTER, False)
    case.workflows.run_until_idle()
    assert (case.get()["terminal"], case.instance.context) == (True, {"told": "told"})


def test_a_cancelled_entry_of_a_terminal_state_ends_the_workflow() -> None:
    case = StepCase(ExecutorOutcome(), BROKEN).start(definition_with_final_entry())
    case.submit()
    answer = case.submit(CANCEL)
    assert (answer["terminal"], answer["cancelled"], list_link_names(answer)) == (True, {"by": "agent"}, [])


def test_a_start_with_a_failed_entry_links_the_entry() -> None:
    document = define_step()
    document["states"]["a"]["onEnter"] = {"executor": {"kind": "act"}}
    case = StepCase(BROKEN, ExecutorOutcome())
    case.workflows.publish("demo", document)
    refused = case.workflows.start(AGENT)
    assert (refused["error"]["code"], refused["entering"]) == ("EXECUTOR_FAILED", "a")
    assert list_link_names(refused) == ["self", ON_ENTER]
    assert "transition.rejected" in case.workflows.list_event_types(refused["workflowId"])
    assert list_link_names(case.workflows.submit(refused["workflowId"], ON_ENTER, AGENT)) == ["go", "stop"]


def test_evidence_of_one_hop_counts_once() -> None:
    def scanned(errand: StepAttempt) -> StepOutcome:
        return ExecutorOutcome(1, [EvidenceItem("scan", "agent")] if errand.executor.settings.get("scans") else [])

    hops = {
        state: {"transitions": {"on": {"target": to, "actor": "deterministic", "executor": {"kind": "act"}}}}
        for state, to in (("b", "c"), ("c", "d"), ("d", "e"))
    }
    scanning = {"target": "b", "executor": {"kind": "act", "scans": True}}
    states = {"a": {"transitions": {"go": scanning}}, **hops, "e": {"terminal": True}}
    case = StepCase(*[scanned] * 4).start({"initialState": "a", "states": states})
    answer = case.submit()
    assert (answer["state"], case.instance.evidence["scan"].count) == ("e", 1)
    told = case.workflows.instances.history(TENANT, case.id)
    assert [len(evidence) for _, evidence in told] == [0, 1, 0, 0, 0]


def test_all_attempts_at_a_version_have_the_same_idempotency_key() -> None:
    consenting = define_step(reliability={"retry": {"maxAttempts": 2}, "fallback": {"executors": [{"kind": "act"}]}})
    came = [BROKEN, BROKEN, ExecutorFailure("transient_error", "Not now."), ExecutorCrash(), *[UNKNOWN_OUTCOME] * 4]
    case = StepCase(*came, ExecutorOutcome("done")).start(consenting)
    case.submit()  # it and its fallback fail, and nothing has happened
    case.submit_and_crash()  # sent again: another try, which nobody hears of
    case.advance(LEASE_SECONDS + 1)
    case.workflows.run_until_idle()  # taken over, to the last of all tries
    case.advance(LEASE_SECONDS)
    assert case.submit_override(RETRY)["inDoubt"]
    case.advance(LEASE_SECONDS)
    case.submit_override(RESOLVE, happened=False)
    assert case.submit()["state"] == "b"
    assert len(case.idempotency_keys) == len(came) + 1
    assert set(case.idempotency_keys) == {f"{case.id}.go.1"}


def test_two_concurrent_starts_with_one_token_start_one_instance() -> None:
    def meanwhile(_: StepAttempt) -> StepOutcome:
        answers.append(case.workflows.start(AGENT, wanted))
        return ExecutorOutcome()

    answers: list[Any] = []
    wanted, document = StartRequest("demo", client_token="mine"), define_step()
    document["states"]["a"]["onEnter"] = {"executor": {"kind": "act"}}
    case = StepCase(meanwhile)
    case.workflows.publish("demo", document)
    answers.append(case.workflows.start(AGENT, wanted))
    assert len({answer["workflowId"] for answer in answers}) == 1
    assert [answer["pending"]["transition"] for answer in answers[:1]] == [ON_ENTER]
    assert (list_link_names(answers[1]), len(case.script.attempts)) == (["go", "stop"], 1)
