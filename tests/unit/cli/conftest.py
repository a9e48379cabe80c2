"""Workflows for tests of the operator's commands, and runners of the commands."""

from collections.abc import Mapping

import pytest

from signpost.adapters.source_files import read_values
from signpost.cli import main
from signpost.model import Principal
from tests.support.example_workflows import EXAMPLES
from tests.support.gateway_workflows import TENANT
from tests.support.operator_workflows import CommandRunner, OperatorWorkflows


def make_person(subject: str, *roles: str) -> Principal:
    return Principal(subject, TENANT, "t", frozenset(roles), human=True)


CALLERS: Mapping[str, Principal] = {
    "agent": Principal("agent-1", TENANT, "t", frozenset({"finance"})),
    "ann": make_person("ann"),
    "fay": make_person("fay", "finance"),
    "finn": make_person("finn", "finance"),
}


@pytest.fixture
def operator_workflows(monkeypatch: pytest.MonkeyPatch) -> OperatorWorkflows:
    operator_workflows = OperatorWorkflows(CALLERS, monkeypatch)
    for example in ("expense-approval", "deploy-pipeline"):
        ((name, document),) = read_values(EXAMPLES[example] / "manifest.yaml")["workflows"].items()
        operator_workflows.publish(name, document)
    return operator_workflows


@pytest.fixture
def signpost(operator_workflows: OperatorWorkflows, capsys: pytest.CaptureFixture[str]) -> CommandRunner:
    """Return a runner of commands that must succeed, with a person logged in; it returns the output."""

    def run(*arguments: str, who: str = "", tenant: str = TENANT) -> str:
        operator_workflows.terminal_caller = who
        assert main([*arguments, "--tenant", tenant]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


@pytest.fixture
def failing_signpost(operator_workflows: OperatorWorkflows, capsys: pytest.CaptureFixture[str]) -> CommandRunner:
    """Return a runner of commands that must fail; it returns their error text."""

    def run(*arguments: str, who: str = "", tenant: str = TENANT) -> str:
        operator_workflows.terminal_caller = who
        capsys.readouterr()
        assert main([*arguments, "--tenant", tenant]) == 1
        return capsys.readouterr().err

    return run
