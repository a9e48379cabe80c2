"""Decides how the task of a run ends when a step of the run is written."""

from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import Instance
from signpost.workflow.task_ends import TaskEnd

NOT_RECEIVED = "The function was called, and its result was not received."
NOT_SHOWN = "The function ran, but its result does not satisfy its output schema and is not shown."


def find_task_end(instance: Instance, outcome: ExecutorOutcome | ExecutorFailure | None, now: float) -> TaskEnd | None:
    """Return the end of the task with which the instance is written; None if it is no task, or if its step is still
    under way: it waits for a worker or for answers, or is executed.

    `outcome` is that of the execution in this step; None without one. Every write without a step under way ends the
    task, so that no task stays without an end.
    """
    claim = instance.claim
    if not instance.is_task or (claim is not None and claim.standing != "in_doubt"):
        return None
    if instance.cancelled is not None:
        return build_cancelled_end(now)
    match outcome:
        case ExecutorOutcome(task_reply=None):
            return TaskEnd("failed", now, NOT_SHOWN, is_effect_unknown=True)
        case ExecutorOutcome(task_reply=reply) | ExecutorFailure(task_reply=reply) if reply is not None:
            return TaskEnd("completed", now, reply=reply)
        case ExecutorFailure():
            is_unknown = outcome.outcome == "unknown"
            return TaskEnd("failed", now, outcome.message, code=outcome.code, is_effect_unknown=is_unknown)
        case _:
            return build_lost_end(instance, now)


def build_lost_end(instance: Instance, now: float) -> TaskEnd:
    """Build the end of a task whose function was called and never reported a result."""
    message = "" if instance.claim is None else instance.claim.message
    return TaskEnd("failed", now, message or NOT_RECEIVED, is_effect_unknown=True)


def build_cancelled_end(now: float) -> TaskEnd:
    return TaskEnd("cancelled", now, "The task was cancelled.")
