"""How the task of a run ends, decided from the run and the outcome of its step."""

from dataclasses import replace

import pytest

from signpost.model import Principal
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Cancellation, Claim, Instance, Job
from signpost.workflow.running.task_endings import NOT_RECEIVED, NOT_SHOWN, find_task_end
from signpost.workflow.task_ends import TaskEnd, TaskReply

NOW = 5.0
TASK = Instance("wf_1", "proxy_default", "call:once:a", "ready", 1, {}, {}, 1.0, is_task=True)
CLAIM = Claim("token", "waiting", Job("a", {}, Principal("s", "t", "i")), since=1.0, until=2.0)
REPLY = TaskReply({"result": 7})


@pytest.mark.parametrize(
    "instance",
    [
        replace(TASK, is_task=False),
        replace(TASK, claim=CLAIM),
        replace(TASK, claim=replace(CLAIM, standing="running")),
        replace(TASK, claim=replace(CLAIM, awaits="retry")),
        replace(TASK, claim=replace(CLAIM, awaits="answers")),
    ],
    ids=["no task", "queued", "running", "retried", "asking"],
)
@pytest.mark.parametrize("outcome", [None, ExecutorOutcome(task_reply=REPLY), ExecutorFailure("timeout", "Late.")])
def test_a_run_that_is_no_task_or_still_under_way_has_no_end(
    instance: Instance, outcome: ExecutorOutcome | ExecutorFailure | None
) -> None:
    assert find_task_end(instance, outcome, NOW) is None


@pytest.mark.parametrize(
    ("outcome", "end"),
    [
        (ExecutorOutcome(7, task_reply=REPLY), TaskEnd("completed", NOW, reply=REPLY)),
        (ExecutorOutcome(7), TaskEnd("failed", NOW, NOT_SHOWN, is_effect_unknown=True)),
        (ExecutorFailure("permanent_error", "No.", task_reply=REPLY), TaskEnd("completed", NOW, reply=REPLY)),
        (
            ExecutorFailure("timeout", "Late.", "unknown", code="timed_out"),
            TaskEnd("failed", NOW, "Late.", code="timed_out", is_effect_unknown=True),
        ),
        (ExecutorFailure("access_lost", "Your key was revoked."), TaskEnd("failed", NOW, "Your key was revoked.")),
        (None, TaskEnd("failed", NOW, NOT_RECEIVED, is_effect_unknown=True)),
    ],
)
def test_the_outcome_of_the_step_decides_the_end(
    outcome: ExecutorOutcome | ExecutorFailure | None, end: TaskEnd
) -> None:
    assert find_task_end(TASK, outcome, NOW) == end


def test_a_step_in_doubt_fails_with_the_sentence_of_its_claim() -> None:
    doubtful = replace(TASK, claim=replace(CLAIM, standing="in_doubt", message="The worker never reported."))
    assert find_task_end(doubtful, None, NOW) == TaskEnd(
        "failed", NOW, "The worker never reported.", is_effect_unknown=True
    )


def test_a_run_that_was_cancelled_is_a_cancelled_task() -> None:
    cancelled = replace(TASK, cancelled=Cancellation("s", NOW))
    end = find_task_end(cancelled, ExecutorOutcome(7, task_reply=REPLY), NOW)
    assert end is not None
    assert (end.status, end.at, end.reply) == ("cancelled", NOW, None)
