"""What `signpost workflow verify` prints; `tests/attacks` runs it against tables that were changed."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from signpost.cli import verification
from signpost.workflow.running.verification import RunRecord, UnreadableRow
from tests.support.operator_workflows import (
    CLAIM,
    CommandRunner,
    OperatorWorkflows,
    start_expense_claim,
    start_workflow,
    submit_transition,
)


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "PAUSE", 0.0)


type ChangeRecord = Callable[[RunRecord, int], RunRecord]


def change_reads(operated: OperatorWorkflows, change: ChangeRecord) -> list[int]:
    """Let the command read changed records. `change` gets the number of the read, from 1."""
    read, reads = operated.world.instances.read_record, list[int]()

    def read_changed(tenant: str, workflow_id: str) -> RunRecord | None:
        reads.append(len(reads) + 1)
        record = read(tenant, workflow_id)
        return None if record is None else change(record, reads[-1])

    operated.world.instances.read_record = read_changed
    return reads


def fail_reads(operated: OperatorWorkflows, fault: Exception) -> None:
    def fail(tenant: str, workflow_id: str) -> RunRecord | None:
        del tenant, workflow_id
        raise fault

    operated.world.instances.read_record = fail


def test_a_run_that_agrees_is_described_with_its_newest_hash(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, _ = start_expense_claim(operator_workflows)
    first, second = signpost("workflow", "verify", run).splitlines()
    assert first.startswith(f"{run} agrees with its hashes: writes 1 to ")
    found = json.loads(signpost("workflow", "verify", run, "--json"))
    assert second == f"The newest hash is {found['newest']['hash']}."
    assert found["is_complete"]
    assert signpost("workflow", "verify", run, "--hash", found["newest"]["hash"]).startswith(first)


def test_a_run_that_was_changed_is_reported_with_the_place_and_the_next_step(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner
) -> None:
    run, _ = start_expense_claim(operator_workflows)

    def rename_version(record: RunRecord, _: int) -> RunRecord:
        first, second, *others = record.history
        return replace(record, history=[first, replace(second, version=7), *others])

    change_reads(operator_workflows, rename_version)
    said = failing_signpost("workflow", "verify", run)
    assert f"{run} does not agree with its hashes. The first place is write 2 (version 3): its row of the" in said
    assert "docs/operations.md, Restore" in said


def test_a_fault_that_only_one_read_shows_is_no_fault(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner
) -> None:
    run, _ = start_expense_claim(operator_workflows)

    def leave_out(record: RunRecord, number: int) -> RunRecord:
        return replace(record, audit=record.audit[:-1]) if number == 1 else record

    reads = change_reads(operator_workflows, leave_out)
    assert "agrees with its hashes" in signpost("workflow", "verify", run)
    assert len(reads) == 2


def test_an_unreadable_row_is_named(operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner) -> None:
    run = start_workflow(operator_workflows)
    fail_reads(operator_workflows, UnreadableRow("history#0000000001"))
    assert "the row history#0000000001: it does not have the form" in failing_signpost("workflow", "verify", run)


def test_a_missing_object_of_the_bucket_is_named(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner
) -> None:
    run = start_workflow(operator_workflows)
    fail_reads(operator_workflows, LookupError("values/x was changed."))
    assert "a value in the content bucket: values/x was changed." in failing_signpost("workflow", "verify", run)


def test_an_unknown_run_is_reported_with_the_next_step(failing_signpost: CommandRunner) -> None:
    assert "No run of a workflow in tenant 'acme' has the id 'wf_1'" in failing_signpost("workflow", "verify", "wf_1")


def test_a_hash_that_no_write_has_is_reported(
    operator_workflows: OperatorWorkflows, failing_signpost: CommandRunner
) -> None:
    run = start_workflow(operator_workflows)
    assert "no write has the hash 00ff" in failing_signpost("workflow", "verify", run, "--hash", "00ff")


def test_a_chain_that_begins_in_a_run_is_described_with_its_version(
    operator_workflows: OperatorWorkflows, signpost: CommandRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("signpost.workflow.running.step_writer.link_write", _leave_unlinked)
        run = start_workflow(operator_workflows)
    operator_workflows.world.clock.advance(1.0)
    submit_transition(operator_workflows, run, "claim", **CLAIM)
    assert "The hashes begin with version 3: an earlier release wrote what is before it" in signpost(
        "workflow", "verify", run
    )


def _leave_unlinked(_tenant: str, _last: object, write: object, _now: float) -> object:
    return write
