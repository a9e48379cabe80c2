"""`signpost workflow resolve` and `cancel` on a deployed stack, of a step whose executor crashed."""

import subprocess
from collections.abc import Callable

import pytest

from tests.support.commands import Run
from tests.support.executed_workflows import Workshop, function, one_step, workshop
from tests.support.executors import Executors

pytestmark = pytest.mark.cloud

RESOLVE, CANCEL = "workflow.resolve", "workflow.cancel"


@pytest.fixture
def there(executors: Executors) -> Workshop:
    return workshop(executors)


@pytest.fixture
def said(there: Workshop, signpost: Run) -> "Callable[..., subprocess.CompletedProcess[str]]":
    """A command of somebody with this credential."""

    def run(key: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        stack = there.executors.gateway.deployed.name
        return signpost("workflow", *arguments, "--yes", "--stack", stack, SIGNPOST_AUTHORIZATION=key)

    return run


def doubtful(there: Workshop) -> str:
    """The id of a run."""
    executor = function("trials::exit", arguments={})
    there.publish(workflows={"leaving": one_step(executor=executor, output={"left": "$.output"})})
    at = there.start("leaving")
    crashed = there.submit(at, "go")
    assert (crashed["error"]["code"], crashed["inDoubt"]["transition"]) == ("EXECUTOR_FAILED", "go")
    return at["workflowId"]


def test_somebody_who_may_says_what_came_of_it(
    there: Workshop, said: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    run, may = doubtful(there), there.key_with(RESOLVE)
    refused = said(there.key, "resolve", run, "--happened")
    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (
        1,
        "signpost: $resolve needs the permission workflow.resolve.",
    )
    happened = said(may, "resolve", run, "--happened", "--output", '["R-1"]')
    stands = f"{run} is in state done, version 2, and has ended."
    assert (happened.returncode, happened.stdout.splitlines()[-1]) == (0, stands), happened
    assert there.get(run)["context"] == {"left": ["R-1"]}
    late = said(may, "resolve", run, "--did-not-happen")
    assert late.stderr.endswith("\nsignpost: No step of this run is in doubt; it is in state done.\n"), late


def test_what_did_not_happen_is_left_and_then_cancelled(
    there: Workshop, said: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    run, may = doubtful(there), there.key_with(RESOLVE, CANCEL)
    in_doubt = said(may, "cancel", run)
    assert (in_doubt.returncode, "its result is unknown" in in_doubt.stderr) == (1, True), in_doubt
    left = said(may, "resolve", run, "--did-not-happen")
    assert (left.returncode, left.stdout.splitlines()[-1]) == (0, f"{run} is in state open, version 1."), left
    refused = said(there.key_with(RESOLVE), "cancel", run)
    assert (refused.returncode, "workflow.cancel" in refused.stderr) == (1, True), refused
    ended = said(may, "cancel", run)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, f"{run} is in state open, version 2, cancelled.")
    assert there.get(run)["terminal"] is True


def test_what_is_executed_once_more_can_be_in_doubt_again(
    there: Workshop, said: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    run, may = doubtful(there), there.key_with(RESOLVE)
    again = said(may, "resolve", run, "--retry")
    assert (again.returncode, "The step was executed again, and is in doubt again" in again.stderr) == (1, True), again
    stands = f"{run} is in state done, version 2, and has ended."  # at once: what crashed goes on no more
    happened = said(may, "resolve", run, "--happened")
    assert (happened.returncode, happened.stdout.splitlines()[-1]) == (0, stands), happened
