"""The workflows of examples/, driven to their ends through the tools, by the people that they need."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from local.pictures import render_files
from signpost.adapters.source_files import read_source, read_values
from signpost.wiring.workflows import EXECUTED_KINDS
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.authoring.lint.check import BUILT_IN_KINDS, check_manifest
from signpost.workflow.executor_kinds import ExecutorKinds
from tests.support.example_runs import DeployedExamples, ExampleRun, MemoryExamples
from tests.support.example_workflows import EXAMPLES, ROLES
from tests.support.laptop import Laptop, Stack

DAY = 86_400.0

type Begin = Callable[..., ExampleRun]
"""Starts an example: its name, what is given, and by whom."""


@pytest.fixture(scope="module")
def deployed(laptop: Laptop, product_stack: Stack) -> DeployedExamples:
    return DeployedExamples(laptop, product_stack)


@pytest.fixture(params=["in memory", pytest.param("deployed", marks=pytest.mark.cloud)])
def start_example(request: pytest.FixtureRequest) -> Begin:
    stage = MemoryExamples() if request.param == "in memory" else request.getfixturevalue("deployed")
    return partial(ExampleRun, stage)


turns_the_clock = pytest.mark.parametrize("start_example", ["in memory"], indirect=True)
"""Nobody can on a deployed stack; a case of tests/acceptance waits for a deadline there."""


def ignore_progress(done: int, of: int) -> None:
    """Nobody is waiting."""


def test_the_examples_are_these_four() -> None:
    assert list(EXAMPLES) == ["change-management", "content-publishing", "deploy-pipeline", "expense-approval"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_compiles_without_problems_or_findings(name: str) -> None:
    manifest = read_source(EXAMPLES[name] / "manifest.yaml")
    assert isinstance(compile_manifest(manifest), CompiledManifest)
    assert list(check_manifest(manifest, ExecutorKinds(BUILT_IN_KINDS, EXECUTED_KINDS), ignore_progress)) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_pictures_of_an_example_match_its_manifest(name: str) -> None:
    for path, content in render_files(EXAMPLES[name] / "manifest.yaml").items():
        assert path.read_text("utf-8") == content, "`make pictures` makes them anew"
    assert "```mermaid\nstateDiagram-v2\n" in (EXAMPLES[name] / "README.md").read_text("utf-8")


def test_the_roles_of_test_persons_are_those_that_the_examples_require() -> None:
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


def reach_staging(begin: Begin) -> ExampleRun:
    run = begin("deploy-pipeline", {"service": "billing", "revision": "0a1b2c3"})
    assert run.submit("report_build", **BUILD) is None
    assert (run.state, run.chain) == ("in_staging", ["lint_clean", "tests_pass", "deploy_to_staging"])
    return run


def reach_production(begin: Begin) -> ExampleRun:
    run = reach_staging(begin)
    assert run.submit("ask_for_release", notes="Invoices in two languages") is None
    assert run.submit("release", "rita") is None
    assert (run.state, run.chain) == ("in_production", ["deploy_to_production"])
    return run


def test_a_service_is_deployed_to_staging_and_after_a_release_to_production(start_example: Begin) -> None:
    run = reach_production(start_example)
    assert run.submit("report_health", errorsPerMille=3) is None
    assert (run.state, run.answer["terminal"], run.answer["links"]) == ("live", True, [])


def test_a_failed_build_returns_to_building_with_its_service_prefilled(start_example: Begin) -> None:
    run = start_example("deploy-pipeline", {"service": "billing", "revision": "0a1b2c3"})
    assert run.read_prefill("report_build") == {"service": "billing", "revision": "0a1b2c3"}
    faults: Sequence[tuple[Mapping[str, Any], Sequence[str]]] = [
        ({"lint": "dirty"}, ["lint_dirty"]),
        ({"failedTests": 2}, ["lint_clean", "tests_fail"]),
        ({"coverage": 79}, ["lint_clean", "tests_fail"]),
    ]
    for fault, chain in faults:
        reported: Mapping[str, Any] = {**BUILD, **fault}
        assert run.submit("report_build", **reported) is None
        assert (run.state, run.chain) == ("building", chain)
    enough: Mapping[str, Any] = {**BUILD, "coverage": 80}
    assert run.submit("report_build", **enough) is None
    assert run.state == "in_staging"


def test_only_a_release_manager_other_than_the_requester_releases(start_example: Begin) -> None:
    run = reach_staging(start_example)
    assert run.submit("ask_for_release", "rita", notes="Mine") is None
    assert run.submit("release", "agent") == "ACTOR_MISMATCH"
    assert run.submit("release", "ann") == "GUARD_REJECTED"
    assert run.submit("release", "rita") is None
    assert run.state == "awaiting_release"
    assert run.submit("deploy_to_production") == "INVALID_TRANSITION"
    assert run.submit("hold_back", "rita", reason="On Monday") is None
    assert (run.state, run.answer["context"]["heldBackFor"]) == ("building", "On Monday")


@turns_the_clock
def test_a_release_request_that_lapsed_can_be_repeated(start_example: Begin) -> None:
    run = reach_staging(start_example)
    run.submit("ask_for_release", notes="Invoices")
    run.wait(4 * 3600)
    assert run.submit("release", "rita") == "GUARD_REJECTED"
    assert run.submit("ask_again") is None
    assert run.submit("release", "rita") is None
    assert run.state == "in_production"


@pytest.mark.parametrize("move", [("report_health", {"errorsPerMille": 11}), ("roll_back", {})])
def test_an_unhealthy_service_in_production_is_rolled_back(
    start_example: Begin, move: tuple[str, Mapping[str, Any]]
) -> None:
    run = reach_production(start_example)
    transition, arguments = move
    assert run.submit(transition, **arguments) is None
    assert (run.state, run.chain) == ("rolled_back", ["restore_previous", "drain"])


# The approval of expenses.

CLAIM = {"purpose": "Train to the customer", "receipt": "R-20311"}


def test_a_small_expense_is_paid_at_once(start_example: Begin) -> None:
    run = start_example("expense-approval", {"amount": 49.99, "purpose": "Paper"})
    assert run.read_prefill("claim") == {"amount": 49.99, "purpose": "Paper"}
    assert run.submit("claim", **{**run.read_prefill("claim"), "receipt": "R-0001"}) is None
    assert (run.state, run.chain) == ("paid", ["small", "pay"])


@pytest.mark.parametrize("amount", [50, 1000])
def test_an_expense_is_approved_by_a_manager_who_did_not_claim_it(start_example: Begin, amount: int) -> None:
    run = start_example("expense-approval", {}, "max")
    assert run.submit("claim", "max", amount=amount, **CLAIM) is None
    assert run.state == "with_manager"
    assert run.submit("approve", "agent") == "ACTOR_MISMATCH"
    assert run.submit("approve", "fay") == "GUARD_REJECTED"
    assert run.submit("approve", "max") is None
    assert run.state == "with_manager"
    assert run.submit("approve", "mia") is None
    assert (run.state, run.chain) == ("paid", ["pay"])


def test_a_large_expense_is_approved_by_two_distinct_people_of_finance(start_example: Begin) -> None:
    run = start_example("expense-approval", {})
    run.submit("claim", amount=1000.01, **CLAIM)
    assert run.state == "with_finance"
    assert run.submit("approve", "max") == "GUARD_REJECTED"
    for _ in range(2):
        assert run.submit("approve", "fay") is None
        assert run.state == "with_finance"
    assert run.answer["approval"]["approvedBy"] == ["fay"]
    assert run.submit("approve", "finn") is None
    assert run.state == "paid"


def test_a_claim_that_is_sent_back_needs_new_approvals(start_example: Begin) -> None:
    run = start_example("expense-approval", {})
    run.submit("claim", amount=2000, **CLAIM)
    run.submit("approve", "fay")
    assert run.submit("send_back", "finn", reason="Why first class?") is None
    assert (run.state, run.answer["context"]["sentBack"]) == ("draft", 1)
    run.submit("claim", amount=3000, **CLAIM)
    assert run.answer["approval"]["approvedBy"] == []
    run.submit("approve", "finn")
    assert run.state == "with_finance"
    assert run.submit("refuse", "fay", reason="Too much") is None
    assert run.state == "refused"


def test_a_claim_has_a_receipt_and_can_be_withdrawn(start_example: Begin) -> None:
    run = start_example("expense-approval", {})
    assert run.submit("claim", amount=60, purpose="Lunch") == "INPUT_SCHEMA_VIOLATION"
    assert run.submit("claim", amount=60, purpose="Lunch", receipt="none") == "INPUT_SCHEMA_VIOLATION"
    assert run.submit("claim", amount=60, purpose="Lunch", receipt="R-0815") is None
    assert run.list_transitions("mia") == ["approve", "refuse", "send_back", "withdraw"]
    assert run.list_transitions("agent") == ["withdraw"]
    assert run.submit("withdraw") is None
    assert run.state == "dropped"


# The publishing of content.

ARTICLE = {"headline": "A bridge is opened", "body": "The bridge over the river was opened on Sunday."}


def submit_for_review(begin: Begin, by: str = "agent") -> ExampleRun:
    run = begin("content-publishing", {"headline": "A bridge is opened"}, by)
    assert run.list_transitions(by) == ["save", "discard"]
    assert run.submit("save", by, **ARTICLE) is None
    assert run.submit("ask_for_review", by) is None
    assert run.answer["approval"]["shows"] == ["headline", "body"]
    return run


def test_an_article_is_written_reviewed_sent_back_approved_and_published(start_example: Begin) -> None:
    run = submit_for_review(start_example)
    assert run.submit("approve", "ann") == "GUARD_REJECTED"
    assert run.submit("send_back", "ed", comments=[]) == "INPUT_SCHEMA_VIOLATION"
    assert run.submit("send_back", "ed", comments=["Which river?"]) is None
    assert run.answer["context"]["comments"] == ["Which river?"]
    assert run.submit("save", **{**ARTICLE, "body": "The bridge over the Elbe was opened on Sunday."}) is None
    run.submit("ask_for_review")
    assert run.submit("approve", "ed") is None
    assert run.submit("publish_now") is None
    assert (run.state, run.chain, run.answer["context"]["rounds"]) == ("published", ["publish", "announce"], 2)


def test_an_editor_does_not_publish_an_article_of_their_own(start_example: Begin) -> None:
    run = submit_for_review(start_example, "ed")
    assert run.submit("approve", "ed") is None
    assert run.state == "in_review"
    assert run.submit("publish_now", "ed") == "INVALID_TRANSITION"
    assert run.submit("approve", "eve") is None
    assert run.state == "approved"
    assert run.submit("publish_now", "ed") is None
    assert run.state == "published"


def test_an_article_is_published_on_its_day(start_example: Begin) -> None:
    run = submit_for_review(start_example)
    run.submit("approve", "ed")
    assert run.submit("schedule", day="tomorrow") == "INPUT_SCHEMA_VIOLATION"
    assert run.submit("schedule", day="2031-05-04") is None
    assert run.submit("day_has_come", "scheduler") is None
    assert run.state == "published"


def test_a_changed_article_needs_a_new_approval(start_example: Begin) -> None:
    run = submit_for_review(start_example)
    run.submit("approve", "ed")
    run.submit("rework")
    run.submit("save", **{**ARTICLE, "headline": "A bridge has fallen"})
    assert run.submit("publish_now") == "INVALID_TRANSITION"
    run.submit("ask_for_review")
    assert run.list_transitions("agent") == ["ask_again", "withdraw"]
    run.submit("approve", "ed")
    assert "publish_now" in run.list_transitions("agent")


@turns_the_clock
def test_a_review_lapses_and_an_unfinished_article_is_abandoned(start_example: Begin) -> None:
    run = submit_for_review(start_example)
    run.wait(3 * DAY)
    assert run.submit("approve", "ed") == "GUARD_REJECTED"
    assert run.submit("ask_again") is None
    run.wait(26 * DAY)
    assert run.state == "in_review"
    run.wait(1 * DAY)
    assert (run.state, run.answer["links"]) == ("abandoned", [])


# The management of changes.

CHANGE = {"summary": "Larger disks", "system": "archive"}


def assess_change(begin: Begin, impact: int, likelihood: int, by: str = "agent") -> ExampleRun:
    run = begin("change-management", CHANGE, by)
    arguments = {**run.read_prefill("assess"), "impact": impact, "likelihood": likelihood, "wayBack": "The old disks"}
    assert run.submit("assess", by, **arguments) is None
    return run


@pytest.mark.parametrize(
    ("impact", "likelihood", "state"),
    [(2, 2, "ready"), (1, 5, "with_owner"), (3, 4, "with_owner"), (3, 5, "with_board"), (5, 5, "with_board")],
)
def test_the_risk_of_a_change_decides_which_people_must_agree(
    start_example: Begin, impact: int, likelihood: int, state: str
) -> None:
    run = assess_change(start_example, impact, likelihood)
    assert (run.state, run.answer["context"]["risk"]) == (state, impact * likelihood)


def test_a_change_of_low_risk_is_scheduled_made_and_done(start_example: Begin) -> None:
    run = assess_change(start_example, 1, 1)
    assert run.submit("schedule", day="2031-05-04", duringFreeze=False) is None
    run.submit("postpone")
    run.submit("schedule", day="2031-05-05", duringFreeze=False)
    run.submit("begin")
    assert run.submit("report", works=True) is None
    assert (run.state, run.answer["terminal"]) == ("done", True)


def test_the_owner_cannot_agree_to_a_change_of_their_own(start_example: Begin) -> None:
    run = assess_change(start_example, 3, 3, "olga")
    assert run.submit("agree", "olga") is None
    assert run.state == "with_owner"
    assert run.submit("agree", "bea") == "GUARD_REJECTED"
    assert run.submit("disagree", "olga", reason="Not this week") is None
    assert run.state == "registered"


def test_a_change_of_high_risk_needs_two_members_of_the_board(start_example: Begin) -> None:
    run = assess_change(start_example, 4, 5)
    assert run.submit("agree", "bea") is None
    assert run.submit("agree", "bea") is None
    assert run.state == "with_board"
    assert run.submit("agree", "olga") == "GUARD_REJECTED"
    assert run.submit("agree", "ben") is None
    assert run.state == "ready"


def test_only_a_change_manager_grants_an_exception_during_a_freeze(start_example: Begin) -> None:
    run = assess_change(start_example, 1, 1)
    assert run.submit("schedule", day="2031-12-24") is None
    assert run.state == "frozen"
    assert run.submit("begin") == "INVALID_TRANSITION"
    assert run.submit("grant_exception", "olga", reason="It cannot wait") == "GUARD_REJECTED"
    assert run.list_transitions("agent") == ["choose_another_day", "cancel"]
    assert run.submit("grant_exception", "carl", reason="It cannot wait") is None
    assert run.state == "scheduled"


@pytest.mark.parametrize(("verdict", "state"), [("accept", "done"), ("revert", "backed_out")])
def test_an_emergency_change_is_made_first_and_reviewed_afterwards(
    start_example: Begin, verdict: str, state: str
) -> None:
    run = start_example("change-management", CHANGE)
    assert run.submit("declare_emergency", "agent", reason="The archive is full") == "GUARD_REJECTED"
    assert run.submit("declare_emergency", "night-agent", reason="The archive is full") is None
    assert run.submit("report", "night-agent", works=True) is None
    assert run.state == "in_hindsight"
    assert (run.list_transitions("olga"), run.list_transitions("night-agent")) == (["accept", "revert"], [])
    assert run.submit(verdict, "agent") == "ACTOR_MISMATCH"
    arguments = {"reason": "Not like this"} if verdict == "revert" else {}
    assert run.submit(verdict, "olga", **arguments) is None
    assert run.state == state


def test_a_change_that_does_not_work_is_backed_out(start_example: Begin) -> None:
    run = assess_change(start_example, 1, 1)
    run.submit("schedule", day="2031-05-04", duringFreeze=False)
    run.submit("begin")
    assert run.submit("report", works=False, notes="The controller is too old") is None
    assert (run.state, run.chain) == ("backed_out", ["take_back"])


@turns_the_clock
def test_an_unfinished_change_lapses(start_example: Begin) -> None:
    run = assess_change(start_example, 3, 3)
    run.wait(14 * DAY - 1)
    assert run.state == "with_owner"
    run.wait(1)
    assert run.state == "lapsed"
