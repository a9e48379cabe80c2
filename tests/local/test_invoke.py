"""A small project with one built function, and its events."""

import json
from pathlib import Path

import pytest

from local.account import Account
from local.invoke import Sandboxes, cases_of, run
from local.json_values import Json
from local.project import Project

TEMPLATE = """
Parameters:
  Mode: {Type: String, Default: none, AllowedValues: [none, jwt]}
Resources:
  Table: {Type: AWS::DynamoDB::Table}
  EchoFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: CODE
      Handler: app.handler
      Environment: {Variables: {MODE: !Ref Mode, TABLE: !Ref Table}}
"""
CODE = """
import os
def handler(event, context):
    print("seen", event)
    if event.get("fail"):
        raise ValueError("asked to")
    return {**event, "mode": os.environ["MODE"], "table": os.environ["TABLE"], "pid": os.getpid()}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    code = tmp_path / "build" / "EchoFunction"
    for folder in (code, tmp_path / "functions" / "echo", tmp_path / "events" / "echo"):
        folder.mkdir(parents=True)
    (code / "app.py").write_text(CODE)
    (tmp_path / "template.yaml").write_text(TEMPLATE.replace("CODE", "functions/echo"))
    (tmp_path / "build" / "template.yaml").write_text(TEMPLATE.replace("CODE", "EchoFunction"))
    return Project(tmp_path, tmp_path / "build")


def write(project: Project, file: str, document: Json) -> None:
    (project.root / "events" / "echo" / file).write_text(json.dumps(document))


def run_and_read_output(
    project: Project, capsys: pytest.CaptureFixture[str], function: str | None = None, case: str | None = None
) -> list[str]:
    """What is printed; the number of failures that is returned must be the one that is printed."""
    failed = run(project, Sandboxes(project, Account(), {"Table": "table-1"}), function, case)
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].endswith(f" {failed} failed")
    return printed


def test_a_case_passes_if_the_answer_matches(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "good.json", {"a": 1})
    write(project, "good.expected.json", {"a": 1, "mode": "none", "table": "table-1"})
    first, last = run_and_read_output(project, capsys)
    assert first.startswith("echo/good ")
    assert first.endswith(" ms  ok")
    assert last == "1 passed, 0 failed"


def test_a_failed_case_shows_the_mismatch_and_the_log_of_the_function(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, "bad.json", {"a": 1})
    write(project, "bad.expected.json", {"a": 2})
    first, *rest = run_and_read_output(project, capsys)
    assert first.endswith("FAILED")
    assert rest == ["    a: expected 2, found 1", "    | seen {'a': 1}", "0 passed, 1 failed"]


def test_an_expected_error_passes(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "error.json", {"fail": True})
    write(project, "error.expected.json", {"errorType": "ValueError", "errorMessage": "asked to"})
    assert run_and_read_output(project, capsys)[-1] == "1 passed, 0 failed"


def test_an_unexpected_error_is_named(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "error.json", {"fail": True})
    write(project, "error.expected.json", {"statusCode": 200})
    assert run_and_read_output(project, capsys)[1:3] == [
        "    the function failed: ValueError: asked to",
        "    statusCode: expected 200, found nothing",
    ]


def test_settings_are_parameters_of_the_template(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "jwt.json", {})
    write(project, "jwt.settings.json", {"parameters": {"Mode": "jwt"}})
    write(project, "jwt.expected.json", {"mode": "jwt"})
    assert run_and_read_output(project, capsys)[-1] == "1 passed, 0 failed"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"parameters": {"Mode": "typo"}}, "    parameter Mode may not be 'typo'"),
        ({"parameters": {"Typo": "jwt"}}, "    the template has no parameter Typo"),
        ({"typo": {}}, '    case.settings.json: expected an object with the only key "parameters"'),
        ([], "    case.settings.json: expected a JSON object"),
    ],
)
def test_invalid_settings_fail_the_case(
    project: Project, capsys: pytest.CaptureFixture[str], settings: Json, complaint: str
) -> None:
    write(project, "case.json", {})
    write(project, "case.settings.json", settings)
    write(project, "case.expected.json", {})
    assert complaint in run_and_read_output(project, capsys)


def test_cases_with_the_same_settings_share_a_sandbox(project: Project) -> None:
    for name, mode in (("a", "jwt"), ("b", "jwt"), ("c", "none")):
        write(project, f"{name}.json", {})
        write(project, f"{name}.settings.json", {"parameters": {"Mode": mode}})
    sandboxes = Sandboxes(project, Account(), {})
    first, second, other = (sandboxes.invoke(case) for case in cases_of("echo", project.root))
    sandboxes.close()
    assert (first.init_ms is None, second.init_ms is None, other.init_ms is None) == (False, True, False)


@pytest.mark.parametrize(
    ("present", "complaint"),
    [
        ("case.json", "    there is no case.expected.json"),
        ("case.expected.json", "    there is no case.json"),
        ("case.settings.json", "    there is no case.json"),
    ],
)
def test_a_case_that_lacks_a_file_fails(
    project: Project, capsys: pytest.CaptureFixture[str], present: str, complaint: str
) -> None:
    write(project, present, {})
    assert run_and_read_output(project, capsys)[1:] == [complaint, "0 passed, 1 failed"]


def test_a_function_that_was_not_built_fails_its_cases(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "case.json", {})
    write(project, "case.expected.json", {})
    (project.build / "EchoFunction").rename(project.build / "elsewhere")
    _, complaint, last = run_and_read_output(project, capsys)
    assert "No such file or directory" in complaint
    assert last == "0 passed, 1 failed"


def test_a_function_without_events_fails(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_and_read_output(project, capsys)[1:] == ["    there is no event in events/echo", "0 passed, 1 failed"]


def test_events_without_a_function_fail(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    (project.root / "events" / "ecco").mkdir()
    assert "    there is no functions/ecco" in run_and_read_output(project, capsys)


def test_a_selection_without_cases_fails(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "good.json", {})
    write(project, "good.expected.json", {})
    assert run_and_read_output(project, capsys, "echo", "good")[-1] == "1 passed, 0 failed"
    assert run_and_read_output(project, capsys, "echo", "typo")[-2:] == [
        "    there is no such case",
        "0 passed, 1 failed",
    ]
