"""Ends moves from outside: at a deadline, by a cancellation, at the end of a lease or of an approval request."""

from dataclasses import replace

from signpost.workflow import audit_events
from signpost.workflow.deadlines import Deadline
from signpost.workflow.definition import Definition
from signpost.workflow.engine.steps import Step, add_record
from signpost.workflow.instance import Cancellation, Claim, Instance, is_over


def apply_deadline(deadline: Deadline, step: Step, now: float) -> Step:
    """Record a deadline that has passed, and abandon the move under way."""
    instance = step.instance
    began_at = deadline.at - deadline.timeout_ms / 1000 if deadline.is_of_state else instance.started_at
    build_record = audit_events.state_timed_out if deadline.is_of_state else audit_events.workflow_timed_out
    elapsed_ms = round((now - began_at) * 1000)
    record = build_record(elapsed_ms, deadline.timeout_ms, instance.state, deadline.target)
    return _abandon_claim(add_record(step, replace(record, at=now)), now)


def can_be_cancelled(definition: Definition, instance: Instance) -> bool:
    """Return whether the instance can be cancelled now, regardless of the principal."""
    return not is_over(definition, instance) and (instance.claim is None or instance.claim.may_be_abandoned)


def cancel(definition: Definition, step: Step, now: float) -> Step:
    """Cancel the instance; return the same step if it cannot be cancelled."""
    instance, subject = step.instance, step.principal.subject
    if not can_be_cancelled(definition, instance):
        return step
    version = instance.version + 1
    record = audit_events.workflow_cancelled(instance.state, version)
    transition = instance.claim.job.transition if instance.claim is not None else None
    abandoned = _abandon_claim(add_record(step, replace(record, at=now)), now)
    after = replace(abandoned.instance, version=version, cancelled=Cancellation(subject, now, transition))
    return replace(abandoned, instance=after)


def apply_expiries(step: Step, now: float) -> Step:
    """Record an approval request or a lease that has expired without a record of it."""
    instance = step.instance
    request, claim = instance.open_request, instance.claim
    is_executed = claim is not None and claim.standing == "running"  # its holder would write over this change
    if request is not None and request.has_expired(now) and not request.lapsed and not is_executed:
        step = add_record(step, replace(audit_events.approval_expired(request.id, request.queue), at=now))
        step = replace(step, instance=replace(instance, request=replace(request, lapsed=True)))
    if claim is not None and claim.standing == "running" and claim.is_in_doubt(now):
        return _mark_in_doubt(step, claim)
    return step


def _mark_in_doubt(step: Step, claim: Claim) -> Step:
    message = f"The worker or request that executed {claim.job.transition} never reported a result."
    doubtful = replace(claim, standing="in_doubt", message=message)
    return replace(
        add_record(step, audit_events.executor_in_doubt(claim.job.transition, claim.attempt)),
        instance=replace(step.instance, claim=doubtful),
    )


def _abandon_claim(step: Step, now: float) -> Step:
    """Drop the claim: the result of the move under way is not awaited any more."""
    instance = step.instance
    if instance.claim is not None:
        record = audit_events.executor_abandoned(instance.claim.job.transition)
        step = add_record(step, replace(record, at=now))
    return replace(step, instance=replace(instance, claim=None, entering=False))
