"""What judges histories finds every kind of answer that no order explains, and nothing in those that one does."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from tests.support.histories import STALE, History, Operation, Seen, Violation, violations

LOST = inf


def shows(version: int, mark: str | None = None, **more: Any) -> Seen:
    return Seen(version, stand=f"{version} by {mark}", mark=mark, **more)


def busy(version: int, mark: str | None = None) -> Seen:
    return shows(version, mark, error=STALE, is_under_way=True)


def stale(version: int, mark: str | None = None) -> Seen:
    return shows(version, mark, error=STALE)


def start(began: float, ended: float, seen: Seen | None, token: str = "token", at: str = "wf_1") -> Operation:
    return Operation("start", began, ended, at, seen, mark=token)


def get(began: float, ended: float, seen: Seen) -> Operation:
    return Operation("get", began, ended, "wf_1", seen)


def submit(began: float, ended: float, mark: str, seen: Seen | None, *, expected: int = 1, leads: int = 1) -> Operation:
    return Operation("submit", began, ended, "wf_1", seen, expected, leads, mark)


BORN = start(0, 1, shows(1))
DONE = submit(2, 4, "a", shows(2, "a"))

EXPLAINED: dict[str, Sequence[Operation]] = {
    "one after the other": [BORN, DONE, submit(5, 6, "b", shows(3, "b"), expected=2), get(7, 8, shows(3, "b"))],
    "two at once, and the other is told": [BORN, DONE, submit(2, 4, "b", stale(2, "a"))],
    "two at once, and the first is still at it": [BORN, DONE, submit(2, 3, "b", busy(1))],
    "who looks meanwhile sees either": [BORN, DONE, get(3, 5, shows(1)), get(3, 5, shows(2, "a"))],
    "an answer that was lost, and it was done": [BORN, submit(2, LOST, "a", None), get(9, 10, shows(2, "a"))],
    "an answer that was lost, and it was not done": [
        BORN,
        submit(2, LOST, "a", None),
        submit(9, 10, "b", shows(2, "b")),
    ],
    "it goes on after the answer": [
        BORN,
        submit(2, LOST, "a", shows(1, is_under_way=True)),
        submit(5, 6, "b", busy(1)),
        get(7, 8, shows(2, "a")),
    ],
    "a chain, seen in the middle": [
        BORN,
        submit(2, 8, "a", shows(3, "a"), leads=2),
        get(3, 4, shows(2, "a")),
        submit(5, 6, "b", busy(2, "a"), expected=2),
    ],
    "who starts it again": [BORN, DONE, start(5, 6, shows(2, "a"))],
}

PLANTED: dict[Violation, Sequence[Operation]] = {
    "two states of one version": [BORN, DONE, get(5, 6, replace(shows(2, "a"), stand="another"))],
    "two accepted submits of one version": [BORN, DONE, submit(2, 4, "b", shows(2, "b"))],
    "an accepted submit that led elsewhere": [BORN, submit(2, 4, "a", shows(1))],
    "older than a state known before": [BORN, DONE, get(5, 6, shows(1))],
    "newer than any request can have made it": [BORN, get(2, 3, shows(2, "a")), submit(4, 5, "a", shows(2, "a"))],
    "refused but carried out": [BORN, submit(2, 3, "a", busy(1)), submit(2, LOST, "b", None), get(5, 6, shows(2, "a"))],
    "carried out at another version than expected": [
        BORN,
        submit(2, LOST, "a", None),
        submit(3, 4, "b", shows(2, "b")),
        submit(5, LOST, "c", None, expected=2),
        get(7, 8, shows(3, "a")),
    ],
    "refused without a competing request": [BORN, submit(2, 3, "a", busy(1))],
    "two workflows of one token": [BORN, start(2, 3, shows(1), at="wf_2")],
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_what_an_order_explains_is_let_pass(name: str) -> None:
    assert violations(EXPLAINED[name]) == []


@pytest.mark.parametrize("violation", PLANTED)
def test_every_kind_of_violation_is_found(violation: Violation) -> None:
    assert violation in {found.violation for found in violations(PLANTED[violation])}


@pytest.mark.parametrize(
    ("history", "violation"),
    [
        ([BORN, DONE, submit(5, 6, "b", stale(1))], "older than a state known before"),
        ([BORN, DONE, submit(2, 4, "b", stale(3, "c"))], "newer than any request can have made it"),
        ([BORN, DONE, submit(5, 6, "b", stale(2, "a"), expected=2)], "refused without a competing request"),
        ([BORN, DONE, submit(5, 6, "b", busy(2, "a"), expected=2)], "refused without a competing request"),
        ([BORN, submit(2, 4, "a", shows(2, "a"), leads=2)], "an accepted submit that led elsewhere"),
        ([BORN, submit(2, LOST, "a", None), get(3, 4, shows(3, "a"))], "carried out at another version than expected"),
    ],
)
def test_a_refusal_and_a_lost_answer_are_held_to_it_as_well(history: Sequence[Operation], violation: Violation) -> None:
    assert violation in {found.violation for found in violations(history)}


def test_what_is_asked_is_recorded_with_what_came_of_it() -> None:
    history = History()
    asked = Operation("submit", 0, 0, "wf_1", expected=1, mark="a")
    answer = {"workflowId": "wf_1", "version": 2, "state": "open", "context": {"by": "a"}}
    accepted = history.record(asked, lambda: answer)
    assert accepted.seen == Seen(2, "('open', [('by', 'a')])", "a")
    assert 0 < accepted.began <= accepted.ended < inf
    lost = history.record(asked, lambda: None)
    assert (lost.seen, lost.ended) == (None, inf)
    pending = history.record(asked, lambda: {**answer, "version": 1, "pending": {"on": "chain"}})
    assert pending.is_open
    refused = history.record(asked, lambda: {**answer, "error": {"code": STALE}, "pending": {"on": "executor"}})
    assert refused.is_refused
    assert history.operations == [accepted, lost, pending, refused]
