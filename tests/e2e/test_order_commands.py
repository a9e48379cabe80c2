"""`signpost workflow resolve` and `cancel` on a deployed stack, of a step whose executor crashed."""

import subprocess
from collections.abc import Callable

import pytest

from tests.support.commands import ProcessRunner
from tests.support.executors import Executors
from tests.support.scripted_tenant import ScriptedTenant, build_function_executor, define_one_step, make_scripted_tenant

pytestmark = pytest.mark.cloud

RESOLVE, CANCEL = "workflow.resolve", "workflow.cancel"


@pytest.fixture
def scripted_tenant(executors: Executors) -> ScriptedTenant:
    return make_scripted_tenant(executors)


@pytest.fixture
def run_workflow_command(
    scripted_tenant: ScriptedTenant, signpost: ProcessRunner
) -> "Callable[..., subprocess.CompletedProcess[str]]":
    """A command of somebody with this credential."""

    def run(key: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        stack = scripted_tenant.executors.gateway.deployed.name
        return signpost("workflow", *arguments, "--yes", "--stack", stack, SIGNPOST_AUTHORIZATION=key)

    return run


def start_step_in_doubt(there: ScriptedTenant) -> str:
    """The id of a run."""
    executor = build_function_executor("trials::exit", arguments={})
    there.publish(workflows={"leaving": define_one_step(executor=executor, output={"left": "$.output"})})
    at = there.start("leaving")
    crashed = there.submit(at, "go")
    assert (crashed["error"]["code"], crashed["inDoubt"]["transition"]) == ("EXECUTOR_FAILED", "go")
    return at["workflowId"]


def test_a_permitted_caller_resolves_a_step_in_doubt_as_happened(
    scripted_tenant: ScriptedTenant, run_workflow_command: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    run, may = start_step_in_doubt(scripted_tenant), scripted_tenant.make_key(RESOLVE)
    refused = run_workflow_command(scripted_tenant.key, "resolve", run, "--happened")
    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (
        1,
        "signpost: $resolve needs the permission workflow.resolve.",
    )
    happened = run_workflow_command(may, "resolve", run, "--happened", "--output", '["R-1"]')
    stands = f"{run} is in state done, version 2, and has ended."
    assert (happened.returncode, happened.stdout.splitlines()[-1]) == (0, stands), happened
    assert scripted_tenant.get(run)["context"] == {"left": ["R-1"]}
    late = run_workflow_command(may, "resolve", run, "--did-not-happen")
    assert late.stderr.endswith("\nsignpost: No step of this run is in doubt; it is in state done.\n"), late


def test_an_instance_is_cancelled_after_its_step_is_resolved_as_not_happened(
    scripted_tenant: ScriptedTenant, run_workflow_command: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    run, may = start_step_in_doubt(scripted_tenant), scripted_tenant.make_key(RESOLVE, CANCEL)
    in_doubt = run_workflow_command(may, "cancel", run)
    assert (in_doubt.returncode, "its result is unknown" in in_doubt.stderr) == (1, True), in_doubt
    left = run_workflow_command(may, "resolve", run, "--did-not-happen")
    assert (left.returncode, left.stdout.splitlines()[-1]) == (0, f"{run} is in state open, version 1."), left
    refused = run_workflow_command(scripted_tenant.make_key(RESOLVE), "cancel", run)
    assert (refused.returncode, "workflow.cancel" in refused.stderr) == (1, True), refused
    ended = run_workflow_command(may, "cancel", run)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, f"{run} is in state open, version 2, cancelled.")
    assert scripted_tenant.get(run)["terminal"] is True


def test_a_retried_step_can_be_in_doubt_again(
    scripted_tenant: ScriptedTenant, run_workflow_command: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    run, may = start_step_in_doubt(scripted_tenant), scripted_tenant.make_key(RESOLVE)
    again = run_workflow_command(may, "resolve", run, "--retry")
    assert (again.returncode, "The step was executed again, and is in doubt again" in again.stderr) == (1, True), again
    stands = f"{run} is in state done, version 2, and has ended."  # at once: what crashed goes on no more
    happened = run_workflow_command(may, "resolve", run, "--happened")
    assert (happened.returncode, happened.stdout.splitlines()[-1]) == (0, stands), happened
