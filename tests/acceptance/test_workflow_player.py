"""The player of workflow cases notices what is wrong, says why it skips, and makes times longer."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import suites
from tests.acceptance.outcomes import CaseNotPlayed, Outcome
from tests.acceptance.report import exit_code, lines
from tests.acceptance.workflow_cases import DEFAULT, Case, Step, load
from tests.acceptance.workflow_player import play, sort_by_sleep

OPEN = {"workflowId": "wf_1", "state": "open", "version": 1}


class EchoWorld:
    """A world that answers the arguments of what it is asked."""

    def __init__(self, case: Case) -> None:
        del case  # it is every case's

    def play(self, step: Step) -> Any:
        return step.args


@pytest.fixture
def write_cases(tmp_path: Path) -> Callable[..., Path]:
    """A file of a case with these members."""

    def write(*steps: Mapping[str, Any], **members: Any) -> Path:
        path = tmp_path / "cases.json"
        row = {"id": "A-1", "title": "a case", "definition": None, **members, "steps": steps}
        path.write_text(json.dumps([row]))
        return path

    return write


def play_file(path: Path, factor: float = 1) -> Outcome:
    (outcome,) = play(load(path, factor), EchoWorld, lambda _: None)
    return outcome


def get_step(args: Mapping[str, Any], **members: Any) -> Mapping[str, Any]:
    return {"tool": "workflow.get", "args": args, **members}


def test_a_case_with_the_expected_answers_has_no_problems(write_cases: Callable[..., Path]) -> None:
    first = get_step(OPEN, expect={"state": "open"}, save={"v": "$.version"})
    second = get_step({"version": "{{v+1}}"}, expect={"version": 2})
    assert play_file(write_cases(first, second)).problems == ()


WRONG: list[tuple[Mapping[str, Any], str]] = [
    (get_step(OPEN, expect={"state": "done"}), "$.state is 'open', not 'done'"),
    (get_step(OPEN, expect={"terminal": True}), "$.terminal is missing"),
    (get_step(OPEN, expectError="not found"), "no error like 'not found'"),
    (get_step({"error": {"code": "X", "message": "no"}}, expectError="yes"), "no error like 'yes'"),
    (get_step(OPEN, expectMs={"$lt": 0}), "the time it took is "),
    (get_step({"v": "{{nowhere}}"}), "it could not be played: KeyError('nowhere')"),
    (get_step(OPEN, expect={"state": {"$how": 1}}), "it could not be played: KeyError('$how')"),
]


@pytest.mark.parametrize(("step", "says"), WRONG, ids=[says for _, says in WRONG])
def test_an_unexpected_answer_is_a_problem_in_the_report(
    write_cases: Callable[..., Path], step: Mapping[str, Any], says: str
) -> None:
    outcome = play_file(write_cases(step))
    assert any(says in problem for problem in outcome.problems), outcome
    *_, fell, summed = lines([outcome])
    assert fell.startswith("FAILED A-1 a case: ")
    assert summed == "0 passed, 1 failed, 0 skipped"
    assert exit_code([outcome]) == 1


def test_only_the_first_step_with_problems_is_reported(write_cases: Callable[..., Path]) -> None:
    wrong = get_step(OPEN, expect={"state": "done", "version": 2})
    assert [problem[:6] for problem in play_file(write_cases(get_step(OPEN), wrong, wrong)).problems] == [
        "step 2",
        "step 2",
    ]


def test_an_expected_error_is_matched_in_any_case(write_cases: Callable[..., Path]) -> None:
    refused = get_step({"error": {"code": "NOT_FOUND", "message": "Unknown."}}, expectError="not_found")
    assert play_file(write_cases(refused)).problems == ()


SKIPPED = [
    (["cli"], "requires cli (an executor that runs programs)"),
    (["audit", "rest", "mcp"], "requires mcp (an executor that calls another MCP server), rest (an executor"),
    (["telepathy"], "requires telepathy, which this player does not know"),
]


@pytest.mark.parametrize(("requires", "says"), SKIPPED)
def test_a_skipped_case_is_reported_with_its_reason(
    write_cases: Callable[..., Path], requires: list[str], says: str
) -> None:
    outcome = play_file(write_cases(get_step(OPEN), requires=requires))
    assert outcome.skipped.startswith(says)
    first, summed = lines([outcome])
    assert first.startswith(f"skipped A-1 a case: {says}")
    assert summed == "0 passed, 0 failed, 1 skipped"
    assert exit_code([outcome]) == 0


def test_all_times_of_a_case_are_multiplied(write_cases: Callable[..., Path]) -> None:
    definition = {
        "timeoutMs": 250,
        "states": {"a": {"transitions": {"go": {"executor": {"script": [{"delayMs": 15}]}}}}},
    }
    sleep = {"tool": "$sleep", "args": {"ms": 40}}
    timed = get_step({"ms": 3, "timeoutMs": {"type": "integer"}}, expectMs={"$lt": 690}, expect={"timeoutMs": 250})
    (case,) = load(write_cases(sleep, timed, definition=definition, definitionId="d"), 2.5)
    assert json.dumps(case.definition) == json.dumps(definition).replace("250", "625").replace("15", "38")
    assert case.sleeps == pytest.approx(0.1)
    assert (case.steps[1].milliseconds, case.steps[1].expect) == ({"$lt": 1725}, {"timeoutMs": 625})
    assert case.steps[1].args == {"ms": 3, "timeoutMs": {"type": "integer"}}


def test_retry_delays_and_the_expiry_of_approval_requests_are_multiplied(write_cases: Callable[..., Path]) -> None:
    retry = {"maxAttempts": 3, "backoff": "exponential", "initialDelayMs": 120, "maxDelayMs": 700}
    asking_a_person = {"executor": {"kind": "human", "expiresMs": 900}}
    transitions = {"go": {"reliability": {"timeoutMs": 400, "retry": retry}}, "ask": asking_a_person}
    definition = {"states": {"a": {"transitions": transitions}}}
    (case,) = load(write_cases(definition=definition, definitionId="d"), 2)
    assert case.definition is not None
    slowed = case.definition["states"]["a"]["transitions"]
    assert slowed["go"]["reliability"]["timeoutMs"] == 800
    assert slowed["go"]["reliability"]["retry"] == {**retry, "initialDelayMs": 240, "maxDelayMs": 1_400}
    assert slowed["ask"]["executor"]["expiresMs"] == 1_800


def test_sleeping_cases_are_played_first_and_reported_in_file_order(tmp_path: Path) -> None:
    naps = {"A": 0, "B": 10, "C": 30}
    rows = [{"id": name, "steps": [{"tool": "$sleep", "args": {"ms": ms}}]} for name, ms in naps.items()]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(rows))
    assert [case.id for case in sort_by_sleep(load(path))] == ["C", "B", "A"]
    assert [outcome.case.id for outcome in play(load(path), EchoWorld, lambda _: None)] == ["A", "B", "C"]


def test_a_case_that_cannot_be_played_does_not_affect_the_others(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([{"id": name, "steps": []} for name in ("A", "B")]))

    def world(case: Case) -> EchoWorld:
        if case.id == "A":
            raise CaseNotPlayed("it was refused")
        return EchoWorld(case)

    assert [list(one.problems) for one in play(load(path), world, lambda _: None)] == [["it was refused"], []]


def test_the_manifest_of_a_case_has_its_definition_and_config() -> None:
    cases = {case.id: case for case in load(DEFAULT)}
    chained = cases["CHN-12"].manifest
    assert (chained["version"], sorted(chained["workflows"])) == (1, ["demo", "stuck"])
    assert "workflows" not in cases["HUM-04"].manifest
    other = cases["RLD-01"].with_other({"definition": {"initialState": "x"}}).manifest
    assert other["workflows"] == {"demo": {"initialState": "x"}}


def test_only_named_files_and_cases_are_chosen(tmp_path: Path) -> None:
    def what(**named: Any) -> list[int]:
        found = suites.choose_suites(named.get("registry"), named.get("workflow"), factor=1, only=named.get("only"))
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
