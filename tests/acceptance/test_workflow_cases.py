"""The cases of workflows over HTTP, as `make acceptance` plays them."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.decisions import WORKFLOWS_CONTRADICTED
from tests.acceptance.deployed import Deployment
from tests.acceptance.outcomes import Outcome, failed_outcomes
from tests.acceptance.suites import FACTOR
from tests.acceptance.workflow_cases import DEFAULT, load
from tests.acceptance.workflow_player import play
from tests.acceptance.workflow_selection import NOT_YET, reason_to_skip
from tests.acceptance.workflows_deployed import Deployed

pytestmark = pytest.mark.no_cover

OWN = DEFAULT.with_name("own-workflow-cases.json")
"""Callers, races and timeouts, which the other file shows in other ways."""
DISCOVERY = DEFAULT.with_name("discovery-cases.json")
"""Skills and documents in home, search and describe."""


def test_only_cases_that_leave_the_account_or_contradict_a_promise_are_skipped() -> None:
    skipped = {case.id for case in load(DEFAULT) if reason_to_skip(case)}
    leaving = {case.id for case in load(DEFAULT) if case.requires & set(NOT_YET)}
    assert skipped == leaving | WORKFLOWS_CONTRADICTED.keys()
    assert len(load(DEFAULT)) - len(skipped) >= 123


@pytest.mark.cloud
@pytest.mark.parametrize("file", [DEFAULT, OWN, DISCOVERY], ids=lambda file: file.name)
def test_workflows_pass_their_cases(deployment: Deployment, tmp_path: Path, file: Path) -> None:
    outcomes = play_file(file, deployment, tmp_path)
    assert {one.case.id: one.problems for one in failed_outcomes(outcomes)} == {}


ANY: Mapping[str, Any] = {"initialState": "a", "states": {"a": {}}}
CANNOT: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], str]] = [
    ({"tool": "$dance"}, ANY, "this player does not know the step $dance"),
    ({"tool": "workflow.start", "as": "nobody"}, ANY, "this player does not know the caller nobody"),
    (
        {"tool": "workflow.start"},
        {"initialState": "b", "states": {"a": {}}},
        "what it defines could not be published: ",
    ),
]


@pytest.mark.cloud
@pytest.mark.parametrize(("step", "definition", "says"), CANNOT, ids=["step", "caller", "definition"])
def test_a_case_that_cannot_be_played_fails(
    deployment: Deployment, tmp_path: Path, step: Mapping[str, Any], definition: Mapping[str, Any], says: str
) -> None:
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([{"id": "A-1", "definitionId": "demo", "definition": definition, "steps": [step]}]))
    (outcome,) = play_file(file, deployment, tmp_path)
    (problem,) = outcome.problems
    assert problem.startswith(says)


def play_file(file: Path, deployment: Deployment, home: Path) -> Sequence[Outcome]:
    cases = load(file, FACTOR)
    outcomes = play(cases, partial(Deployed, deployment, home), lambda _: None)
    assert [one.case.id for one in outcomes] == [case.id for case in cases]
    return outcomes
