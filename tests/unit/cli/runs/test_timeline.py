"""`signpost workflow timeline` and `graph` of steps that execute: under way, in doubt, repeated and resolved."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from signpost.cli.runs.timeline import SENTENCES, build_timeline
from signpost.workflow.engine.permissions import ANSWER, CANCEL, RESOLVE, RETRY
from signpost.workflow.engine.steps import ON_ENTER, ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import EvidenceItem
from signpost.workflow.pictures.mermaid import render_mermaid
from signpost.workflow.pictures.model import build_picture, trail_of
from signpost.workflow.pictures.svg import render_svg
from signpost.workflow.ports import Deferral, StepAttempt
from signpost.workflow.step_questions import StepQuestions
from tests.support.gateway_workflows import TENANT
from tests.support.played_executors import ExecutorCrash, ScriptedExecutor
from tests.support.step_cases import AGENT, CONSENT, LEASE_SECONDS, UNKNOWN_OUTCOME, StepCase, define_step

EVENTS = (Path(__file__).resolve().parents[4] / "docs/events.md").read_text()
BROKEN = ExecutorFailure("permanent_error", "Never.")
BUSY = ExecutorFailure("transient_error", "Not now.")
ASKING = Deferral(0.0, "answers", questions=StepQuestions("q", {"root": {"method": "roots/list"}}))
FIRST_TRY = "attempt 1 by an executor of the kind act"


def timeline(case: StepCase) -> tuple[list[str], list[str]]:
    """How it stands, and what has happened, without who and when."""
    found = case.workflows.definitions.find_current(TENANT, "demo")
    assert found is not None
    events = case.workflows.instances.audit(TENANT, case.id)
    steps = case.workflows.instances.history(TENANT, case.id)
    lines = build_timeline(found.definition, case.instance, events, steps, case.workflows.clock.now())
    after = lines.index("")
    return list(lines[1:after]), [line.strip() for line in lines[after + 1 :] if line.startswith(" ")]


def crash(case: StepCase) -> StepCase:
    case.submit_and_crash()
    return case


def test_a_deferred_execution_is_shown_as_under_way() -> None:
    case = StepCase(ExecutorOutcome("done"), seconds=100).start()
    case.submit()
    stand, happened = timeline(case)
    assert stand == ["is in a, version 1", "under way: go: waits for a free worker"]
    assert happened == ["1  started in a", "go: continues in the background"]
    case.workflows.run_until_idle()
    assert timeline(case)[0] == ["ended in b, version 2"]


def test_a_step_that_asks_is_shown_with_its_rounds() -> None:
    case = StepCase(ASKING, ExecutorOutcome("done")).start()
    case.submit()
    assert timeline(case)[0][1:] == ["under way: go, since 2027-01-15 08:00:00Z: waits for answers to its questions"]
    case.submit(ANSWER, arguments={"root": {"roots": []}})
    assert timeline(case)[1] == [
        "1  started in a",
        "go: asked a question",
        "agent answered a question of go",
        "go: an executor of the kind act succeeded",
        "2  go: a → b",
        "ended in b",
    ]


def test_a_running_execution_is_shown_with_the_end_of_its_lease() -> None:
    case = crash(StepCase(ExecutorCrash()).start())
    assert timeline(case)[0] == [
        "is in a, version 1",
        "under way: go, attempt 1, since 2027-01-15 08:00:00Z, until 2027-01-15 08:00:20Z at the latest",
    ]


def test_a_retry_is_shown_with_its_time_and_reason() -> None:
    retry = {"maxAttempts": 2, "backoff": "fixed", "initialDelayMs": 600_000}
    document = define_step(reliability={"retry": retry})
    case = StepCase(BUSY, ExecutorOutcome("done")).start(document)
    case.submit()
    stand, happened = timeline(case)
    assert stand[1:] == ["under way: go: attempt 2 is made at 2027-01-15 08:10:00Z"]
    assert happened[1:] == [f"go: {FIRST_TRY} failed (transient_error): Not now; it is retried"]


def test_a_fallback_is_shown_after_the_failed_attempt() -> None:
    document = define_step(reliability={"fallback": {"executors": [{"kind": "act"}]}})
    case = StepCase(BROKEN, ExecutorOutcome("done")).start(document)
    case.submit()
    assert timeline(case)[1][1:] == [
        f"go: {FIRST_TRY} failed (permanent_error): Never.",
        "go: fallback 1, an executor of the kind act is used instead",
        "go: an executor of the kind act succeeded",
        "2  go: a → b",
        "ended in b",
    ]


def test_a_takeover_is_shown() -> None:
    document = define_step(reliability=CONSENT)
    case = crash(StepCase(ExecutorCrash(), ExecutorOutcome("done")).start(document))
    case.advance(LEASE_SECONDS + 1)
    assert timeline(case)[0][1:] == ["under way: go: its worker stopped responding, and another worker takes it over"]
    case.workflows.run_until_idle()
    assert timeline(case)[1][1:3] == [
        "go: taken over, because its worker stopped responding",
        "go: an executor of the kind act succeeded",
    ]


def test_a_lost_execution_is_shown_in_doubt_with_the_command_to_run() -> None:
    case = crash(StepCase(ExecutorCrash()).start())
    case.advance(LEASE_SECONDS + 1)
    in_doubt = f"in doubt: go, executed at 2027-01-15 08:00:00Z: decide with `signpost workflow resolve {case.id}`"
    assert timeline(case)[0][1:] == [in_doubt]
    case.workflows.run_until_idle()
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
def test_a_resolution_is_shown_with_its_principal(happened: bool, follows: list[str]) -> None:
    case = StepCase(UNKNOWN_OUTCOME, UNKNOWN_OUTCOME).start()
    case.submit()
    case.submit_override(RETRY)
    case.advance(LEASE_SECONDS)
    case.submit_override(RESOLVE, happened=happened)
    in_doubt = [
        f"go: {FIRST_TRY} failed (timeout), and may have happened: It was not heard of again.",
        "go: in doubt; decide with `signpost workflow resolve`",
    ]
    assert timeline(case)[1][1:] == [*in_doubt, "rosa requested another execution", *in_doubt, *follows]


def test_a_failure_without_a_waiting_caller_is_shown_first() -> None:
    case = StepCase(BROKEN, seconds=100).start()
    case.submit()
    case.workflows.run_until_idle()
    assert timeline(case)[0][1:] == ["failed at 2027-01-15 08:00:00Z, in the background: Never."]


def test_a_pending_and_then_completed_entry_is_shown_with_its_evidence() -> None:
    def seen(_: StepAttempt) -> ExecutorOutcome:
        return ExecutorOutcome(None, [EvidenceItem("receipt", "agent", {"n": 7})])

    document = define_step()
    document["states"]["b"] = {"onEnter": {"executor": {"kind": "act"}}, "terminal": True}
    case = StepCase(ExecutorOutcome(), BROKEN, seen).start(document)
    case.submit()
    assert timeline(case)[0] == [
        "is in b, version 2",
        "the entry action of b has not completed yet",
    ]
    case.submit(ON_ENTER)
    stand, happened = timeline(case)
    assert stand == ["ended in b, version 3"]
    assert happened[-4:] == [
        "on_enter: an executor of the kind act succeeded",
        "3  b: entry action completed",
        "ended in b",
        "evidence: receipt by agent (n 7)",
    ]
    assert not [line for line in happened[:-1] if "evidence" in line]


def test_the_evidence_of_every_hop_is_shown() -> None:
    def seen(errand: StepAttempt) -> ExecutorOutcome:
        return ExecutorOutcome(None, [EvidenceItem("scan", "agent", {"of": errand.instance.state})])

    hop = {"target": "late", "actor": "deterministic", "executor": {"kind": "act"}}
    document = define_step()
    document["states"]["b"] = {"transitions": {"on": hop}}
    case = StepCase(seen, seen).start(document)
    case.submit()
    found = [line for line in timeline(case)[1] if "evidence" in line]
    assert found == ["evidence: scan by agent (of a)", "evidence: scan by agent (of b)"]


def test_a_cancellation_is_shown_with_its_principal_and_the_dropped_step() -> None:
    case = StepCase(seconds=100).start()
    case.submit()
    case.submit(CANCEL)
    stand, happened = timeline(case)
    assert stand == ["was cancelled by agent in a, version 2"]
    assert happened[-2:] == ["2  cancelled in a", "go: abandoned (its result is not used)"]


def test_a_child_workflow_is_named_while_its_parent_waits() -> None:
    document = define_step()
    document["states"]["a"]["transitions"]["go"]["executor"] = {"kind": "workflow", "definitionId": "child"}
    case = StepCase()
    case.workflows.publish("child", define_step())
    case.start(document)
    waited_for = case.submit()["pending"]["workflowId"]
    stand, happened = timeline(case)
    assert stand[1:] == [f"under way: go, since 2027-01-15 08:00:00Z: waits for the workflow {waited_for}"]
    assert happened[1:] == [f"started the workflow {waited_for} (child)"]
    case.workflows.submit(waited_for, CANCEL, AGENT)
    case.workflows.run_until_idle()
    assert f"{waited_for} failed in a" in timeline(case)[1]


def test_a_deadline_is_shown_as_waiting_for_a_claim_in_doubt() -> None:
    document = define_step(timeoutMs=60_000, onTimeout={"target": "late"})
    case = StepCase(UNKNOWN_OUTCOME).start(document)
    assert timeline(case)[0][1:] == ["times out at 2027-01-15 08:01:00Z, and moves to late"]
    case.submit()
    assert timeline(case)[0][2:] == ["times out at 2027-01-15 08:01:00Z, but not before this step is settled"]


def test_every_event_of_a_step_has_a_sentence() -> None:
    (table,) = re.findall(r"^\| detail-type \| what happened .*?\n\n", EVENTS, re.MULTILINE | re.DOTALL)
    kinds = {name for row in table.strip().splitlines()[2:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
    assert len(kinds) > 20
    assert kinds - SENTENCES.keys() == {"workflow.transitioned"}


def pictures(case: StepCase) -> tuple[str, str]:
    """As Mermaid and as SVG."""
    found = case.workflows.definitions.find_current(TENANT, "demo")
    assert found is not None
    hops = [hop for taken, _ in case.workflows.instances.history(TENANT, case.id) for hop in taken]
    picture = build_picture(found.definition, trail_of(case.instance, hops, case.workflows.clock.now()))
    return render_mermaid(picture), render_svg(picture)


def do_nothing(_: StepCase) -> None:
    """Nothing happens."""


def defer(case: StepCase) -> None:
    case.workflows.step_executors["act"] = ScriptedExecutor(ExecutorOutcome(), seconds=100)
    case.submit()


def leave_in_doubt(case: StepCase) -> None:
    case.submit()


def ask(case: StepCase) -> None:
    case.script.entries[:] = [ASKING]
    case.submit()


def cancel(case: StepCase) -> None:
    case.submit(CANCEL)


def owe_entry(case: StepCase) -> None:
    document = define_step()
    document["states"]["a"]["onEnter"] = {"executor": {"kind": "act"}}
    case.start(document)


STATUS_WORDS: Mapping[Callable[[StepCase], None], str] = {
    do_nothing: "now",
    defer: "now, under way",
    leave_in_doubt: "now, in doubt",
    ask: "now, waiting for answers",
    owe_entry: "now, not entered yet",
    cancel: "cancelled",
}


@pytest.mark.parametrize(("happens", "words"), STATUS_WORDS.items())
def test_a_picture_shows_the_status_of_an_instance_at_its_state(
    happens: Callable[[StepCase], None], words: str
) -> None:
    case = StepCase(BROKEN if happens is owe_entry else UNKNOWN_OUTCOME).start()
    happens(case)
    text, svg = pictures(case)
    assert f'state "a, {words}" as s1' in text
    assert f"<title>a, {words}</title>" in svg
    assert text.count("now") + text.count("cancelled") == 1
