"""`signpost workflow timeline` and `graph` of steps that execute: under way, in doubt, repeated and resolved."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from signpost.cli.runs.timeline import SENTENCES, build_timeline
from signpost.workflow.engine.permissions import CANCEL, RESOLVE, RETRY
from signpost.workflow.engine.steps import ON_ENTER, ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.pictures.model import build_picture, render_mermaid, trail_of
from signpost.workflow.pictures.svg import render_svg
from signpost.workflow.ports import StepAttempt
from tests.support.machines import Crash, Script
from tests.support.step_cases import AGENT, CONSENT, LEASE, UNKNOWN, Case, executing
from tests.support.workflow_world import TENANT

EVENTS = (Path(__file__).resolve().parents[4] / "docs/events.md").read_text()
BROKEN = ExecutorFailure("permanent_error", "Never.")
BUSY = ExecutorFailure("transient_error", "Not now.")
TRY = "attempt 1 by an executor of the kind act"


def timeline(case: Case) -> tuple[list[str], list[str]]:
    """How it stands, and what has happened, without who and when."""
    found = case.shop.definitions.find_current(TENANT, "demo")
    assert found is not None
    events = case.shop.instances.audit(TENANT, case.id)
    steps = case.shop.instances.history(TENANT, case.id)
    lines = build_timeline(found.definition, case.stand, events, steps, case.shop.clock.now())
    after = lines.index("")
    return list(lines[1:after]), [line.strip() for line in lines[after + 1 :] if line.startswith(" ")]


def crashed(case: Case) -> Case:
    case.crashes()
    return case


def test_what_waits_for_somebody_with_more_time_is_under_way() -> None:
    case = Case(ExecutorOutcome("done"), seconds=100).begun()
    case.go()
    stand, happened = timeline(case)
    assert stand == ["is in a, version 1", "under way: go: waits for a free worker"]
    assert happened == ["1  started in a", "go: continues in the background"]
    case.shop.settle()
    assert timeline(case)[0] == ["ended in b, version 2"]


def test_what_is_executed_is_under_way_and_until_when_at_most() -> None:
    case = crashed(Case(Crash()).begun())
    assert timeline(case)[0] == [
        "is in a, version 1",
        "under way: go, attempt 1, since 2027-01-15 08:00:00Z, until 2027-01-15 08:00:20Z at the latest",
    ]


def test_a_retry_says_when_it_is_made_and_why() -> None:
    retry = {"maxAttempts": 2, "backoff": "fixed", "initialDelayMs": 600_000}
    document = executing(reliability={"retry": retry})
    case = Case(BUSY, ExecutorOutcome("done")).begun(document)
    case.go()
    stand, happened = timeline(case)
    assert stand[1:] == ["under way: go: attempt 2 is made at 2027-01-15 08:10:00Z"]
    assert happened[1:] == [f"go: {TRY} failed (transient_error): Not now; it is retried"]


def test_a_fallback_is_told_with_what_went_before() -> None:
    document = executing(reliability={"fallback": {"executors": [{"kind": "act"}]}})
    case = Case(BROKEN, ExecutorOutcome("done")).begun(document)
    case.go()
    assert timeline(case)[1][1:] == [
        f"go: {TRY} failed (permanent_error): Never.",
        "go: fallback 1, an executor of the kind act is used instead",
        "go: an executor of the kind act succeeded",
        "2  go: a → b",
        "ended in b",
    ]


def test_a_take_over_is_told() -> None:
    document = executing(reliability=CONSENT)
    case = crashed(Case(Crash(), ExecutorOutcome("done")).begun(document))
    case.wait(LEASE + 1)
    assert timeline(case)[0][1:] == ["under way: go: its worker stopped responding, and another worker takes it over"]
    case.shop.settle()
    assert timeline(case)[1][1:3] == [
        "go: taken over, because its worker stopped responding",
        "go: an executor of the kind act succeeded",
    ]


def test_what_was_lost_is_in_doubt_and_the_command_is_named() -> None:
    case = crashed(Case(Crash()).begun())
    case.wait(LEASE + 1)
    in_doubt = f"in doubt: go, executed at 2027-01-15 08:00:00Z: decide with `signpost workflow resolve {case.id}`"
    assert timeline(case)[0][1:] == [in_doubt]
    case.shop.settle()
    stand, happened = timeline(case)
    assert stand[1:] == [in_doubt]
    assert happened[-1] == "go: in doubt; decide with `signpost workflow resolve`"


@pytest.mark.parametrize(
    ("happened", "follows"),
    [
        (True, ["rosa recorded that it has happened", "2  go: a → b", "ended in b"]),
        (False, ["rosa recorded that it has not happened"]),
    ],
)
def test_what_was_said_of_a_doubt_is_told_with_who_said_it(happened: bool, follows: list[str]) -> None:
    case = Case(UNKNOWN, UNKNOWN).begun()
    case.go()
    case.order(RETRY)
    case.wait(LEASE)
    case.order(RESOLVE, happened=happened)
    in_doubt = [
        f"go: {TRY} failed (timeout), and may have happened: It was not heard of again.",
        "go: in doubt; decide with `signpost workflow resolve`",
    ]
    assert timeline(case)[1][1:] == [*in_doubt, "rosa requested another execution", *in_doubt, *follows]


def test_what_went_wrong_while_nobody_was_waiting_is_told_first() -> None:
    case = Case(BROKEN, seconds=100).begun()
    case.go()
    case.shop.settle()
    assert timeline(case)[0][1:] == ["failed at 2027-01-15 08:00:00Z, in the background: Never."]


def test_an_entry_that_is_owed_and_then_done_is_told_with_its_evidence() -> None:
    def seen(_: StepAttempt) -> ExecutorOutcome:
        return ExecutorOutcome(None, [EvidenceItem("receipt", "agent", {"n": 7})])

    document = executing()
    document["states"]["b"] = {"onEnter": {"executor": {"kind": "act"}}, "terminal": True}
    case = Case(ExecutorOutcome(), BROKEN, seen).begun(document)
    case.go()
    assert timeline(case)[0] == [
        "is in b, version 2",
        "the entry action of b has not completed yet",
    ]
    case.go(ON_ENTER)
    stand, happened = timeline(case)
    assert stand == ["ended in b, version 3"]
    assert happened[-4:] == [
        "on_enter: an executor of the kind act succeeded",
        "3  b: entry action completed",
        "ended in b",
        "evidence: receipt by agent (n 7)",
    ]
    assert not [line for line in happened[:-1] if "evidence" in line]


def test_the_evidence_of_every_hop_is_told() -> None:
    def seen(errand: StepAttempt) -> ExecutorOutcome:
        return ExecutorOutcome(None, [EvidenceItem("scan", "agent", {"of": errand.instance.state})])

    hop = {"target": "late", "actor": "deterministic", "executor": {"kind": "act"}}
    document = executing()
    document["states"]["b"] = {"transitions": {"on": hop}}
    case = Case(seen, seen).begun(document)
    case.go()
    found = [line for line in timeline(case)[1] if "evidence" in line]
    assert found == ["evidence: scan by agent (of a)", "evidence: scan by agent (of b)"]


def test_who_cancelled_it_is_told_and_what_was_left() -> None:
    case = Case(seconds=100).begun()
    case.go()
    case.go(CANCEL)
    stand, happened = timeline(case)
    assert stand == ["was cancelled by agent in a, version 2"]
    assert happened[-2:] == ["2  cancelled in a", "go: abandoned (its result is not used)"]


def test_a_workflow_that_is_waited_for_is_named() -> None:
    document = executing()
    document["states"]["a"]["transitions"]["go"]["executor"] = {"kind": "workflow", "definitionId": "child"}
    case = Case()
    case.shop.publish("child", executing())
    case.begun(document)
    waited_for = case.go()["pending"]["workflowId"]
    stand, happened = timeline(case)
    assert stand[1:] == [f"under way: go, since 2027-01-15 08:00:00Z: waits for the workflow {waited_for}"]
    assert happened[1:] == [f"started the workflow {waited_for} (child)"]
    case.shop.submit(waited_for, CANCEL, AGENT)
    case.shop.settle()
    assert f"{waited_for} failed in a" in timeline(case)[1]


def test_a_deadline_waits_for_what_is_in_doubt_and_says_so() -> None:
    document = executing(timeoutMs=60_000, onTimeout={"target": "late"})
    case = Case(UNKNOWN).begun(document)
    assert timeline(case)[0][1:] == ["times out at 2027-01-15 08:01:00Z, and moves to late"]
    case.go()
    assert timeline(case)[0][2:] == ["times out at 2027-01-15 08:01:00Z, but not before this step is settled"]


def test_there_are_words_for_every_event_of_a_step() -> None:
    (table,) = re.findall(r"^\| detail-type \| what happened .*?\n\n", EVENTS, re.MULTILINE | re.DOTALL)
    kinds = {name for row in table.strip().splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    assert len(kinds) > 20
    assert kinds - SENTENCES.keys() == {"workflow.transitioned"}


def pictures(case: Case) -> tuple[str, str]:
    """As Mermaid and as SVG."""
    found = case.shop.definitions.find_current(TENANT, "demo")
    assert found is not None
    hops = [hop for taken, _ in case.shop.instances.history(TENANT, case.id) for hop in taken]
    picture = build_picture(found.definition, trail_of(case.stand, hops, case.shop.clock.now()))
    return render_mermaid(picture), render_svg(picture)


def stays(_: Case) -> None:
    """Nothing happens."""


def waiting(case: Case) -> None:
    case.shop.machines["act"] = Script(ExecutorOutcome(), seconds=100)
    case.go()


def failing(case: Case) -> None:
    case.go()


def cancelled(case: Case) -> None:
    case.go(CANCEL)


def owing(case: Case) -> None:
    document = executing()
    document["states"]["a"]["onEnter"] = {"executor": {"kind": "act"}}
    case.begun(document)


HOW: Mapping[Callable[[Case], None], str] = {
    stays: "now",
    waiting: "now, under way",
    failing: "now, in doubt",
    owing: "now, not entered yet",
    cancelled: "cancelled",
}


@pytest.mark.parametrize(("happens", "words"), HOW.items())
def test_a_picture_says_how_it_stands_where_it_stands(happens: Callable[[Case], None], words: str) -> None:
    case = Case(BROKEN if happens is owing else UNKNOWN).begun()
    happens(case)
    text, svg = pictures(case)
    assert f'state "a, {words}" as s1' in text
    assert f"<title>a, {words}</title>" in svg
    assert text.count("now") + text.count("cancelled") == 1
