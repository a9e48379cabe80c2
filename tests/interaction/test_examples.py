"""The workflows of examples/, driven to their ends through the tools, by the people that they need."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from local.pictures import render_files
from signpost.adapters.source_files import read_source, read_values
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.lint.check import BUILT_IN_KINDS, check_manifest
from tests.support.example_runs import Deployed, InMemory, Run
from tests.support.example_workflows import EXAMPLES, ROLES
from tests.support.laptop import Laptop, Stack

DAY = 86_400.0

type Begin = Callable[..., Run]
"""Starts an example: its name, what is given, and by whom."""


@pytest.fixture(scope="module")
def deployed(laptop: Laptop, both: Stack) -> Deployed:
    return Deployed(laptop, both)


@pytest.fixture(params=["in memory", pytest.param("deployed", marks=pytest.mark.cloud)])
def begin(request: pytest.FixtureRequest) -> Begin:
    stage = InMemory() if request.param == "in memory" else request.getfixturevalue("deployed")
    return partial(Run, stage)


turns_the_clock = pytest.mark.parametrize("begin", ["in memory"], indirect=True)
"""Nobody can on a deployed stack; a case of tests/acceptance waits for a deadline there."""


def no_progress(done: int, of: int) -> None:
    """Nobody is waiting."""


def test_there_are_four() -> None:
    assert list(EXAMPLES) == ["change-management", "content-publishing", "deploy-pipeline", "expense-approval"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_they_can_be_published_and_nothing_about_them_looks_wrong(name: str) -> None:
    manifest = read_source(EXAMPLES[name] / "manifest.yaml")
    assert isinstance(compile_manifest(manifest), CompiledManifest)
    assert list(check_manifest(manifest, BUILT_IN_KINDS, no_progress)) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_their_pictures_are_those_of_their_manifests(name: str) -> None:
    for path, content in render_files(EXAMPLES[name] / "manifest.yaml").items():
        assert path.read_text("utf-8") == content, "`make pictures` makes them anew"
    assert "```mermaid\nstateDiagram-v2\n" in (EXAMPLES[name] / "README.md").read_text("utf-8")


def test_the_roles_of_people_are_those_that_they_want_of_people() -> None:
    wanted: set[str] = set()
    for path in EXAMPLES.values():
        (workflow,) = read_values(path / "manifest.yaml")["workflows"].values()
        for state in workflow["states"].values():
            guards = [
                move.get("guards") for move in state.get("transitions", {}).values() if move.get("actor") == "human"
            ]
            wanted.update(re.findall(r'"role": "(\w+)"', json.dumps(guards)))
    assert wanted == set(ROLES)


# The deploy pipeline.

BUILD: Mapping[str, Any] = {
    "service": "billing",
    "revision": "0a1b2c3",
    "lint": "clean",
    "failedTests": 0,
    "coverage": 91,
}


def deployed_to_staging(begin: Begin) -> Run:
    run = begin("deploy-pipeline", {"service": "billing", "revision": "0a1b2c3"})
    assert run.take("report_build", **BUILD) is None
    assert (run.state, run.chain) == ("in_staging", ["lint_clean", "tests_pass", "deploy_to_staging"])
    return run


def released(begin: Begin) -> Run:
    run = deployed_to_staging(begin)
    assert run.take("ask_for_release", notes="Invoices in two languages") is None
    assert run.take("release", "rita") is None
    assert (run.state, run.chain) == ("in_production", ["deploy_to_production"])
    return run


def test_a_service_is_deployed_to_staging_and_after_a_release_to_production(begin: Begin) -> None:
    run = released(begin)
    assert run.take("report_health", errorsPerMille=3) is None
    assert (run.state, run.now["terminal"], run.now["links"]) == ("live", True, [])


def test_a_build_that_is_not_good_enough_goes_back_and_the_service_is_filled_in(begin: Begin) -> None:
    run = begin("deploy-pipeline", {"service": "billing", "revision": "0a1b2c3"})
    assert run.prefilled("report_build") == {"service": "billing", "revision": "0a1b2c3"}
    faults: Sequence[tuple[Mapping[str, Any], Sequence[str]]] = [
        ({"lint": "dirty"}, ["lint_dirty"]),
        ({"failedTests": 2}, ["lint_clean", "tests_fail"]),
        ({"coverage": 79}, ["lint_clean", "tests_fail"]),
    ]
    for fault, chain in faults:
        reported: Mapping[str, Any] = {**BUILD, **fault}
        assert run.take("report_build", **reported) is None
        assert (run.state, run.chain) == ("building", chain)
    enough: Mapping[str, Any] = {**BUILD, "coverage": 80}
    assert run.take("report_build", **enough) is None
    assert run.state == "in_staging"


def test_nobody_but_a_release_manager_who_did_not_ask_releases(begin: Begin) -> None:
    run = deployed_to_staging(begin)
    assert run.take("ask_for_release", "rita", notes="Mine") is None
    assert run.take("release", "agent") == "ACTOR_MISMATCH"
    assert run.take("release", "ann") == "GUARD_REJECTED"
    assert run.take("release", "rita") is None
    assert run.state == "awaiting_release"
    assert run.take("deploy_to_production") == "INVALID_TRANSITION"
    assert run.take("hold_back", "rita", reason="On Monday") is None
    assert (run.state, run.now["context"]["heldBackFor"]) == ("building", "On Monday")


@turns_the_clock
def test_a_release_that_nobody_answered_in_time_is_asked_for_again(begin: Begin) -> None:
    run = deployed_to_staging(begin)
    run.take("ask_for_release", notes="Invoices")
    run.wait(4 * 3600)
    assert run.take("release", "rita") == "GUARD_REJECTED"
    assert run.take("ask_again") is None
    assert run.take("release", "rita") is None
    assert run.state == "in_production"


@pytest.mark.parametrize("move", [("report_health", {"errorsPerMille": 11}), ("roll_back", {})])
def test_what_is_not_healthy_in_production_is_rolled_back(begin: Begin, move: tuple[str, Mapping[str, Any]]) -> None:
    run = released(begin)
    transition, arguments = move
    assert run.take(transition, **arguments) is None
    assert (run.state, run.chain) == ("rolled_back", ["restore_previous", "drain"])


# The approval of expenses.

CLAIM = {"purpose": "Train to the customer", "receipt": "R-20311"}


def test_a_small_expense_is_paid_at_once(begin: Begin) -> None:
    run = begin("expense-approval", {"amount": 49.99, "purpose": "Paper"})
    assert run.prefilled("claim") == {"amount": 49.99, "purpose": "Paper"}
    assert run.take("claim", **{**run.prefilled("claim"), "receipt": "R-0001"}) is None
    assert (run.state, run.chain) == ("paid", ["small", "pay"])


@pytest.mark.parametrize("amount", [50, 1000])
def test_an_expense_is_approved_by_a_manager_who_did_not_claim_it(begin: Begin, amount: int) -> None:
    run = begin("expense-approval", {}, "max")
    assert run.take("claim", "max", amount=amount, **CLAIM) is None
    assert run.state == "with_manager"
    assert run.take("approve", "agent") == "ACTOR_MISMATCH"
    assert run.take("approve", "fay") == "GUARD_REJECTED"
    assert run.take("approve", "max") is None
    assert run.state == "with_manager"
    assert run.take("approve", "mia") is None
    assert (run.state, run.chain) == ("paid", ["pay"])


def test_a_large_expense_is_approved_by_two_distinct_people_of_finance(begin: Begin) -> None:
    run = begin("expense-approval", {})
    run.take("claim", amount=1000.01, **CLAIM)
    assert run.state == "with_finance"
    assert run.take("approve", "max") == "GUARD_REJECTED"
    for _ in range(2):
        assert run.take("approve", "fay") is None
        assert run.state == "with_finance"
    assert run.now["approval"]["approvedBy"] == ["fay"]
    assert run.take("approve", "finn") is None
    assert run.state == "paid"


def test_a_claim_that_is_sent_back_and_grows_needs_its_approvals_anew(begin: Begin) -> None:
    run = begin("expense-approval", {})
    run.take("claim", amount=2000, **CLAIM)
    run.take("approve", "fay")
    assert run.take("send_back", "finn", reason="Why first class?") is None
    assert (run.state, run.now["context"]["sentBack"]) == ("draft", 1)
    run.take("claim", amount=3000, **CLAIM)
    assert run.now["approval"]["approvedBy"] == []
    run.take("approve", "finn")
    assert run.state == "with_finance"
    assert run.take("refuse", "fay", reason="Too much") is None
    assert run.state == "refused"


def test_a_claim_has_a_receipt_and_can_be_withdrawn(begin: Begin) -> None:
    run = begin("expense-approval", {})
    assert run.take("claim", amount=60, purpose="Lunch") == "INPUT_SCHEMA_VIOLATION"
    assert run.take("claim", amount=60, purpose="Lunch", receipt="none") == "INPUT_SCHEMA_VIOLATION"
    assert run.take("claim", amount=60, purpose="Lunch", receipt="R-0815") is None
    assert run.links("mia") == ["approve", "refuse", "send_back", "withdraw"]
    assert run.links("agent") == ["withdraw"]
    assert run.take("withdraw") is None
    assert run.state == "dropped"


# The publishing of content.

ARTICLE = {"headline": "A bridge is opened", "body": "The bridge over the river was opened on Sunday."}


def in_review(begin: Begin, by: str = "agent") -> Run:
    run = begin("content-publishing", {"headline": "A bridge is opened"}, by)
    assert run.links(by) == ["save", "discard"]
    assert run.take("save", by, **ARTICLE) is None
    assert run.take("ask_for_review", by) is None
    assert run.now["approval"]["shows"] == ["headline", "body"]
    return run


def test_an_article_is_written_reviewed_sent_back_approved_and_published(begin: Begin) -> None:
    run = in_review(begin)
    assert run.take("approve", "ann") == "GUARD_REJECTED"
    assert run.take("send_back", "ed", comments=[]) == "INPUT_SCHEMA_VIOLATION"
    assert run.take("send_back", "ed", comments=["Which river?"]) is None
    assert run.now["context"]["comments"] == ["Which river?"]
    assert run.take("save", **{**ARTICLE, "body": "The bridge over the Elbe was opened on Sunday."}) is None
    run.take("ask_for_review")
    assert run.take("approve", "ed") is None
    assert run.take("publish_now") is None
    assert (run.state, run.chain, run.now["context"]["rounds"]) == ("published", ["publish", "announce"], 2)


def test_an_editor_does_not_publish_an_article_of_their_own(begin: Begin) -> None:
    run = in_review(begin, "ed")
    assert run.take("approve", "ed") is None
    assert run.state == "in_review"
    assert run.take("publish_now", "ed") == "INVALID_TRANSITION"
    assert run.take("approve", "eve") is None
    assert run.state == "approved"
    assert run.take("publish_now", "ed") is None
    assert run.state == "published"


def test_an_article_is_published_on_its_day(begin: Begin) -> None:
    run = in_review(begin)
    run.take("approve", "ed")
    assert run.take("schedule", day="tomorrow") == "INPUT_SCHEMA_VIOLATION"
    assert run.take("schedule", day="2031-05-04") is None
    assert run.take("day_has_come", "scheduler") is None
    assert run.state == "published"


def test_whoever_changes_an_approved_article_has_to_ask_again(begin: Begin) -> None:
    run = in_review(begin)
    run.take("approve", "ed")
    run.take("rework")
    run.take("save", **{**ARTICLE, "headline": "A bridge has fallen"})
    assert run.take("publish_now") == "INVALID_TRANSITION"
    run.take("ask_for_review")
    assert run.links("agent") == ["ask_again", "withdraw"]
    run.take("approve", "ed")
    assert "publish_now" in run.links("agent")


@turns_the_clock
def test_a_review_lapses_and_an_article_that_nobody_finishes_is_abandoned(begin: Begin) -> None:
    run = in_review(begin)
    run.wait(3 * DAY)
    assert run.take("approve", "ed") == "GUARD_REJECTED"
    assert run.take("ask_again") is None
    run.wait(26 * DAY)
    assert run.state == "in_review"
    run.wait(1 * DAY)
    assert (run.state, run.now["links"]) == ("abandoned", [])


# The management of changes.

CHANGE = {"summary": "Larger disks", "system": "archive"}


def assessed(begin: Begin, impact: int, likelihood: int, by: str = "agent") -> Run:
    run = begin("change-management", CHANGE, by)
    arguments = {**run.prefilled("assess"), "impact": impact, "likelihood": likelihood, "wayBack": "The old disks"}
    assert run.take("assess", by, **arguments) is None
    return run


@pytest.mark.parametrize(
    ("impact", "likelihood", "state"),
    [(2, 2, "ready"), (1, 5, "with_owner"), (3, 4, "with_owner"), (3, 5, "with_board"), (5, 5, "with_board")],
)
def test_the_risk_of_a_change_decides_who_has_to_agree(begin: Begin, impact: int, likelihood: int, state: str) -> None:
    run = assessed(begin, impact, likelihood)
    assert (run.state, run.now["context"]["risk"]) == (state, impact * likelihood)


def test_a_change_of_low_risk_is_scheduled_made_and_done(begin: Begin) -> None:
    run = assessed(begin, 1, 1)
    assert run.take("schedule", day="2031-05-04", duringFreeze=False) is None
    run.take("postpone")
    run.take("schedule", day="2031-05-05", duringFreeze=False)
    run.take("begin")
    assert run.take("report", works=True) is None
    assert (run.state, run.now["terminal"]) == ("done", True)


def test_the_owner_agrees_or_does_not_and_never_to_a_change_of_their_own(begin: Begin) -> None:
    run = assessed(begin, 3, 3, "olga")
    assert run.take("agree", "olga") is None
    assert run.state == "with_owner"
    assert run.take("agree", "bea") == "GUARD_REJECTED"
    assert run.take("disagree", "olga", reason="Not this week") is None
    assert run.state == "registered"


def test_a_change_of_high_risk_needs_two_members_of_the_board(begin: Begin) -> None:
    run = assessed(begin, 4, 5)
    assert run.take("agree", "bea") is None
    assert run.take("agree", "bea") is None
    assert run.state == "with_board"
    assert run.take("agree", "olga") == "GUARD_REJECTED"
    assert run.take("agree", "ben") is None
    assert run.state == "ready"


def test_during_a_freeze_only_a_change_manager_lets_it_happen(begin: Begin) -> None:
    run = assessed(begin, 1, 1)
    assert run.take("schedule", day="2031-12-24") is None
    assert run.state == "frozen"
    assert run.take("begin") == "INVALID_TRANSITION"
    assert run.take("grant_exception", "olga", reason="It cannot wait") == "GUARD_REJECTED"
    assert run.links("agent") == ["choose_another_day", "cancel"]
    assert run.take("grant_exception", "carl", reason="It cannot wait") is None
    assert run.state == "scheduled"


@pytest.mark.parametrize(("verdict", "state"), [("accept", "done"), ("revert", "backed_out")])
def test_an_emergency_comes_first_and_is_looked_at_afterwards(begin: Begin, verdict: str, state: str) -> None:
    run = begin("change-management", CHANGE)
    assert run.take("declare_emergency", "agent", reason="The archive is full") == "GUARD_REJECTED"
    assert run.take("declare_emergency", "night-agent", reason="The archive is full") is None
    assert run.take("report", "night-agent", works=True) is None
    assert run.state == "in_hindsight"
    assert (run.links("olga"), run.links("night-agent")) == (["accept", "revert"], [])
    assert run.take(verdict, "agent") == "ACTOR_MISMATCH"
    arguments = {"reason": "Not like this"} if verdict == "revert" else {}
    assert run.take(verdict, "olga", **arguments) is None
    assert run.state == state


def test_what_does_not_work_is_taken_back(begin: Begin) -> None:
    run = assessed(begin, 1, 1)
    run.take("schedule", day="2031-05-04", duringFreeze=False)
    run.take("begin")
    assert run.take("report", works=False, notes="The controller is too old") is None
    assert (run.state, run.chain) == ("backed_out", ["take_back"])


@turns_the_clock
def test_a_change_that_nobody_brings_to_an_end_lapses(begin: Begin) -> None:
    run = assessed(begin, 3, 3)
    run.wait(14 * DAY - 1)
    assert run.state == "with_owner"
    run.wait(1)
    assert run.state == "lapsed"
