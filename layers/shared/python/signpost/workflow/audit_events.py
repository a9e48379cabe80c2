"""The events of the audit: a constructor for each, with its fields, and which fields may leave the audit.

`docs/events.md` has a row for each event, `cli/runs/timeline.py` a sentence.
"""

from collections.abc import Sequence

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.workflow.instance import AuditRecord

PUBLISHED_FIELDS = frozenset({
    "applied",
    "approval_id",
    "attempt",
    "branchIndex",
    "by",
    "candidate",
    "chainDepth",
    "code",
    "definitionId",
    "definition_id",
    "deterministic",
    "elapsedMs",
    "errorClass",
    "expectedVersion",
    "finalState",
    "fromState",
    "guard",
    "guardIndex",
    "happened",
    "idempotencyKey",
    "kind",
    "kinds",
    "occasion",
    "outcome",
    "passed",
    "questions",
    "queue",
    "requestId",
    "round",
    "scheduleId",
    "state",
    "steps",
    "sub_workflow_id",
    "timeoutMs",
    "timeout_ms",
    "toState",
    "transition",
    "version",
})  # fmt: skip
"""The fields that go to the bus: names, numbers and kinds. Any bus rule in the account can read them."""
WITHHELD_FIELDS = frozenset({"error", "message", "previousError"})
"""The fields that stay in the audit: a sentence about a failure may quote arguments, and only principals that may see
the workflow may see those."""

STARTED = "workflow.started"
TRANSITIONED = "workflow.transitioned"
ENTERED = "workflow.entered"
CANCELLED = "workflow.cancelled"
COMPLETED = "workflow.completed"
TIMED_OUT = "workflow.timed_out"
STATE_TIMED_OUT = "state.timed_out"
REQUESTED = "transition.requested"
REJECTED = "transition.rejected"
BRANCHED = "transition.branched"
GUARD_EVALUATED = "guard.evaluated"
EXECUTOR_STARTED = "executor.started"
EXECUTOR_SUCCEEDED = "executor.succeeded"
EXECUTOR_RETRYING = "executor.retrying"
EXECUTOR_FAILED = "executor.failed"
EXECUTOR_ASKED = "executor.asked"
EXECUTOR_ANSWERED = "executor.answered"
EXECUTOR_TAKEN_OVER = "executor.taken_over"
EXECUTOR_IN_DOUBT = "executor.in_doubt"
EXECUTOR_RETRIED = "executor.retried"
EXECUTOR_RESOLVED = "executor.resolved"
EXECUTOR_ABANDONED = "executor.abandoned"
FALLBACK_SELECTED = "fallback.selected"
EVIDENCE_REFUSED = "evidence.refused"
CHILD_STARTED = "sub_workflow.started"
CHILD_COMPLETED = "sub_workflow.completed"
CHILD_FAILED = "sub_workflow.failed"
CHILD_TIMED_OUT = "sub_workflow.timed_out"
CHAIN_STEP = "chain.step"
CHAIN_COMPLETED = "chain.completed"
CHAIN_FAILED = "chain.failed"
APPROVAL_REQUESTED = "human.approval.requested"
APPROVAL_RESOLVED = "human.approval.resolved"
APPROVAL_EXPIRED = "human.approval.expired"
SCHEDULE_REFUSED = "schedule.refused"


@dataclass(frozen=True, slots=True)
class ExecutionFields:
    """The fields that all events of an execution share."""

    transition: str
    candidate: int
    attempt: int
    kind: str

    @property
    def payload(self) -> dict[str, Json]:
        return {
            "transition": self.transition,
            "candidate": self.candidate,
            "attempt": self.attempt,
            "kind": self.kind,
        }


def workflow_started(definition_id: str, state: str, version: int) -> AuditRecord:
    return AuditRecord(STARTED, {"definitionId": definition_id, "state": state, "version": version})


def workflow_transitioned(transition: str, state: str, version: int, chain_depth: int | None = None) -> AuditRecord:
    """With a chain depth if the transition followed by itself."""
    hop: JsonObject = {} if chain_depth is None else {"deterministic": True, "chainDepth": chain_depth}
    return AuditRecord(TRANSITIONED, {"transition": transition, "state": state, "version": version, **hop})


def workflow_entered(state: str, version: int) -> AuditRecord:
    return AuditRecord(ENTERED, {"state": state, "version": version})


def workflow_cancelled(state: str, version: int) -> AuditRecord:
    return AuditRecord(CANCELLED, {"state": state, "version": version})


def workflow_completed(state: str) -> AuditRecord:
    return AuditRecord(COMPLETED, {"state": state})


def workflow_timed_out(elapsed_ms: int, timeout_ms: int, from_state: str, to_state: str) -> AuditRecord:
    return AuditRecord(TIMED_OUT, _timeout_fields(elapsed_ms, timeout_ms, from_state, to_state))


def state_timed_out(elapsed_ms: int, timeout_ms: int, from_state: str, to_state: str) -> AuditRecord:
    """`elapsed_ms` is the time in the state."""
    return AuditRecord(STATE_TIMED_OUT, _timeout_fields(elapsed_ms, timeout_ms, from_state, to_state))


def _timeout_fields(elapsed_ms: int, timeout_ms: int, from_state: str, to_state: str) -> JsonObject:
    return {
        "elapsedMs": elapsed_ms,
        "timeoutMs": timeout_ms,
        "fromState": from_state,
        "toState": to_state,
        "applied": True,
    }


def transition_requested(transition: str, expected_version: int, from_state: str) -> AuditRecord:
    return AuditRecord(
        REQUESTED, {"transition": transition, "expectedVersion": expected_version, "fromState": from_state}
    )


def transition_rejected(
    transition: str | None, code: str, message: str, from_state: str, error_class: str | None
) -> AuditRecord:
    failure: JsonObject = {"errorClass": error_class} if error_class else {}
    return AuditRecord(
        REJECTED, {"transition": transition, "code": code, "message": message, "fromState": from_state, **failure}
    )


def transition_branched(branch_index: int, from_state: str, to_state: str) -> AuditRecord:
    return AuditRecord(BRANCHED, {"branchIndex": branch_index, "fromState": from_state, "toState": to_state})


def guard_evaluated(guard_index: int, guard: str, *, passed: bool) -> AuditRecord:
    return AuditRecord(GUARD_EVALUATED, {"guardIndex": guard_index, "guard": guard, "passed": passed})


def executor_started(execution: ExecutionFields, idempotency_key: str | None = None) -> AuditRecord:
    key: JsonObject = {"idempotencyKey": idempotency_key} if idempotency_key else {}
    return AuditRecord(EXECUTOR_STARTED, {**execution.payload, **key})


def executor_succeeded(execution: ExecutionFields, elapsed_ms: int | None = None) -> AuditRecord:
    """Without a duration if there was nothing to run."""
    elapsed: JsonObject = {} if elapsed_ms is None else {"elapsedMs": elapsed_ms}
    return AuditRecord(EXECUTOR_SUCCEEDED, {**execution.payload, **elapsed})


def executor_failed(
    execution: ExecutionFields, elapsed_ms: int, error_class: str, outcome: str, error: str, *, is_retried: bool
) -> AuditRecord:
    failure: JsonObject = {"elapsedMs": elapsed_ms, "errorClass": error_class, "outcome": outcome, "error": error}
    return AuditRecord(EXECUTOR_RETRYING if is_retried else EXECUTOR_FAILED, {**execution.payload, **failure})


def executor_asked(execution: ExecutionFields, round_number: int, questions: int) -> AuditRecord:
    """With the number of questions. The audit has neither the questions nor the answers."""
    return AuditRecord(EXECUTOR_ASKED, {**execution.payload, "round": round_number, "questions": questions})


def executor_answered(transition: str, by: str, round_number: int, questions: int) -> AuditRecord:
    """With the number of questions that were answered."""
    return AuditRecord(
        EXECUTOR_ANSWERED, {"transition": transition, "by": by, "round": round_number, "questions": questions}
    )


def executor_taken_over(transition: str) -> AuditRecord:
    return AuditRecord(EXECUTOR_TAKEN_OVER, {"transition": transition})


def executor_in_doubt(transition: str, attempt: int) -> AuditRecord:
    return AuditRecord(EXECUTOR_IN_DOUBT, {"transition": transition, "attempt": attempt})


def executor_retried(by: str) -> AuditRecord:
    return AuditRecord(EXECUTOR_RETRIED, {"by": by})


def executor_resolved(by: str, happened: Json) -> AuditRecord:
    return AuditRecord(EXECUTOR_RESOLVED, {"by": by, "happened": happened})


def executor_abandoned(transition: str) -> AuditRecord:
    return AuditRecord(EXECUTOR_ABANDONED, {"transition": transition})


def fallback_selected(execution: ExecutionFields, previous_error: str) -> AuditRecord:
    return AuditRecord(FALLBACK_SELECTED, {**execution.payload, "previousError": previous_error})


def evidence_refused(kinds: Sequence[str]) -> AuditRecord:
    return AuditRecord(EVIDENCE_REFUSED, {"kinds": list[Json](kinds)})


def child_started(workflow_id: str, definition_id: str) -> AuditRecord:
    return AuditRecord(CHILD_STARTED, {"sub_workflow_id": workflow_id, "definition_id": definition_id})


def child_completed(workflow_id: str, state: str) -> AuditRecord:
    return AuditRecord(CHILD_COMPLETED, {"sub_workflow_id": workflow_id, "state": state})


def child_failed(workflow_id: str, state: str) -> AuditRecord:
    return AuditRecord(CHILD_FAILED, {"sub_workflow_id": workflow_id, "state": state})


def child_timed_out(workflow_id: str, timeout_ms: Json) -> AuditRecord:
    return AuditRecord(CHILD_TIMED_OUT, {"sub_workflow_id": workflow_id, "timeout_ms": timeout_ms})


def chain_step(transition: str, from_state: str, chain_depth: int) -> AuditRecord:
    return AuditRecord(CHAIN_STEP, {"transition": transition, "fromState": from_state, "chainDepth": chain_depth})


def chain_completed(steps: int, final_state: str) -> AuditRecord:
    return AuditRecord(CHAIN_COMPLETED, {"steps": steps, "finalState": final_state})


def chain_failed(
    transition: str | None, from_state: str, chain_depth: int, error_class: str | None, message: str
) -> AuditRecord:
    return AuditRecord(
        CHAIN_FAILED,
        {
            "transition": transition,
            "fromState": from_state,
            "chainDepth": chain_depth,
            "errorClass": error_class,
            "message": message,
        },
    )


def approval_requested(queue: str, request_id: str, transition: str) -> AuditRecord:
    return AuditRecord(APPROVAL_REQUESTED, {"queue": queue, "requestId": request_id, "transition": transition})


def approval_resolved(request_id: str, outcome: str) -> AuditRecord:
    return AuditRecord(APPROVAL_RESOLVED, {"approval_id": request_id, "outcome": outcome})


def approval_expired(request_id: str, queue: str) -> AuditRecord:
    return AuditRecord(APPROVAL_EXPIRED, {"requestId": request_id, "queue": queue})


def schedule_refused(schedule_id: str, definition_id: str, occasion: float, code: str, message: str) -> AuditRecord:
    """The event of an occasion at which nothing was started. It belongs to no run."""
    return AuditRecord(
        SCHEDULE_REFUSED,
        {
            "scheduleId": schedule_id,
            "definitionId": definition_id,
            "occasion": occasion,
            "code": code,
            "message": message,
        },
    )
