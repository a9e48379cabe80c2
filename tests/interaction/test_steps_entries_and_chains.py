"""States that do something on being entered, chains that execute something at every hop, and what breaks them."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from signpost.model import Principal
from signpost.workflow.engine.steps import ON_ENTER, ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.ports import StepAttempt, StepOutcome
from tests.support.memory_workflows import CALL_SECONDS, TENANT
from tests.support.played_executors import ExecutorCrash
from tests.support.step_cases import AGENT, ATTEMPT_SECONDS, LEASE_SECONDS, UNKNOWN_OUTCOME, StepCase, list_link_names

BROKEN = ExecutorFailure("permanent_error", "Never.")


def act(**settings: Any) -> Any:
    return {"kind": "act", "idempotencyKey": True, **settings}


def definition_with_entry(*, acts: bool = True, settings: Any = None, **more: Any) -> Any:
    """`go` leads to a state that executes something, and from there `on` leads further."""
    go: dict[str, Any] = {"target": "b", "output": {"went": True}}
    if acts:
        go["executor"] = act()
    entry = {"executor": act(**(settings or {})), "output": {"entered": "$.output"}}
    states = {
        "a": {"transitions": {"go": go}},
        "b": {"onEnter": entry, "transitions": {"on": {"target": "c"}}},
        "c": {"terminal": True},
        "late": {"terminal": True},
    }
    return {"initialState": "a", "states": states, **more}


def called_steps(case: StepCase) -> list[str]:
    return [str(key).split(".", 1)[1] for key in case.idempotency_keys]


def test_a_move_and_the_entry_of_its_target_are_two_steps() -> None:
    versions: list[int] = []

    def look(_: StepAttempt) -> StepOutcome:
        versions.append(case.instance.version)
        assert case.instance.claim.job.transition in ("go", ON_ENTER)
        return ExecutorOutcome(len(versions))

    case = StepCase(look, look).start(definition_with_entry())
    answer = case.submit()
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 3, {"went": True, "entered": 2})
    assert (versions, called_steps(case), list_link_names(answer)) == ([1, 2], ["go.1", "on_enter.2"], ["on"])


def test_a_failed_entry_leaves_the_instance_in_the_new_state_with_an_entry_link() -> None:
    case = StepCase(ExecutorOutcome(1), BROKEN, BROKEN, ExecutorOutcome(4)).start(definition_with_entry())
    refused = case.submit()
    assert (refused["error"]["code"], refused["state"], refused["version"]) == ("EXECUTOR_FAILED", "b", 2)
    assert (refused["entering"], refused["context"]) == ("b", {"went": True})
    assert list_link_names(refused) == ["self", ON_ENTER]
    assert list_link_names(case.get()) == [ON_ENTER]
    assert case.submit("on")["error"]["code"] == "INVALID_TRANSITION"
    again = case.submit(ON_ENTER)
    assert (again["error"]["code"], again["version"], list_link_names(again)) == (
        "EXECUTOR_FAILED",
        2,
        ["self", ON_ENTER],
    )
    link, _cancel = case.get()["links"]
    entered = case.submit(ON_ENTER, arguments=link["args"]["arguments"], version=link["args"]["expectedVersion"])
    assert (entered["state"], entered["version"], entered["context"]) == ("b", 3, {"went": True, "entered": 4})
    assert ("entering" in entered, list_link_names(entered)) == (False, ["on"])
    assert called_steps(case) == ["go.1", "on_enter.2", "on_enter.2", "on_enter.2"]
    assert case.events.count("workflow.transitioned") == 1
    assert case.events.count("workflow.entered") == 1


def test_an_entry_with_an_unknown_outcome_is_in_doubt_after_a_settled_move() -> None:
    case = StepCase(ExecutorOutcome(1), UNKNOWN_OUTCOME, ExecutorOutcome(3)).start(definition_with_entry())
    refused = case.submit()
    assert (refused["state"], refused["version"], refused["inDoubt"]["transition"]) == ("b", 2, ON_ENTER)
    assert list_link_names(refused) == ["self"]
    answer = case.submit_override("$retry")
    assert (answer["version"], answer["context"]["entered"], list_link_names(answer)) == (3, 3, ["on"])
    assert called_steps(case) == ["go.1", "on_enter.2", "on_enter.2"]


def test_an_entry_in_doubt_can_be_resolved() -> None:
    for happened, version, shown in ((True, 3, ["on"]), (False, 2, [ON_ENTER])):
        case = StepCase(ExecutorOutcome(1), UNKNOWN_OUTCOME).start(definition_with_entry())
        case.submit()
        answer = case.submit_override("$resolve", happened=happened, output="said")
        assert (answer["version"], list_link_names(answer)) == (version, shown)
        assert answer["context"].get("entered") == ("said" if happened else None)


def test_a_crashed_entry_is_repeated_without_its_move() -> None:
    case = StepCase(ExecutorOutcome(1), ExecutorCrash(), ExecutorOutcome(3)).start(
        definition_with_entry(settings={"idempotent": True})
    )
    case.submit_and_crash()
    assert (case.instance.state, case.instance.version, case.instance.entering) == ("b", 2, True)
    case.advance(LEASE_SECONDS + 1)
    case.workflows.run_until_idle()
    assert (case.instance.version, case.instance.context) == (3, {"went": True, "entered": 3})
    assert called_steps(case) == ["go.1", "on_enter.2", "on_enter.2"]


def test_a_move_without_an_executor_is_written_together_with_its_entry() -> None:
    case = StepCase(BROKEN, UNKNOWN_OUTCOME, ExecutorOutcome(3)).start(definition_with_entry(acts=False))
    before = case.instance
    refused = case.submit()
    after = replace(before, releases=1, link=case.instance.link)
    assert (refused["error"]["code"], case.instance) == ("EXECUTOR_FAILED", after)
    assert case.submit()["inDoubt"]["transition"] == "go"
    assert (case.instance.state, case.instance.version) == ("a", 1)
    answer = case.submit_override("$retry")
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": True, "entered": 3})
    assert called_steps(case) == ["on_enter.1"] * 3


def test_a_failed_entry_of_the_initial_state_leaves_a_started_instance() -> None:
    document: Mapping[str, Any] = {**definition_with_entry(), "initialState": "b"}
    case = StepCase(BROKEN, ExecutorOutcome("now")).start(document)
    assert (case.instance.version, case.instance.entering) == (1, True)
    assert list_link_names(case.get()) == [ON_ENTER]
    answer = case.submit(ON_ENTER)
    assert (answer["version"], answer["context"], list_link_names(answer)) == (2, {"entered": "now"}, ["on"])
    assert called_steps(case) == ["on_enter.1"] * 2


def test_a_long_entry_of_the_initial_state_is_left_to_the_worker() -> None:
    case = StepCase(ExecutorOutcome("now"), seconds=100)
    case.workflows.publish("demo", {**definition_with_entry(), "initialState": "b"})
    started = case.workflows.start(AGENT)
    assert (started["pending"]["transition"], started["version"], list_link_names(started)) == (ON_ENTER, 1, ["self"])
    case.workflows.run_until_idle()
    assert case.workflows.get(started["workflowId"], AGENT)["context"] == {"entered": "now"}


TIMED: Mapping[str, Any] = {"timeoutMs": 60_000, "onTimeout": {"target": "late"}}


def test_a_deadline_abandons_a_failed_entry() -> None:
    case = StepCase(ExecutorOutcome(1), BROKEN).start(definition_with_entry(**TIMED))
    case.submit()
    case.advance(61)
    case.workflows.run_until_idle()
    answer = case.get()
    assert (answer["state"], answer["version"], "entering" in answer, answer["links"]) == ("late", 3, False, [])


def test_a_cancellation_abandons_a_failed_entry() -> None:
    case = StepCase(ExecutorOutcome(1), BROKEN).start(definition_with_entry())
    case.submit()
    answer = case.submit("$cancel")
    assert (answer["terminal"], "entering" in answer, answer["links"]) == (True, False, [])
    assert case.submit(ON_ENTER)["error"]["code"] == "INVALID_TRANSITION"


def test_a_deadline_is_applied_even_if_the_entry_after_it_fails() -> None:
    document = definition_with_entry(**TIMED)
    document["states"]["late"] = {"onEnter": {"executor": act()}, "transitions": {"on": {"target": "c"}}}
    case = StepCase(BROKEN, ExecutorOutcome(2)).start(document)
    case.advance(61)
    case.workflows.run_until_idle()
    answer = case.get()
    assert (answer["state"], answer["version"], answer["entering"]) == ("late", 2, "late")
    assert (answer["fault"]["transition"], list_link_names(answer)) == (ON_ENTER, [ON_ENTER])
    assert list_link_names(case.submit(ON_ENTER)) == ["on"]
    assert "fault" not in case.get()


def test_a_deadline_noticed_by_a_caller_executes_the_entry_after_it() -> None:
    document = definition_with_entry(**TIMED)
    document["states"]["late"] = {"onEnter": {"executor": act(), "output": {"told": "$.output"}}}
    case = StepCase(ExecutorOutcome("all")).start(document)
    case.advance(61)
    answer = case.submit()
    assert (answer["state"], answer["version"], answer["context"]) == ("late", 3, {"told": "all"})
    assert answer["timedOut"] is True


def definition_with_chain(length: int = 3, **settings: Any) -> Any:
    """`go`, and then as many hops that execute something."""
    names = "abcdefghij"
    states: dict[str, Any] = {"a": {"transitions": {"go": {"target": "b", "executor": act()}}}}
    for here, there in pairwise(names[1 : length + 2]):
        hop = {"target": there, "actor": "deterministic", "executor": act(**settings), "output": {here: "$.output"}}
        states[here] = {"transitions": {f"hop_{here}": hop}}
    return {"initialState": "a", "states": {**states, names[length + 1]: {"terminal": True}}}


def test_every_hop_is_claimed_executed_and_settled_before_the_next() -> None:
    seen: list[Any] = []

    def look(_: StepAttempt) -> StepOutcome:
        seen.append((case.instance.state, case.instance.version, case.instance.claim.job.chained))
        return ExecutorOutcome(len(seen))

    case = StepCase(look, look, look, look).start(definition_with_chain())
    answer = case.submit()
    assert (answer["state"], answer["version"], answer["context"]) == ("e", 5, {"b": 2, "c": 3, "d": 4})
    assert [hop["transition"] for hop in answer["chain"]] == ["hop_b", "hop_c", "hop_d"]
    assert seen == [("a", 1, 0), ("b", 2, 0), ("c", 3, 1), ("d", 4, 2)]
    assert called_steps(case) == ["go.1", "hop_b.2", "hop_c.3", "hop_d.4"]
    moves = [hop.version for hops, _ in case.workflows.instances.history(TENANT, case.id) for hop in hops]
    assert moves == [2, 3, 4, 5]
    assert case.events.count("chain.step") == 3


def test_a_failed_hop_stops_the_chain_and_keeps_earlier_hops() -> None:
    case = StepCase(ExecutorOutcome(1), ExecutorOutcome(2), BROKEN, ExecutorOutcome(4), ExecutorOutcome(5)).start(
        definition_with_chain()
    )
    refused = case.submit()
    assert (refused["error"]["code"], refused["state"], refused["version"]) == ("CHAIN_FAILED", "c", 3)
    assert (refused["fault"]["transition"], list_link_names(refused)) == ("hop_c", ["self", "hop_c"])
    answer = case.submit("hop_c")
    assert (answer["state"], answer["version"], "fault" in answer) == ("e", 5, False)
    assert called_steps(case) == ["go.1", "hop_b.2", "hop_c.3", "hop_c.3", "hop_d.4"]


def test_a_crashed_hop_is_repeated_and_the_chain_continues() -> None:
    case = StepCase(
        ExecutorOutcome(1), ExecutorCrash(), ExecutorOutcome(3), ExecutorOutcome(4), ExecutorOutcome(5)
    ).start(definition_with_chain(idempotent=True))
    case.submit_and_crash()
    assert (case.instance.state, case.instance.version) == ("b", 2)
    case.advance(LEASE_SECONDS + 1)
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.version, case.instance.claim) == ("e", 5, None)
    assert called_steps(case) == ["go.1", "hop_b.2", "hop_b.2", "hop_c.3", "hop_d.4"]
    assert {errand.principal.subject for errand in case.script.attempts} == {"agent"}
    steps = [payload["chainDepth"] for payload in case.workflows.list_payloads(case.id, "chain.step")]
    assert steps == [1, 2, 3]


def test_a_resolved_hop_continues_the_chain() -> None:
    case = StepCase(ExecutorOutcome(1), UNKNOWN_OUTCOME, ExecutorOutcome(3), ExecutorOutcome(4)).start(
        definition_with_chain()
    )
    refused = case.submit()
    assert (refused["error"]["code"], refused["inDoubt"]["transition"]) == ("CHAIN_FAILED", "hop_b")
    answer = case.submit_override("$resolve", happened=True, output=2)
    assert (answer["state"], answer["context"]) == ("e", {"b": 2, "c": 3, "d": 4})
    assert {errand.principal.subject for errand in case.script.attempts} == {"agent"}


def test_a_chain_without_time_left_is_continued_by_the_worker() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.advance(10)
        return ExecutorOutcome()

    case = StepCase(slow, slow, slow, slow, seconds=10).start(definition_with_chain())
    answer = case.submit()
    assert (answer["state"], answer["version"]) == ("c", 3)
    assert (answer["pending"]["on"], answer["pending"]["transition"]) == ("chain", "hop_c")
    assert (list_link_names(answer), len(case.script.attempts)) == (["self"], 2)
    case.workflows.run_until_idle()
    assert (case.instance.state, case.instance.version) == ("e", 5)
    assert called_steps(case) == ["go.1", "hop_b.2", "hop_c.3", "hop_d.4"]


def test_the_limit_of_a_chain_counts_hops_across_processes() -> None:
    spin = {"target": "b", "actor": "deterministic", "executor": act(idempotent=True)}
    states = {
        "a": {"transitions": {"go": {"target": "b"}}},
        "b": {"transitions": {"spin": spin}},
    }
    crashing = [ExecutorOutcome(), ExecutorCrash(), ExecutorOutcome(), ExecutorOutcome()]
    case = StepCase(*crashing).start({"initialState": "a", "maxChainDepth": 3, "states": states})
    case.submit_and_crash()
    case.advance(LEASE_SECONDS + 1)
    case.workflows.run_until_idle()
    assert (case.instance.version, case.instance.claim, case.script.entries) == (5, None, [])


def test_a_move_without_an_executor_is_saved_with_the_claim_of_the_next_hop() -> None:
    document = definition_with_chain()
    del document["states"]["a"]["transitions"]["go"]["executor"]
    case = StepCase(ExecutorCrash()).start(document)
    case.submit_and_crash()
    assert (case.instance.state, case.instance.version, case.instance.claim.job.transition) == ("b", 2, "hop_b")
    assert case.instance.claim.until == case.workflows.clock.now() + LEASE_SECONDS
    assert CALL_SECONDS > ATTEMPT_SECONDS


def test_a_chain_in_doubt_is_shown_and_claimed_for_its_submitter() -> None:
    case = StepCase(ExecutorOutcome(1), UNKNOWN_OUTCOME).start(definition_with_chain())
    case.submit(by=Principal("other", TENANT, "t"))
    assert case.get()["inDoubt"]
    assert case.instance.claim.job.principal.subject == "other"


def test_the_evidence_of_each_hop_is_written_once_with_its_hop() -> None:
    def scanned(errand: StepAttempt) -> StepOutcome:
        return ExecutorOutcome(1, [EvidenceItem("scan", "agent", {"step": errand.step})])

    case = StepCase(scanned, scanned, scanned, scanned).start(definition_with_chain())
    case.submit()
    told = case.workflows.instances.history(TENANT, case.id)
    assert [[hop.version for hop in hops] for hops, _ in told] == [[], [2], [3], [4], [5]]
    assert [len(evidence) for _, evidence in told] == [0, 1, 1, 1, 1]
    assert case.instance.evidence["scan"].count == 4


def test_a_failed_entry_after_a_hop_stops_the_chain_and_is_linked() -> None:
    document = definition_with_chain(1)
    document["states"]["c"] = {"onEnter": {"executor": act()}, "transitions": {"on": {"target": "b"}}}
    case = StepCase(ExecutorOutcome(1), ExecutorOutcome(2), BROKEN, ExecutorOutcome(4)).start(document)
    refused = case.submit()
    assert (refused["error"]["code"], refused["state"], refused["version"]) == ("CHAIN_FAILED", "c", 3)
    assert list_link_names(refused) == ["self", ON_ENTER]
    assert list_link_names(case.submit(ON_ENTER)) == ["on"]
    assert called_steps(case) == ["go.1", "hop_b.2", "on_enter.3", "on_enter.3"]
