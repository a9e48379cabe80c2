"""The link that cancels an instance: in which answers it is, and that it agrees with what is accepted."""

from collections.abc import Callable
from typing import Any

import pytest

from signpost.model import PROXY_WORKFLOW
from signpost.workflow.engine.argument_schemas import NO_ARGUMENTS
from signpost.workflow.engine.permissions import CANCEL, RESOLVE, RETRY
from signpost.workflow.engine.steps import ON_ENTER, ExecutorFailure, ExecutorOutcome
from signpost.workflow.ports import StepAttempt, StepOutcome
from signpost.workflow.running.service import StartRequest
from tests.support.step_cases import (
    AGENT,
    CANCELLER,
    RESOLVER,
    STRANGER,
    UNKNOWN_OUTCOME,
    StepCase,
    define_step,
)

BROKEN = ExecutorFailure("permanent_error", "No luck.")
LONG = 1_000.0
"""Seconds after which no attempt can be running any more."""
PERSON: Any = {"target": "b", "actor": "human"}


def names_of(answer: Any) -> list[str]:
    return [link["args"].get("transition", link["rel"]) for link in answer["links"]]


@pytest.mark.invariant(47)
def test_the_last_link_cancels_for_the_starter_and_with_the_permission() -> None:
    case = StepCase().start()
    for by, shown in ((AGENT, [CANCEL]), (CANCELLER, [CANCEL]), (STRANGER, []), (RESOLVER, [])):
        assert names_of(case.get(by)) == ["go", "stop", *shown]
    link = case.get()["links"][-1]
    assert (link["method"], link["args"]["arguments"], link["inputSchema"]) == ("workflow.submit", {}, NO_ARGUMENTS)
    done = case.submit(CANCEL, arguments=link["args"]["arguments"], version=link["args"]["expectedVersion"])
    assert (done["terminal"], done["cancelled"], done["links"]) == (True, {"by": "agent"}, [])
    assert case.get()["links"] == []


@pytest.mark.invariant(47)
def test_an_answer_to_a_start_has_the_links_of_the_author_only() -> None:
    case = StepCase()
    case.workflows.publish("demo", define_step())
    started = case.workflows.start(AGENT)
    assert names_of(started) == ["go", "stop"]
    assert names_of(case.workflows.get(started["workflowId"], AGENT)) == ["go", "stop", CANCEL]


@pytest.mark.invariant(47)
@pytest.mark.parametrize(
    ("document", "shown"),
    [
        (define_step(states={"a": {"transitions": {"sign": PERSON}}, "b": {"terminal": True}}), ["sign"]),
        (define_step(states={"a": {}, "b": {"terminal": True}}), []),
    ],
    ids=["waiting for a person", "without transitions"],
)
def test_an_instance_that_nothing_continues_can_be_cancelled_by_its_link(document: Any, shown: list[str]) -> None:
    case = StepCase().start(document)
    assert names_of(case.get()) == [*shown, CANCEL]
    assert case.submit(CANCEL)["terminal"] is True


@pytest.mark.invariant(47)
def test_a_step_that_waits_can_be_cancelled_from_the_answer_that_shows_it() -> None:
    case = StepCase(seconds=100).start()
    pending = case.submit()
    assert (pending["pending"]["on"], names_of(pending), names_of(case.get())) == (
        "executor",
        ["self", CANCEL],
        ["self", CANCEL],
    )
    assert names_of(case.get(STRANGER)) == ["self"]
    refused = case.submit("stop")
    assert (refused["error"]["code"], names_of(refused)) == ("STALE_WORKFLOW_VERSION", ["self"])
    assert case.submit(CANCEL)["terminal"] is True


@pytest.mark.invariant(47)
def test_a_start_that_continues_in_the_background_links_its_cancellation() -> None:
    case = StepCase(seconds=100)
    ready = {"transitions": {"pay": {"target": "ready", "executor": {"kind": "act"}}}}
    case.workflows.publish(PROXY_WORKFLOW, {"initialState": "ready", "states": {"ready": ready}})
    started = case.workflows.start(AGENT, StartRequest(PROXY_WORKFLOW, {"capability": "pay"}))
    assert ("pending" in started, names_of(started)) == (True, ["self", CANCEL])
    assert case.workflows.submit(started["workflowId"], CANCEL, AGENT)["terminal"] is True


@pytest.mark.invariant(47)
def test_a_session_of_one_capability_can_be_cancelled() -> None:
    case = StepCase(ExecutorOutcome("paid"))
    ready = {"transitions": {name: {"target": "ready", "executor": {"kind": "act"}} for name in ("pay", "refund")}}
    case.workflows.publish(PROXY_WORKFLOW, {"initialState": "ready", "states": {"ready": ready}})
    started = case.workflows.start(AGENT, StartRequest(PROXY_WORKFLOW, {"capability": "pay"}))
    assert names_of(started) == ["pay"]
    assert names_of(case.workflows.get(started["workflowId"], AGENT)) == ["pay", CANCEL]


@pytest.mark.invariant(47)
def test_a_step_under_way_or_in_doubt_has_no_link_that_cancels() -> None:
    def meanwhile(_: StepAttempt) -> StepOutcome:
        seen.append(case.get(CANCELLER))
        seen.append(case.submit(CANCEL, CANCELLER))
        return UNKNOWN_OUTCOME

    seen: list[Any] = []
    case = StepCase(meanwhile).start()
    doubtful = case.submit()
    assert [names_of(answer) for answer in seen] == [["self"], ["self"]]
    assert seen[1]["error"]["code"] == "STALE_WORKFLOW_VERSION"
    assert names_of(doubtful) == ["self"]
    case.advance(LONG)
    assert names_of(case.get(CANCELLER)) == ["self"]
    assert case.submit(CANCEL, CANCELLER)["error"]["code"] == "IN_DOUBT"
    assert names_of(case.get(RESOLVER)) == ["self", RETRY, RESOLVE]


@pytest.mark.invariant(47)
def test_a_refusal_links_the_cancellation_and_suggests_it() -> None:
    case = StepCase(BROKEN).start()
    assert names_of(case.submit()) == ["self", "go", "stop", CANCEL]
    refused = case.submit("cancel")
    assert refused["error"]["message"].endswith(f"Did you mean {CANCEL}?")
    assert names_of(refused) == ["self", "go", "stop", CANCEL]


def enter_without_success() -> StepCase:
    case = StepCase(ExecutorOutcome(1), BROKEN, ExecutorOutcome(2))
    entered = {"onEnter": {"executor": {"kind": "act"}}, "transitions": {"on": {"target": "b"}}}
    case.start(define_step(states={**define_step()["states"], "b": entered}))
    assert "entering" in case.submit()
    return case


def leave_in_doubt() -> StepCase:
    case = StepCase(UNKNOWN_OUTCOME, ExecutorOutcome()).start()
    case.submit()
    case.advance(LONG)
    return case


@pytest.mark.invariant(47)
@pytest.mark.parametrize(
    ("name", "prepare"),
    [
        (CANCEL, lambda: StepCase().start()),
        (ON_ENTER, enter_without_success),
        (RETRY, leave_in_doubt),
        (RESOLVE, leave_in_doubt),
    ],
    ids=["cancel", "entry", "retry", "resolve"],
)
def test_a_link_of_the_gateway_takes_the_arguments_of_its_schema_only(
    name: str, prepare: Callable[[], StepCase]
) -> None:
    case = prepare()
    by = RESOLVER if name in (RETRY, RESOLVE) else AGENT
    (link,) = [link for link in case.get(by)["links"] if link["args"].get("transition") == name]
    assert link["inputSchema"]["additionalProperties"] is False
    refused = case.submit(name, by, {**link["args"]["arguments"], "surplus": 1})
    assert refused["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    assert "surplus" in refused["error"]["message"]
    assert "error" not in case.submit(name, by, link["args"]["arguments"])
