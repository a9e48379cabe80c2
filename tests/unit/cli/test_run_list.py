"""`signpost workflow runs`, and `signpost approvals` without AWS credentials."""

import json
import re

import pytest

from signpost.cli import main, stack
from tests.support.gateway_workflows import TENANT
from tests.support.operator_workflows import (
    CLAIM,
    DEPLOY,
    EXPENSE,
    URL,
    CommandRunner,
    OperatorWorkflows,
    start_expense_claim,
    start_workflow,
    submit_transition,
)

RUNS, AS_ONESELF = ("workflow", "runs"), ("--url", URL)


def start_deployment(operated: OperatorWorkflows) -> str:
    operated.world.clock.advance(1)
    return start_workflow(operated, DEPLOY, service="billing", revision="0a1b2c3")


def ids_of(printed: str) -> list[str]:
    return [json.loads(line)["id"] for line in printed.splitlines()]


@pytest.fixture
def without_aws(operator_workflows: OperatorWorkflows, monkeypatch: pytest.MonkeyPatch) -> OperatorWorkflows:
    """The same workflows for a person without AWS credentials."""
    monkeypatch.setattr(stack, "open_workflows", None)
    return operator_workflows


@pytest.mark.parametrize("source", [(), AS_ONESELF], ids=("stack", "endpoint"))
def test_runs_are_listed_newest_first_in_a_table(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, source: tuple[str, ...]
) -> None:
    assert signpost(*RUNS, *source, who="agent") == "There are no such runs.\n"
    expense, _ = start_expense_claim(operator_workflows)
    deployment = start_deployment(operator_workflows)
    heading, first, second = signpost(*RUNS, *source, who="agent").splitlines()
    assert re.split(r"  +", heading) == ["RUN", "WORKFLOW", "STATE", "WAITS FOR", "STARTED AT", "CHANGED AT", "TITLE"]
    assert re.split(r"  +", first)[:2] == [deployment, DEPLOY]
    assert re.split(r"  +", second)[:6] == [
        expense,
        EXPENSE,
        "with_finance",
        "human",
        "2027-01-15T08:00:00Z",
        "2027-01-15T08:00:00Z",
    ]


@pytest.mark.parametrize("source", [(), AS_ONESELF], ids=("stack", "endpoint"))
def test_options_and_words_narrow_the_list(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, source: tuple[str, ...]
) -> None:
    expense, _ = start_expense_claim(operator_workflows)
    deployment = start_deployment(operator_workflows)

    def listed(*options: str) -> list[str]:
        return ids_of(signpost(*RUNS, *options, "--json", *source, who="agent"))

    assert listed() == [deployment, expense]
    assert listed("--state", "with_finance") == [expense]
    assert listed("--definition", DEPLOY) == [deployment]
    assert listed("--waiting", "human") == [expense]
    assert listed("--fault") == []
    assert listed("--no-fault") == [deployment, expense]
    assert listed("the", "expense") == [expense]
    assert listed("nothing") == []


@pytest.mark.parametrize("source", [(), AS_ONESELF], ids=("stack", "endpoint"))
def test_a_list_goes_on_at_its_cursor(
    operator_workflows: OperatorWorkflows, capsys: pytest.CaptureFixture[str], source: tuple[str, ...]
) -> None:
    runs = [start_deployment(operator_workflows) for _ in range(3)]
    operator_workflows.terminal_caller = "agent"
    command = [*RUNS, "--limit", "2", "--json", *source, "--tenant", TENANT]
    capsys.readouterr()
    assert main(command) == 0
    first = capsys.readouterr()
    assert ids_of(first.out) == runs[:0:-1]
    assert main([*command, "--cursor", first.err.rsplit("--cursor ", 1)[1].strip()]) == 0
    second = capsys.readouterr()
    assert (ids_of(second.out), second.err) == ([runs[0]], "")


def test_a_long_list_is_fetched_with_several_calls(without_aws: OperatorWorkflows, signpost: CommandRunner) -> None:
    runs = [start_deployment(without_aws) for _ in range(210)]
    assert ids_of(signpost(*RUNS, "--limit", "300", "--json", *AS_ONESELF, who="agent")) == runs[::-1]


def test_own_runs_are_listed_without_aws_credentials(without_aws: OperatorWorkflows, signpost: CommandRunner) -> None:
    run = start_deployment(without_aws)
    assert ids_of(signpost(*RUNS, "--mine", "--json", *AS_ONESELF, who="agent")) == [run]
    assert ids_of(signpost(*RUNS, "--mine", "--json", *AS_ONESELF, who="fay")) == []
    assert ids_of(signpost(*RUNS, "--json", *AS_ONESELF, who="fay")) == [run]


def test_own_runs_cannot_be_told_by_aws_credentials(failing_signpost: CommandRunner) -> None:
    assert "--mine needs --url" in failing_signpost(*RUNS, "--mine")


@pytest.mark.usefixtures("without_aws")
def test_a_refusal_of_the_server_is_reported(failing_signpost: CommandRunner) -> None:
    assert "This cursor is not valid" in failing_signpost(*RUNS, "--cursor", "made up", *AS_ONESELF, who="agent")


def test_an_approver_lists_and_shows_requests_without_aws_credentials(
    without_aws: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, request = start_expense_claim(without_aws)
    heading, row = signpost("approvals", "list", *AS_ONESELF, who="fay").splitlines()
    assert re.split(r"  +", heading) == ["REQUEST", "QUEUE", "WORKFLOW", "ASKED BY", "ASKED AT", "UNTIL", "APPROVED BY"]
    assert re.split(r"  +", row) == [request, "finance", EXPENSE, "agent-1", "2027-01-15 08:00:00Z", "-", "-"]
    assert "Did you mean finance?" in signpost("approvals", "list", "--queue", "finanse", *AS_ONESELF, who="fay")
    (listed,) = map(json.loads, signpost("approvals", "list", "--json", *AS_ONESELF, who="fay").splitlines())
    assert (listed["workflow"], listed["state"], listed["shows"]) == (run, "with_finance", list(CLAIM))
    shown = signpost("approvals", "show", request, *AS_ONESELF, who="fay")
    assert shown == signpost("approvals", "show", run, *AS_ONESELF, who="fay")
    assert shown.startswith(
        f"expense_approval, {run}: in state with_finance, version 3\nrequest {request} in the queue"
    )
    assert "\napprove (approves): Approve the expense\n" in shown
    described = json.loads(signpost("approvals", "show", request, "--json", *AS_ONESELF, who="fay"))
    assert (described["values"], described["digest"]) == (CLAIM, listed["digest"])


def test_an_approver_decides_by_the_id_of_the_request_without_aws_credentials(
    without_aws: OperatorWorkflows, signpost: CommandRunner, failing_signpost: CommandRunner
) -> None:
    _, request = start_expense_claim(without_aws)
    printed = signpost("approvals", "approve", request, "--yes", *AS_ONESELF, who="fay")
    assert printed.endswith("The request stays open in the queue finance; approved so far by fay.\n")
    (listed,) = map(json.loads, signpost("approvals", "list", "--json", *AS_ONESELF, who="fay").splitlines())
    assert listed["approvedBy"] == ["fay"]
    missing = failing_signpost("approvals", "approve", "hr_missing", "--yes", *AS_ONESELF, who="fay")
    assert "There is no open approval request hr_missing. See `signpost approvals list`" in missing


def test_requests_of_several_pages_are_listed_oldest_first(
    without_aws: OperatorWorkflows, signpost: CommandRunner
) -> None:
    requests = []
    for _ in range(3):
        without_aws.world.clock.advance(1)
        requests.append(start_expense_claim(without_aws)[1])
    printed = signpost("approvals", "list", "--json", *AS_ONESELF, who="fay")
    assert [json.loads(line)["request"] for line in printed.splitlines()] == requests


def test_the_deadline_of_a_request_is_listed(without_aws: OperatorWorkflows, signpost: CommandRunner) -> None:
    run = start_deployment(without_aws)
    submit_transition(
        without_aws,
        run,
        "report_build",
        service="billing",
        revision="0a1b2c3",
        lint="clean",
        failedTests=0,
        coverage=91,
    )
    submit_transition(without_aws, run, "ask_for_release", notes="Invoices")
    assert "  2027-01-15 12:00:01Z  " in signpost("approvals", "list", *AS_ONESELF, who="agent")
