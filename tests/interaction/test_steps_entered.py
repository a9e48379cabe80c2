"""States that do something on being entered, chains that execute something at every hop, and what breaks them."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from signpost.model import Principal
from signpost.workflow.engine.steps import ON_ENTER, ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.ports import StepAttempt, StepOutcome
from tests.support.machines import Crash
from tests.support.step_cases import AGENT, LEASE, SECONDS, UNKNOWN, Case, linked
from tests.support.workshop import CALL, TENANT

BROKEN = ExecutorFailure("permanent_error", "Never.")


def act(**settings: Any) -> Any:
    return {"kind": "act", "idempotencyKey": True, **settings}


def entering(*, acts: bool = True, settings: Any = None, **more: Any) -> Any:
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


def called(case: Case) -> list[str]:
    return [str(key).split(".", 1)[1] for key in case.keys]


def test_a_move_and_what_its_target_does_are_two_steps() -> None:
    versions: list[int] = []

    def look(_: StepAttempt) -> StepOutcome:
        versions.append(case.stand.version)
        assert case.stand.claim.job.transition in ("go", ON_ENTER)
        return ExecutorOutcome(len(versions))

    case = Case(look, look).begun(entering())
    answer = case.go()
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 3, {"went": True, "entered": 2})
    assert (versions, called(case), linked(answer)) == ([1, 2], ["go.1", "on_enter.2"], ["on"])


def test_what_could_not_be_entered_stands_where_it_moved_and_owes_the_entry() -> None:
    case = Case(ExecutorOutcome(1), BROKEN, BROKEN, ExecutorOutcome(4)).begun(entering())
    refused = case.go()
    assert (refused["error"]["code"], refused["state"], refused["version"]) == ("EXECUTOR_FAILED", "b", 2)
    assert (refused["entering"], refused["context"]) == ("b", {"went": True})
    assert linked(refused) == ["self", ON_ENTER]
    assert linked(case.get()) == [ON_ENTER]
    assert case.go("on")["error"]["code"] == "INVALID_TRANSITION"
    again = case.go(ON_ENTER)
    assert (again["error"]["code"], again["version"], linked(again)) == ("EXECUTOR_FAILED", 2, ["self", ON_ENTER])
    (link,) = case.get()["links"]
    entered = case.go(ON_ENTER, arguments=link["args"]["arguments"], version=link["args"]["expectedVersion"])
    assert (entered["state"], entered["version"], entered["context"]) == ("b", 3, {"went": True, "entered": 4})
    assert ("entering" in entered, linked(entered)) == (False, ["on"])
    assert called(case) == ["go.1", "on_enter.2", "on_enter.2", "on_enter.2"]
    assert case.events.count("workflow.transitioned") == 1
    assert case.events.count("workflow.entered") == 1


def test_an_entry_whose_outcome_nobody_knows_is_in_doubt_and_the_move_is_not() -> None:
    case = Case(ExecutorOutcome(1), UNKNOWN, ExecutorOutcome(3)).begun(entering())
    refused = case.go()
    assert (refused["state"], refused["version"], refused["inDoubt"]["transition"]) == ("b", 2, ON_ENTER)
    assert linked(refused) == ["self"]
    answer = case.order("$retry")
    assert (answer["version"], answer["context"]["entered"], linked(answer)) == (3, 3, ["on"])
    assert called(case) == ["go.1", "on_enter.2", "on_enter.2"]


def test_what_came_of_an_entry_can_be_said() -> None:
    for happened, version, shown in ((True, 3, ["on"]), (False, 2, [ON_ENTER])):
        case = Case(ExecutorOutcome(1), UNKNOWN).begun(entering())
        case.go()
        answer = case.order("$resolve", happened=happened, output="said")
        assert (answer["version"], linked(answer)) == (version, shown)
        assert answer["context"].get("entered") == ("said" if happened else None)


def test_an_entry_that_crashed_is_taken_up_alone() -> None:
    case = Case(ExecutorOutcome(1), Crash(), ExecutorOutcome(3)).begun(entering(settings={"idempotent": True}))
    case.crashes()
    assert (case.stand.state, case.stand.version, case.stand.entering) == ("b", 2, True)
    case.wait(LEASE + 1)
    case.shop.settle()
    assert (case.stand.version, case.stand.context) == (3, {"went": True, "entered": 3})
    assert called(case) == ["go.1", "on_enter.2", "on_enter.2"]


def test_where_nothing_was_done_for_the_move_it_stands_with_its_entry_or_not_at_all() -> None:
    case = Case(BROKEN, UNKNOWN, ExecutorOutcome(3)).begun(entering(acts=False))
    before = case.stand
    refused = case.go()
    assert (refused["error"]["code"], case.stand) == ("EXECUTOR_FAILED", replace(before, releases=1))
    assert case.go()["inDoubt"]["transition"] == "go"
    assert (case.stand.state, case.stand.version) == ("a", 1)
    answer = case.order("$retry")
    assert (answer["state"], answer["version"], answer["context"]) == ("b", 2, {"went": True, "entered": 3})
    assert called(case) == ["on_enter.1"] * 3


def test_the_first_state_stands_whatever_becomes_of_what_it_does() -> None:
    document: Mapping[str, Any] = {**entering(), "initialState": "b"}
    case = Case(BROKEN, ExecutorOutcome("now")).begun(document)
    assert (case.stand.version, case.stand.entering) == (1, True)
    assert linked(case.get()) == [ON_ENTER]
    answer = case.go(ON_ENTER)
    assert (answer["version"], answer["context"], linked(answer)) == (2, {"entered": "now"}, ["on"])
    assert called(case) == ["on_enter.1"] * 2


def test_the_first_entry_is_done_by_whoever_has_the_time_and_the_start_says_so() -> None:
    case = Case(ExecutorOutcome("now"), seconds=100)
    case.shop.publish("demo", {**entering(), "initialState": "b"})
    started = case.shop.start(AGENT)
    assert (started["pending"]["transition"], started["version"], linked(started)) == (ON_ENTER, 1, ["self"])
    case.shop.settle()
    assert case.shop.get(started["workflowId"], AGENT)["context"] == {"entered": "now"}


TIMED: Mapping[str, Any] = {"timeoutMs": 60_000, "onTimeout": {"target": "late"}}


def test_a_deadline_leaves_an_entry_that_is_owed() -> None:
    case = Case(ExecutorOutcome(1), BROKEN).begun(entering(**TIMED))
    case.go()
    case.wait(61)
    case.shop.settle()
    answer = case.get()
    assert (answer["state"], answer["version"], "entering" in answer, answer["links"]) == ("late", 3, False, [])


def test_whoever_cancels_leaves_an_entry_that_is_owed() -> None:
    case = Case(ExecutorOutcome(1), BROKEN).begun(entering())
    case.go()
    answer = case.go("$cancel")
    assert (answer["terminal"], "entering" in answer, answer["links"]) == (True, False, [])
    assert case.go(ON_ENTER)["error"]["code"] == "INVALID_TRANSITION"


def test_a_deadline_is_kept_though_what_follows_it_fails() -> None:
    document = entering(**TIMED)
    document["states"]["late"] = {"onEnter": {"executor": act()}, "transitions": {"on": {"target": "c"}}}
    case = Case(BROKEN, ExecutorOutcome(2)).begun(document)
    case.wait(61)
    case.shop.settle()
    answer = case.get()
    assert (answer["state"], answer["version"], answer["entering"]) == ("late", 2, "late")
    assert (answer["fault"]["transition"], linked(answer)) == (ON_ENTER, [ON_ENTER])
    assert linked(case.go(ON_ENTER)) == ["on"]
    assert "fault" not in case.get()


def test_a_deadline_that_a_caller_notices_executes_what_follows_it() -> None:
    document = entering(**TIMED)
    document["states"]["late"] = {"onEnter": {"executor": act(), "output": {"told": "$.output"}}}
    case = Case(ExecutorOutcome("all")).begun(document)
    case.wait(61)
    answer = case.go()
    assert (answer["state"], answer["version"], answer["context"]) == ("late", 3, {"told": "all"})
    assert answer["timedOut"] is True


def chain(length: int = 3, **settings: Any) -> Any:
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
        seen.append((case.stand.state, case.stand.version, case.stand.claim.job.chained))
        return ExecutorOutcome(len(seen))

    case = Case(look, look, look, look).begun(chain())
    answer = case.go()
    assert (answer["state"], answer["version"], answer["context"]) == ("e", 5, {"b": 2, "c": 3, "d": 4})
    assert [hop["transition"] for hop in answer["chain"]] == ["hop_b", "hop_c", "hop_d"]
    assert seen == [("a", 1, 0), ("b", 2, 0), ("c", 3, 1), ("d", 4, 2)]
    assert called(case) == ["go.1", "hop_b.2", "hop_c.3", "hop_d.4"]
    moves = [hop.version for hops, _ in case.shop.instances.history(TENANT, case.id) for hop in hops]
    assert moves == [2, 3, 4, 5]
    assert case.events.count("chain.step") == 3


def test_a_hop_that_fails_breaks_the_chain_and_what_was_done_stands() -> None:
    case = Case(ExecutorOutcome(1), ExecutorOutcome(2), BROKEN, ExecutorOutcome(4), ExecutorOutcome(5)).begun(chain())
    refused = case.go()
    assert (refused["error"]["code"], refused["state"], refused["version"]) == ("CHAIN_FAILED", "c", 3)
    assert (refused["fault"]["transition"], linked(refused)) == ("hop_c", ["self", "hop_c"])
    answer = case.go("hop_c")
    assert (answer["state"], answer["version"], "fault" in answer) == ("e", 5, False)
    assert called(case) == ["go.1", "hop_b.2", "hop_c.3", "hop_c.3", "hop_d.4"]


def test_a_hop_that_crashed_is_taken_up_and_the_chain_goes_on() -> None:
    case = Case(ExecutorOutcome(1), Crash(), ExecutorOutcome(3), ExecutorOutcome(4), ExecutorOutcome(5)).begun(
        chain(idempotent=True)
    )
    case.crashes()
    assert (case.stand.state, case.stand.version) == ("b", 2)
    case.wait(LEASE + 1)
    case.shop.settle()
    assert (case.stand.state, case.stand.version, case.stand.claim) == ("e", 5, None)
    assert called(case) == ["go.1", "hop_b.2", "hop_b.2", "hop_c.3", "hop_d.4"]
    assert {errand.principal.subject for errand in case.script.errands} == {"agent"}
    steps = [payload["chainDepth"] for payload in case.shop.payloads(case.id, "chain.step")]
    assert steps == [1, 2, 3]


def test_a_hop_in_doubt_is_resolved_and_the_chain_goes_on() -> None:
    case = Case(ExecutorOutcome(1), UNKNOWN, ExecutorOutcome(3), ExecutorOutcome(4)).begun(chain())
    refused = case.go()
    assert (refused["error"]["code"], refused["inDoubt"]["transition"]) == ("CHAIN_FAILED", "hop_b")
    answer = case.order("$resolve", happened=True, output=2)
    assert (answer["state"], answer["context"]) == ("e", {"b": 2, "c": 3, "d": 4})
    assert {errand.principal.subject for errand in case.script.errands} == {"agent"}


def test_a_chain_that_has_not_the_time_goes_on_where_there_is_more() -> None:
    def slow(_: StepAttempt) -> StepOutcome:
        case.wait(10)
        return ExecutorOutcome()

    case = Case(slow, slow, slow, slow, seconds=10).begun(chain())
    answer = case.go()
    assert (answer["state"], answer["version"]) == ("c", 3)
    assert (answer["pending"]["on"], answer["pending"]["transition"]) == ("chain", "hop_c")
    assert (linked(answer), len(case.script.errands)) == (["self"], 2)
    case.shop.settle()
    assert (case.stand.state, case.stand.version) == ("e", 5)
    assert called(case) == ["go.1", "hop_b.2", "hop_c.3", "hop_d.4"]


def test_hops_are_counted_over_all_who_make_them() -> None:
    spin = {"target": "b", "actor": "deterministic", "executor": act(idempotent=True)}
    states = {
        "a": {"transitions": {"go": {"target": "b"}}},
        "b": {"transitions": {"spin": spin}},
    }
    crashing = [ExecutorOutcome(), Crash(), ExecutorOutcome(), ExecutorOutcome()]
    case = Case(*crashing).begun({"initialState": "a", "maxChainDepth": 3, "states": states})
    case.crashes()
    case.wait(LEASE + 1)
    case.shop.settle()
    assert (case.stand.version, case.stand.claim, case.script.entries) == (5, None, [])


def test_a_move_that_executes_nothing_is_saved_with_the_claim_of_what_follows() -> None:
    document = chain()
    del document["states"]["a"]["transitions"]["go"]["executor"]
    case = Case(Crash()).begun(document)
    case.crashes()
    assert (case.stand.state, case.stand.version, case.stand.claim.job.transition) == ("b", 2, "hop_b")
    assert case.stand.claim.until == case.shop.clock.now() + LEASE
    assert CALL > SECONDS


def test_whoever_did_not_start_it_sees_of_a_chain_what_everybody_sees() -> None:
    case = Case(ExecutorOutcome(1), UNKNOWN).begun(chain())
    case.go(by=Principal("other", TENANT, "t"))
    assert case.get()["inDoubt"]
    assert case.stand.claim.job.principal.subject == "other"


def test_what_each_hop_gives_is_told_once_and_with_it() -> None:
    def scanned(errand: StepAttempt) -> StepOutcome:
        return ExecutorOutcome(1, [EvidenceItem("scan", "agent", {"step": errand.step})])

    case = Case(scanned, scanned, scanned, scanned).begun(chain())
    case.go()
    told = case.shop.instances.history(TENANT, case.id)
    assert [[hop.version for hop in hops] for hops, _ in told] == [[], [2], [3], [4], [5]]
    assert [len(evidence) for _, evidence in told] == [0, 1, 1, 1, 1]
    assert case.stand.evidence["scan"].count == 4


def test_a_hop_whose_target_cannot_be_entered_breaks_the_chain_and_owes_the_entry() -> None:
    document = chain(1)
    document["states"]["c"] = {"onEnter": {"executor": act()}, "transitions": {"on": {"target": "b"}}}
    case = Case(ExecutorOutcome(1), ExecutorOutcome(2), BROKEN, ExecutorOutcome(4)).begun(document)
    refused = case.go()
    assert (refused["error"]["code"], refused["state"], refused["version"]) == ("CHAIN_FAILED", "c", 3)
    assert linked(refused) == ["self", ON_ENTER]
    assert linked(case.go(ON_ENTER)) == ["on"]
    assert called(case) == ["go.1", "hop_b.2", "on_enter.3", "on_enter.3"]
