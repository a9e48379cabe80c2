"""Workflows for tests of the operator's commands, and runners of the commands."""

from collections.abc import Mapping

import pytest

from signpost.adapters.source_files import read_values
from signpost.cli import main
from signpost.model import Principal
from tests.support.example_workflows import EXAMPLES
from tests.support.operated_workflows import OperatedWorkflows, Printed
from tests.support.workflow_world import TENANT


def person(subject: str, *roles: str) -> Principal:
    return Principal(subject, TENANT, "t", frozenset(roles), human=True)


CALLERS: Mapping[str, Principal] = {
    "agent": Principal("agent-1", TENANT, "t", frozenset({"finance"})),
    "ann": person("ann"),
    "fay": person("fay", "finance"),
    "finn": person("finn", "finance"),
}


@pytest.fixture
def operated(monkeypatch: pytest.MonkeyPatch) -> OperatedWorkflows:
    operated = OperatedWorkflows(CALLERS, monkeypatch)
    for example in ("expense-approval", "deploy-pipeline"):
        ((name, document),) = read_values(EXAMPLES[example] / "manifest.yaml")["workflows"].items()
        operated.publish(name, document)
    return operated


@pytest.fixture
def signpost(operated: OperatedWorkflows, capsys: pytest.CaptureFixture[str]) -> Printed:
    """Return a runner of commands that must succeed, with a person logged in; it returns the output."""

    def run(*arguments: str, who: str = "", tenant: str = TENANT) -> str:
        operated.at_terminal = who
        assert main([*arguments, "--tenant", tenant]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(operated: OperatedWorkflows, capsys: pytest.CaptureFixture[str]) -> Printed:
    """Return a runner of commands that must fail; it returns their error text."""

    def run(*arguments: str, who: str = "", tenant: str = TENANT) -> str:
        operated.at_terminal = who
        capsys.readouterr()
        assert main([*arguments, "--tenant", tenant]) == 1
        return capsys.readouterr().err

    return run
