"""What ends a step that nobody took to its end: a deadline, a cancellation, a lease or a request that is over."""

from dataclasses import replace

from signpost.model import JsonObject
from signpost.workflow.definition import Definition
from signpost.workflow.instance import Cancelled, Claim, Record, deadline, in_doubt, is_over
from signpost.workflow.steps import TIMED_OUT, Step, with_record


def timed_out(definition: Definition, step: Step, now: float) -> Step | None:
    """With what was under way abandoned; None while there is time, or nowhere to go after it."""
    instance, target = step.instance, definition.timeout_target
    ends_at = deadline(definition, instance)
    if target is None or ends_at is None or now < ends_at:
        return None
    about: JsonObject = {
        "elapsedMs": round((now - instance.started_at) * 1000),
        "timeoutMs": definition.timeout_ms,
        "fromState": instance.state,
        "toState": target,
        "applied": True,
    }
    return _abandoned(with_record(step, Record(TIMED_OUT, about, now)), now)


def cancelled(definition: Definition, step: Step, now: float) -> Step:
    """The same step where it cannot be."""
    instance, by = step.instance, step.principal.subject
    is_bound = instance.claim is not None and not instance.claim.may_be_left
    if is_bound or is_over(definition, instance):
        return step
    version = instance.version + 1
    about: JsonObject = {"state": instance.state, "version": version}
    left = instance.claim.job.transition if instance.claim is not None else None
    given_up = _abandoned(with_record(step, Record("workflow.cancelled", about, now)), now)
    after = replace(given_up.instance, version=version, cancelled=Cancelled(by, now, left))
    return replace(given_up, instance=after)


def noticed(step: Step, now: float) -> Step:
    """What has been over for a while, and nobody had to say so yet."""
    instance = step.instance
    request, claim = instance.waits_for, instance.claim
    is_executed = claim is not None and claim.standing == "running"  # by somebody who would write over it
    if request is not None and request.has_expired(now) and not request.lapsed and not is_executed:
        about: JsonObject = {"requestId": request.id, "queue": request.queue}
        step = with_record(step, Record("human.approval.expired", about, now))
        step = replace(step, instance=replace(instance, request=replace(request, lapsed=True)))
    if claim is not None and claim.standing == "running" and claim.is_in_doubt(now):
        return _doubtful(step, claim)
    return step


def _doubtful(step: Step, claim: Claim) -> Step:
    message = f"Whoever executed {claim.job.transition} was not heard of again."
    doubtful = replace(claim, standing="in_doubt", message=message)
    return replace(with_record(step, in_doubt(doubtful)), instance=replace(step.instance, claim=doubtful))


def _abandoned(step: Step, now: float) -> Step:
    """What was under way is not waited for any more."""
    instance = step.instance
    if instance.claim is not None:
        about: JsonObject = {"transition": instance.claim.job.transition}
        step = with_record(step, Record("executor.abandoned", about, now))
    return replace(step, instance=replace(instance, claim=None, entering=False))
