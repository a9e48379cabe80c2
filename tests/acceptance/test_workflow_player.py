"""The player of workflow cases notices what is wrong, says why it skips, and makes times longer."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import suites
from tests.acceptance.outcomes import NotPlayed, Outcome
from tests.acceptance.report import exit_code, lines
from tests.acceptance.workflow_cases import DEFAULT, Case, Step, load
from tests.acceptance.workflow_player import longest_first, play

OPEN = {"workflowId": "wf_1", "state": "open", "version": 1}


class Echo:
    """A world that answers the arguments of what it is asked."""

    def __init__(self, case: Case) -> None:
        del case  # it is every case's

    def play(self, step: Step) -> Any:
        return step.args


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """A file of a case with these members."""

    def write(*steps: Mapping[str, Any], **members: Any) -> Path:
        path = tmp_path / "cases.json"
        row = {"id": "A-1", "title": "a case", "definition": None, **members, "steps": steps}
        path.write_text(json.dumps([row]))
        return path

    return write


def played(path: Path, factor: float = 1) -> Outcome:
    (outcome,) = play(load(path, factor), Echo, lambda _: None)
    return outcome


def asking(args: Mapping[str, Any], **members: Any) -> Mapping[str, Any]:
    return {"tool": "workflow.get", "args": args, **members}


def test_what_is_as_expected_has_no_problems(written: Callable[..., Path]) -> None:
    first = asking(OPEN, expect={"state": "open"}, save={"v": "$.version"})
    second = asking({"version": "{{v+1}}"}, expect={"version": 2})
    assert played(written(first, second)).problems == ()


WRONG: list[tuple[Mapping[str, Any], str]] = [
    (asking(OPEN, expect={"state": "done"}), "$.state is 'open', not 'done'"),
    (asking(OPEN, expect={"terminal": True}), "$.terminal is missing"),
    (asking(OPEN, expectError="not found"), "no error like 'not found'"),
    (asking({"error": {"code": "X", "message": "no"}}, expectError="yes"), "no error like 'yes'"),
    (asking(OPEN, expectMs={"$lt": 0}), "the time it took is "),
    (asking({"v": "{{nowhere}}"}), "it could not be played: KeyError('nowhere')"),
    (asking(OPEN, expect={"state": {"$how": 1}}), "it could not be played: KeyError('$how')"),
]


@pytest.mark.parametrize(("step", "says"), WRONG, ids=[says for _, says in WRONG])
def test_what_is_not_as_expected_is_told(written: Callable[..., Path], step: Mapping[str, Any], says: str) -> None:
    outcome = played(written(step))
    assert any(says in problem for problem in outcome.problems), outcome
    *_, fell, summed = lines([outcome])
    assert fell.startswith("FAILED A-1 a case: ")
    assert summed == "0 passed, 1 failed, 0 skipped"
    assert exit_code([outcome]) == 1


def test_after_the_first_step_with_a_problem_nothing_more_is_told(written: Callable[..., Path]) -> None:
    wrong = asking(OPEN, expect={"state": "done", "version": 2})
    assert [problem[:6] for problem in played(written(asking(OPEN), wrong, wrong)).problems] == ["step 2", "step 2"]


def test_an_error_is_found_whatever_its_case(written: Callable[..., Path]) -> None:
    refused = asking({"error": {"code": "NOT_FOUND", "message": "Unknown."}}, expectError="not_found")
    assert played(written(refused)).problems == ()


SKIPPED = [
    (["cli"], "requires cli (an executor that runs programs)"),
    (["audit", "rest", "mcp"], "requires mcp (an executor that calls another MCP server), rest (an executor"),
    (["telepathy"], "requires telepathy, which this player does not know"),
]


@pytest.mark.parametrize(("requires", "says"), SKIPPED)
def test_what_is_skipped_says_why(written: Callable[..., Path], requires: list[str], says: str) -> None:
    outcome = played(written(asking(OPEN), requires=requires))
    assert outcome.skipped.startswith(says)
    first, summed = lines([outcome])
    assert first.startswith(f"skipped A-1 a case: {says}")
    assert summed == "0 passed, 0 failed, 1 skipped"
    assert exit_code([outcome]) == 0


def test_all_times_of_a_case_are_made_longer(written: Callable[..., Path]) -> None:
    definition = {
        "timeoutMs": 250,
        "states": {"a": {"transitions": {"go": {"executor": {"script": [{"delayMs": 15}]}}}}},
    }
    sleep = {"tool": "$sleep", "args": {"ms": 40}}
    timed = asking({"ms": 3, "timeoutMs": {"type": "integer"}}, expectMs={"$lt": 690}, expect={"timeoutMs": 250})
    (case,) = load(written(sleep, timed, definition=definition, definitionId="d"), 2.5)
    assert json.dumps(case.definition) == json.dumps(definition).replace("250", "625").replace("15", "38")
    assert case.sleeps == pytest.approx(0.1)
    assert (case.steps[1].milliseconds, case.steps[1].expect) == ({"$lt": 1725}, {"timeoutMs": 625})
    assert case.steps[1].args == {"ms": 3, "timeoutMs": {"type": "integer"}}


def test_the_pauses_of_retries_and_the_expiry_of_a_question_are_made_longer_too(written: Callable[..., Path]) -> None:
    retry = {"maxAttempts": 3, "backoff": "exponential", "initialDelayMs": 120, "maxDelayMs": 700}
    asking_a_person = {"executor": {"kind": "human", "expiresMs": 900}}
    transitions = {"go": {"reliability": {"timeoutMs": 400, "retry": retry}}, "ask": asking_a_person}
    definition = {"states": {"a": {"transitions": transitions}}}
    (case,) = load(written(definition=definition, definitionId="d"), 2)
    assert case.definition is not None
    slowed = case.definition["states"]["a"]["transitions"]
    assert slowed["go"]["reliability"]["timeoutMs"] == 800
    assert slowed["go"]["reliability"]["retry"] == {**retry, "initialDelayMs": 240, "maxDelayMs": 1_400}
    assert slowed["ask"]["executor"]["expiresMs"] == 1_800


def test_those_that_sleep_begin_and_the_report_keeps_the_order_of_the_file(tmp_path: Path) -> None:
    naps = {"A": 0, "B": 10, "C": 30}
    rows = [{"id": name, "steps": [{"tool": "$sleep", "args": {"ms": ms}}]} for name, ms in naps.items()]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(rows))
    assert [case.id for case in longest_first(load(path))] == ["C", "B", "A"]
    assert [outcome.case.id for outcome in play(load(path), Echo, lambda _: None)] == ["A", "B", "C"]


def test_what_cannot_be_played_is_a_problem_of_its_case_alone(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([{"id": name, "steps": []} for name in ("A", "B")]))

    def world(case: Case) -> Echo:
        if case.id == "A":
            raise NotPlayed("it was refused")
        return Echo(case)

    assert [list(one.problems) for one in play(load(path), world, lambda _: None)] == [["it was refused"], []]


def test_a_manifest_is_what_the_case_defines_and_configures() -> None:
    cases = {case.id: case for case in load(DEFAULT)}
    chained = cases["CHN-12"].manifest
    assert (chained["version"], sorted(chained["workflows"])) == (1, ["demo", "stuck"])
    assert "workflows" not in cases["HUM-04"].manifest
    other = cases["RLD-01"].with_other({"definition": {"initialState": "x"}}).manifest
    assert other["workflows"] == {"demo": {"initialState": "x"}}


def test_only_what_is_named_is_played(tmp_path: Path) -> None:
    def what(**named: Any) -> list[int]:
        found = suites.chosen(named.get("registry"), named.get("workflow"), factor=1, only=named.get("only"))
        return [len(suite.cases) for suite in found]

    registry, workflows = what()
    assert min(registry, workflows) > 100
    assert what(workflow=DEFAULT) == [workflows]
    assert what(only=["VER-01"]) == [1]
    with pytest.raises(ValueError, match="there is no such case"):
        what(only=["nothing"])
    for text in ("[{}]", "{", "[1]", '{"id": 1}'):
        (tmp_path / "bad.json").write_text(text)
        for kind in ("registry", "workflow"):
            with pytest.raises(ValueError, match=r"bad\.json: "):
                what(**{kind: tmp_path / "bad.json"})
