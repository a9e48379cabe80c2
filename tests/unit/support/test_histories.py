"""What judges histories finds every kind of answer that no order explains, and nothing in those that one does."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from tests.support.histories import STALE_VERSION_CODE, History, ObservedState, Operation, Violation, find_violations

LOST = inf


def seen_at(version: int, mark: str | None = None, **more: Any) -> ObservedState:
    return ObservedState(version, content=f"{version} by {mark}", mark=mark, **more)


def busy(version: int, mark: str | None = None) -> ObservedState:
    return seen_at(version, mark, error=STALE_VERSION_CODE, is_pending=True)


def stale(version: int, mark: str | None = None) -> ObservedState:
    return seen_at(version, mark, error=STALE_VERSION_CODE)


def start(began: float, ended: float, seen: ObservedState | None, token: str = "token", at: str = "wf_1") -> Operation:
    return Operation("start", began, ended, at, seen, mark=token)


def get(began: float, ended: float, seen: ObservedState) -> Operation:
    return Operation("get", began, ended, "wf_1", seen)


def submit(
    began: float, ended: float, mark: str, seen: ObservedState | None, *, expected: int = 1, leads: int = 1
) -> Operation:
    return Operation("submit", began, ended, "wf_1", seen, expected, leads, mark)


STARTED = start(0, 1, seen_at(1))
DONE = submit(2, 4, "a", seen_at(2, "a"))

EXPLAINED: dict[str, Sequence[Operation]] = {
    "one after the other": [STARTED, DONE, submit(5, 6, "b", seen_at(3, "b"), expected=2), get(7, 8, seen_at(3, "b"))],
    "two at once, and the other is told": [STARTED, DONE, submit(2, 4, "b", stale(2, "a"))],
    "two at once, and the first is still at it": [STARTED, DONE, submit(2, 3, "b", busy(1))],
    "who looks meanwhile sees either": [STARTED, DONE, get(3, 5, seen_at(1)), get(3, 5, seen_at(2, "a"))],
    "an answer that was lost, and it was done": [STARTED, submit(2, LOST, "a", None), get(9, 10, seen_at(2, "a"))],
    "an answer that was lost, and it was not done": [
        STARTED,
        submit(2, LOST, "a", None),
        submit(9, 10, "b", seen_at(2, "b")),
    ],
    "it goes on after the answer": [
        STARTED,
        submit(2, LOST, "a", seen_at(1, is_pending=True)),
        submit(5, 6, "b", busy(1)),
        get(7, 8, seen_at(2, "a")),
    ],
    "a chain, seen in the middle": [
        STARTED,
        submit(2, 8, "a", seen_at(3, "a"), leads=2),
        get(3, 4, seen_at(2, "a")),
        submit(5, 6, "b", busy(2, "a"), expected=2),
    ],
    "who starts it again": [STARTED, DONE, start(5, 6, seen_at(2, "a"))],
}

PLANTED: dict[Violation, Sequence[Operation]] = {
    "two states of one version": [STARTED, DONE, get(5, 6, replace(seen_at(2, "a"), content="another"))],
    "two accepted submits of one version": [STARTED, DONE, submit(2, 4, "b", seen_at(2, "b"))],
    "an accepted submit that led elsewhere": [STARTED, submit(2, 4, "a", seen_at(1))],
    "older than a state known before": [STARTED, DONE, get(5, 6, seen_at(1))],
    "newer than any request can have made it": [
        STARTED,
        get(2, 3, seen_at(2, "a")),
        submit(4, 5, "a", seen_at(2, "a")),
    ],
    "refused but carried out": [
        STARTED,
        submit(2, 3, "a", busy(1)),
        submit(2, LOST, "b", None),
        get(5, 6, seen_at(2, "a")),
    ],
    "carried out at another version than expected": [
        STARTED,
        submit(2, LOST, "a", None),
        submit(3, 4, "b", seen_at(2, "b")),
        submit(5, LOST, "c", None, expected=2),
        get(7, 8, seen_at(3, "a")),
    ],
    "refused without a competing request": [STARTED, submit(2, 3, "a", busy(1))],
    "two workflows of one token": [STARTED, start(2, 3, seen_at(1), at="wf_2")],
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_a_history_that_an_order_explains_has_no_violation(name: str) -> None:
    assert find_violations(EXPLAINED[name]) == []


@pytest.mark.parametrize("violation", PLANTED)
def test_every_kind_of_violation_is_found(violation: Violation) -> None:
    assert violation in {found.violation for found in find_violations(PLANTED[violation])}


@pytest.mark.parametrize(
    ("history", "violation"),
    [
        ([STARTED, DONE, submit(5, 6, "b", stale(1))], "older than a state known before"),
        ([STARTED, DONE, submit(2, 4, "b", stale(3, "c"))], "newer than any request can have made it"),
        ([STARTED, DONE, submit(5, 6, "b", stale(2, "a"), expected=2)], "refused without a competing request"),
        ([STARTED, DONE, submit(5, 6, "b", busy(2, "a"), expected=2)], "refused without a competing request"),
        ([STARTED, submit(2, 4, "a", seen_at(2, "a"), leads=2)], "an accepted submit that led elsewhere"),
        (
            [STARTED, submit(2, LOST, "a", None), get(3, 4, seen_at(3, "a"))],
            "carried out at another version than expected",
        ),
    ],
)
def test_refusals_and_lost_answers_are_judged_as_well(history: Sequence[Operation], violation: Violation) -> None:
    assert violation in {found.violation for found in find_violations(history)}


def test_an_operation_is_recorded_with_its_answer() -> None:
    history = History()
    asked = Operation("submit", 0, 0, "wf_1", expected_version=1, mark="a")
    answer = {"workflowId": "wf_1", "version": 2, "state": "open", "context": {"by": "a"}}
    accepted = history.record(asked, lambda: answer)
    assert accepted.observed == ObservedState(2, "('open', [('by', 'a')])", "a")
    assert 0 < accepted.started_at <= accepted.ended_at < inf
    lost = history.record(asked, lambda: None)
    assert (lost.observed, lost.ended_at) == (None, inf)
    pending = history.record(asked, lambda: {**answer, "version": 1, "pending": {"on": "chain"}})
    assert pending.is_open
    refused = history.record(
        asked, lambda: {**answer, "error": {"code": STALE_VERSION_CODE}, "pending": {"on": "executor"}}
    )
    assert refused.is_refused
    assert history.operations == [accepted, lost, pending, refused]
