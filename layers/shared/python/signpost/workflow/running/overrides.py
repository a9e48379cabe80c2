"""Applies overrides of a stopped step: execute it again (`$retry`), state its result (`$resolve`), or cancel the
instance (`$cancel`). `question_answers.py` applies `$answer`."""

from dataclasses import replace

from signpost.model import JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow.audit_events import executor_resolved, executor_retried
from signpost.workflow.definition import Definition
from signpost.workflow.engine.admission import (
    build_busy_refusal,
    build_rejection_record,
    build_stale_refusal,
    find_schema_refusal,
)
from signpost.workflow.engine.engine import Engine
from signpost.workflow.engine.permissions import (
    CANCEL,
    CLAIM,
    HAPPENED,
    MAY_CANCEL,
    MAY_RESOLVE,
    OUTPUT,
    OVERRIDE_SCHEMAS,
    RESOLVE,
    RETRY,
    is_denied,
    may_cancel,
    may_resolve,
    may_retry,
)
from signpost.workflow.engine.steps import (
    CancelRequest,
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorReport,
    Refusal,
    Resumption,
    Step,
    Submission,
)
from signpost.workflow.instance import AuditRecord, Claim, Instance, is_over
from signpost.workflow.running.resume import StepResumer


@dataclass(frozen=True, slots=True)
class OverrideResult:
    step: Step
    repeated_claim: Claim | None = None
    """The claim to execute again, for `$retry`."""

    def claim_with(self, token: str) -> Claim | None:
        return None if self.repeated_claim is None else replace(self.repeated_claim, token=token)


def is_override(submission: Submission) -> bool:
    return submission.transition in (RETRY, RESOLVE, CANCEL)


def apply_override(
    resumer: StepResumer, definition: Definition, instance: Instance, submission: Submission, now: float
) -> OverrideResult:
    validators = resumer.engine.validators
    refusal = _find_refusal(definition, instance, submission, now) or find_schema_refusal(
        validators, OVERRIDE_SCHEMAS[submission.transition], submission.transition, submission.arguments
    )
    if refusal is not None:
        return OverrideResult(build_refused_step(instance, submission.principal, refusal, now))
    if submission.transition == CANCEL:
        return OverrideResult(resumer.engine.advance(definition, instance, CancelRequest(submission.principal), now))
    claim = instance.claim
    assert claim is not None  # noqa: S101 - a step that is not in doubt was refused
    resumed_step = resumer.resume(definition, instance, Resumption(claim.job), now)
    subject = submission.principal.subject
    if submission.transition == RETRY:
        retried = _record_override(resumed_step, executor_retried(subject))
        return OverrideResult(retried, _build_retry_claim(claim, now))
    recorded = _record_override(resumed_step, executor_resolved(subject, submission.arguments.get(HAPPENED)))
    return OverrideResult(_resolve(resumer.engine, definition, recorded, submission.arguments, now))


def _build_retry_claim(claim: Claim, now: float) -> Claim:
    """Build the claim of a retry. The principal has looked at the step, so earlier losses and hand-overs no longer
    count."""
    attempt = claim.attempt + (claim.child is not None)  # a workflow that has ended does not begin again
    reset = replace(claim, lost=0, handed_over=0)
    return replace(reset, standing="waiting", since=now, until=now, attempt=attempt, tainted=True)


def _resolve(engine: Engine, definition: Definition, step: Step, arguments: JsonObject, now: float) -> Step:
    assert step.pending is not None  # noqa: S101 - it was executed
    outcome = (
        ExecutorOutcome(arguments.get(OUTPUT))
        if arguments[HAPPENED]
        else ExecutorFailure("permanent_error", "A principal stated that the execution did not take effect.")
    )
    resolved = engine.advance(definition, step.instance, ExecutorReport(step.pending, outcome), now)
    return resolved if arguments[HAPPENED] else replace(resolved, refusal=None)


def _record_override(step: Step, record: AuditRecord) -> Step:
    """Record the override, in the step and in the pending execution that continues from it."""
    assert step.pending is not None  # noqa: S101 - it was executed
    recorded = replace(step, pending=None, records=(record, *step.records))
    return replace(recorded, pending=replace(step.pending, step=recorded))


def _find_refusal(definition: Definition, instance: Instance, submission: Submission, now: float) -> Refusal | None:
    if submission.expected_version != instance.version:
        return build_stale_refusal(instance, submission)
    if submission.transition == CANCEL:
        return _find_cancel_refusal(definition, instance, submission.principal, now)
    if instance.claim is None or not instance.claim.is_in_doubt(now):
        return Refusal("INVALID_TRANSITION", "No step of this workflow is in doubt.", submission.transition)
    return _find_permission_refusal(definition, instance, instance.claim, submission) or _find_in_doubt_refusal(
        instance.claim, submission, now
    )


def _find_permission_refusal(
    definition: Definition, instance: Instance, claim: Claim, submission: Submission
) -> Refusal | None:
    if submission.transition == RESOLVE:
        is_permitted, advice = may_resolve(submission.principal), ""
    elif is_denied(definition, instance, claim):
        return Refusal("GUARD_REJECTED", "Policy does not allow you to execute this step.", RETRY)
    else:
        is_permitted = may_retry(definition, instance, claim, submission.principal)
        advice = f", or a principal that may take {claim.job.transition}" if claim.repeatable else ""
    message = f"{submission.transition} needs the permission {MAY_RESOLVE}{advice}."
    return None if is_permitted else Refusal("GUARD_REJECTED", message, submission.transition)


def _find_cancel_refusal(
    definition: Definition, instance: Instance, principal: Principal, now: float
) -> Refusal | None:
    if is_over(definition, instance):
        return Refusal("INVALID_TRANSITION", "The workflow has already ended.", CANCEL)
    if not may_cancel(instance, principal):
        message = f"Only its starter can cancel this workflow without the permission {MAY_CANCEL}."
        return Refusal("GUARD_REJECTED", message, CANCEL)
    if instance.claim is not None and not instance.claim.may_be_abandoned:
        return build_busy_refusal(instance.claim, instance.version, CANCEL, now)
    return None


def _find_in_doubt_refusal(claim: Claim, submission: Submission, now: float) -> Refusal | None:
    """Refuse an override that is not complete, that names another claim than the one in doubt, or that comes while the
    execution may still be running and its result may still change."""
    transition, arguments = submission.transition, submission.arguments
    if not isinstance(arguments.get(CLAIM), str) or (
        transition == RESOLVE and not isinstance(arguments.get(HAPPENED), bool)
    ):
        result = f" and say with `{HAPPENED}` whether the execution took effect" if transition == RESOLVE else ""
        message = f"Give the claim of the link as `{CLAIM}`{result}."
        return Refusal("INPUT_SCHEMA_VIOLATION", message, transition)
    if arguments[CLAIM] != claim.token:
        message = "The step was executed again since you read the workflow. Read it again."
        return Refusal("STALE_WORKFLOW_VERSION", message, transition)
    if now < claim.latest_end_at:
        message = "The execution may still be running. Read the workflow again when it has ended."
        return Refusal("STALE_WORKFLOW_VERSION", message, transition, retry_after_ms=claim.retry_after_ms(now))
    return None


def build_refused_step(instance: Instance, principal: Principal, refusal: Refusal, now: float) -> Step:
    records = (build_rejection_record(refusal, instance),)
    return Step(instance, principal, now, records=records, refusal=refusal, since=instance.version)
