"""Checks that lists of runs and of requests have a run as its own rows have it."""

from dataclasses import replace

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.adapters.memory.run_lists import MemoryRunLists
from signpost.workflow.definition import Definition
from signpost.workflow.instance import Instance
from signpost.workflow.run_summary import RunSummary, starter_key
from signpost.workflow.running.serialization import find_open_approval
from signpost.workflow.running.summaries import build_summary
from tests.support.memory_workflows import TENANT

MOST = 1_000


def check_listed(instances: MemoryInstanceStore, definition: Definition, workflow_id: str, now: float) -> None:
    """Check both lists of runs, and that of requests, after any write, crash or race."""
    instance = instances.load(TENANT, workflow_id)
    assert instance is not None
    lists, expected = MemoryRunLists(instances), build_summary(definition, instance, now)
    for starter in (None, starter_key(instance.starter_issuer, instance.started_by)):
        runs = lists.list_runs(TENANT, starter, after="", most=MOST).entries
        (listed,) = [run.summary for run in runs if run.summary.workflow_id == workflow_id]
        _compare(listed, expected, instance, now)
    requests = lists.list_requests(TENANT, after="", most=MOST).entries
    of_run = [request for request in requests if request.approval.workflow_id == workflow_id]
    open_approval = find_open_approval(instance)
    assert [request.approval for request in of_run] == ([] if open_approval is None else [open_approval])
    for request in of_run:
        assert request.summary is not None
        _compare(request.summary, expected, instance, now)


def _compare(listed: RunSummary, expected: RunSummary, instance: Instance, now: float) -> None:
    """Compare all but what changes without a step: the time, and what a run waits for while a step is executed (its
    claim is in no list) and after its request has expired without a record of it."""
    request, claim = instance.open_request, instance.claim
    is_executed = claim is not None and claim.standing == "running"
    has_just_expired = request is not None and request.has_expired(now) and not request.lapsed
    waiting = listed.waiting if is_executed or has_just_expired else expected.waiting
    assert listed == replace(expected, changed_at=listed.changed_at, waiting=waiting)
