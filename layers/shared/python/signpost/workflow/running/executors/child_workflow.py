"""Runs workflows that are steps of other workflows. A child is started once, no process is occupied with waiting for
it, and its end is the result of the step."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, cast

from signpost.model import as_object
from signpost.workflow.audit_events import child_completed, child_failed, child_started, child_timed_out
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import (
    CHILD_CHECK_INTERVAL,
    FIRST_VERSION,
    Instance,
    InstanceFault,
    child_id_of,
    has_ended,
    is_over,
)
from signpost.workflow.ports import Deferral, StepExecutor
from signpost.workflow.running.service import LoadedInstance, StartRequest, WorkflowRefusal, Workflows
from signpost.workflow.values import apply_mapping

if TYPE_CHECKING:
    from signpost.ports import Clock
    from signpost.workflow.ports import StepAttempt, StepOutcome

CANCEL_CHECK_INTERVAL = 60.0
"""Seconds between two checks of a child workflow that cannot be cancelled yet."""
MAX_CHILD_DEPTH = 10
"""How many workflows may wait for each other in a row."""


class ChildWorkflowExecutor(StepExecutor):
    """The step executor of the kind `workflow`. Its attempts have no timeout, since no caller waits for a child, and do
    not linger: each only starts or checks the child, which is stored as an instance of its own."""

    def __init__(self, workflows: Workflows, clock: "Clock") -> None:
        self._workflows = workflows
        self._clock = clock

    def perform(self, attempt: "StepAttempt") -> "StepOutcome":
        """Start the child or check it. A worker that comes again with the same claim finds the same child."""
        tenant, child = attempt.principal.tenant, child_id_of(attempt.claim)
        loaded = self._workflows.load_instance(tenant, child) or self._start_child(attempt, child)
        if isinstance(loaded, WorkflowRefusal):
            # Another worker may have started it in the meantime, and the principal may not be allowed to see it.
            refusal, loaded = loaded, self._workflows.load_instance(tenant, child)
            if loaded is None:
                return ExecutorFailure("permanent_error", refusal.message)
        return self._check_child(attempt, loaded)

    def _start_child(self, attempt: "StepAttempt", child: str) -> LoadedInstance | WorkflowRefusal:
        settings, parent = attempt.executor.settings, attempt.instance
        if parent.depth >= MAX_CHILD_DEPTH:
            return WorkflowRefusal(
                "EXECUTOR_FAILED", f"At most {MAX_CHILD_DEPTH} workflows may wait for each other in a row."
            )
        definition_id = str(settings.get("definitionId", ""))
        sources = parent.value_sources(attempt.arguments)
        nested = attempt.executor.resolves_nested
        child_input = apply_mapping(as_object(settings.get("input")), sources, nested=nested)
        request = StartRequest(definition_id, child_input, workflow_id=child, parent=parent.id, depth=parent.depth + 1)
        result = self._workflows.start(request, attempt.principal, attempt.ends_at)
        if isinstance(result, WorkflowRefusal):
            return result
        attempt.record_event(child_started(child, definition_id))
        return LoadedInstance(result.definition, result.step.instance)

    def _check_child(self, attempt: "StepAttempt", loaded: LoadedInstance) -> "StepOutcome":
        gives_up_at = _gives_up_at(attempt)
        if has_ended(loaded.definition, loaded.instance):
            return self._build_end_outcome(attempt, loaded)
        if gives_up_at is None or self._clock.now() < gives_up_at:
            return Deferral(self._clock.now(), "workflow", gives_up_at=gives_up_at)
        return self._give_up(attempt, loaded)

    def _build_end_outcome(self, attempt: "StepAttempt", loaded: LoadedInstance) -> "StepOutcome":
        child = loaded.instance
        if child.cancelled is None and child.fault is None:
            attempt.record_event(child_completed(child.id, child.state))
            return ExecutorOutcome(child.context)
        if child.cancelled is None:
            return self._cancel_child(
                attempt, loaded, lambda child_now: self._build_fault_failure(attempt, child, child_now)
            )
        attempt.record_event(child_failed(child.id, child.state))
        return ExecutorFailure("permanent_error", f"The workflow {child.id} was cancelled.", _certainty_of(child))

    def _build_fault_failure(self, attempt: "StepAttempt", child: Instance, child_now: Instance) -> ExecutorFailure:
        attempt.record_event(child_failed(child.id, child.state))
        fault = cast("InstanceFault", child.fault)
        return ExecutorFailure(fault.error_class or "permanent_error", fault.message, _certainty_of(child_now))

    def _give_up(self, attempt: "StepAttempt", loaded: LoadedInstance) -> "StepOutcome":
        return self._cancel_child(attempt, loaded, lambda child_now: self._build_timeout_failure(attempt, child_now))

    def _build_timeout_failure(self, attempt: "StepAttempt", child_now: Instance) -> ExecutorFailure:
        attempt.record_event(child_timed_out(child_now.id, _timeout_ms(attempt)))
        return ExecutorFailure(
            "timeout", f"The workflow {child_now.id} has not ended in time.", _certainty_of(child_now)
        )

    def _cancel_child(
        self, attempt: "StepAttempt", loaded: LoadedInstance, build_failure: Callable[[Instance], ExecutorFailure]
    ) -> "StepOutcome":
        """Cancel the child and build the outcome from its state afterwards, when it can do nothing more. If it ends at
        the same moment, its end is the outcome. While it executes an executor, defer: it cannot be cancelled yet."""
        tenant, child = attempt.principal.tenant, loaded.instance.id
        self._workflows.cancel_by_system(tenant, child, attempt.ends_at)
        child_now = self._workflows.load_instance(tenant, child) or loaded
        if child_now.instance.cancelled is not None:
            return build_failure(child_now.instance)
        if is_over(child_now.definition, child_now.instance):
            return self._build_end_outcome(attempt, child_now)
        now, claim = self._clock.now(), child_now.instance.claim
        is_in_doubt = claim is not None and claim.is_in_doubt(now)
        pause = CHILD_CHECK_INTERVAL if is_in_doubt else CANCEL_CHECK_INTERVAL  # a doubt waits for an override
        until = claim.latest_end_at if claim is not None else now
        return Deferral(now, "workflow", gives_up_at=max(until, now + pause))


def _certainty_of(child: Instance) -> Literal["none", "unknown"]:
    """Return `none` if the child certainly did nothing: it ended at its first version, not counting a cancellation, and
    had no move under way."""
    moved = child.version - FIRST_VERSION - (child.cancelled is not None)
    was_about_to = child.claim is not None or (child.cancelled is not None and child.cancelled.left is not None)
    return "unknown" if moved or was_about_to else "none"


def _timeout_ms(attempt: "StepAttempt") -> float | None:
    raw = attempt.executor.settings.get("timeoutMs")
    return raw if isinstance(raw, int | float) and not isinstance(raw, bool) and raw > 0 else None


def _gives_up_at(attempt: "StepAttempt") -> float | None:
    timeout_ms = _timeout_ms(attempt)
    return None if timeout_ms is None else attempt.claim.since + timeout_ms / 1000
