"""What somebody who may can say of a step that stands still: execute it again, this is what came of it, or leave it."""

from dataclasses import replace

from signpost.model import Json, JsonObject, Principal, as_object
from signpost.records import dataclass
from signpost.workflow.admission import busy, rejected, stale
from signpost.workflow.definition import Definition
from signpost.workflow.engine import Engine
from signpost.workflow.instance import Claim, Instance, Record, is_over
from signpost.workflow.permissions import (
    CANCEL,
    CLAIM,
    HAPPENED,
    MAY_CANCEL,
    MAY_RESOLVE,
    OUTPUT,
    RESOLVE,
    RETRY,
    is_denied,
    may_cancel,
    may_resolve,
    may_retry,
)
from signpost.workflow.resuming import Resuming
from signpost.workflow.steps import Cancel, Failed, Outcome, Performed, Refusal, Resumed, Step, Submitted


@dataclass(frozen=True, slots=True)
class Ordered:
    step: Step
    taken_over: Claim | None = None
    """What is executed again."""

    def claim(self, token: str) -> Claim | None:
        return None if self.taken_over is None else replace(self.taken_over, token=token)


def is_order(submitted: Submitted) -> bool:
    return submitted.transition in (RETRY, RESOLVE, CANCEL)


def carried_out(
    resuming: Resuming, definition: Definition, instance: Instance, submitted: Submitted, now: float
) -> Ordered:
    refusal = _refusal(definition, instance, submitted, now)
    if refusal is not None:
        return Ordered(_refused(instance, submitted, refusal, now))
    if submitted.transition == CANCEL:
        return Ordered(resuming.engine.advance(definition, instance, Cancel(submitted.principal), now))
    claim = instance.claim
    assert claim is not None  # noqa: S101 - what is not in doubt was refused
    resumed = resuming.step(definition, instance, Resumed(claim.job), now)
    if submitted.transition == RETRY:
        return Ordered(_noted(resumed, submitted, "retried"), _again(claim, now))
    noted = _noted(resumed, submitted, "resolved")
    return Ordered(_resolved(resuming.engine, definition, noted, submitted.arguments, now))


def _again(claim: Claim, now: float) -> Claim:
    """Whoever wants it again has looked: what was lost or handed over until then does not count."""
    attempt = claim.attempt + (claim.child is not None)  # a workflow that has ended does not begin again
    fresh = replace(claim, lost=0, handed_over=0)
    return replace(fresh, standing="waiting", since=now, until=now, attempt=attempt, tainted=True)


def _resolved(engine: Engine, definition: Definition, step: Step, said: JsonObject, now: float) -> Step:
    assert step.doing is not None  # noqa: S101 - it was executed
    came = Outcome(said.get(OUTPUT)) if said[HAPPENED] else Failed("permanent_error", "It did not happen.")
    resolved = engine.advance(definition, step.instance, Performed(step.doing, came), now)
    return resolved if said[HAPPENED] else replace(resolved, refusal=None)


def _noted(step: Step, submitted: Submitted, how: str) -> Step:
    """In what goes on from here as well."""
    assert step.doing is not None  # noqa: S101 - it was executed
    by: JsonObject = {"by": submitted.principal.subject, **_said(submitted)}
    noted = replace(step, doing=None, records=(Record(f"executor.{how}", by), *step.records))
    return replace(noted, doing=replace(step.doing, step=noted))


def _said(submitted: Submitted) -> JsonObject:
    happened: Json = as_object(submitted.arguments).get(HAPPENED)
    return {HAPPENED: happened} if submitted.transition == RESOLVE else {}


def _refusal(definition: Definition, instance: Instance, submitted: Submitted, now: float) -> Refusal | None:
    if submitted.expected_version != instance.version:
        return stale(instance, submitted)
    if submitted.transition == CANCEL:
        return _not_to_be_cancelled(definition, instance, submitted.principal, now)
    if instance.claim is None or not instance.claim.is_in_doubt(now):
        return Refusal("INVALID_TRANSITION", "Nothing is in doubt here.", submitted.transition)
    if submitted.transition == RETRY and is_denied(definition, instance, instance.claim):
        return Refusal("GUARD_REJECTED", "It is not for you to have it executed.", RETRY)
    return _not_to_be_resolved(instance.claim, submitted, now)


def _not_to_be_cancelled(
    definition: Definition, instance: Instance, principal: Principal, now: float
) -> Refusal | None:
    if is_over(definition, instance):
        return Refusal("INVALID_TRANSITION", "It is over already.", CANCEL)
    if not may_cancel(instance, principal):
        return Refusal("GUARD_REJECTED", f"Who did not start it needs the permission {MAY_CANCEL}.", CANCEL)
    if instance.claim is not None and not instance.claim.may_be_left:
        return busy(instance.claim, instance.version, CANCEL, now)
    return None


def _not_to_be_resolved(claim: Claim, submitted: Submitted, now: float) -> Refusal | None:
    """What somebody says goes for what they saw, once it cannot change any more."""
    wanted, said = submitted.transition, submitted.arguments
    may = may_retry(claim, submitted.principal) if wanted == RETRY else may_resolve(submitted.principal)
    if not may:
        return Refusal("GUARD_REJECTED", f"That needs the permission {MAY_RESOLVE}.", wanted)
    if not isinstance(said.get(CLAIM), str) or (wanted == RESOLVE and not isinstance(said.get(HAPPENED), bool)):
        message = f"Say of which execution, with the `{CLAIM}` of the link; and what came of it, with `{HAPPENED}`."
        return Refusal("INPUT_SCHEMA_VIOLATION", message, wanted)
    if said[CLAIM] != claim.token:
        return Refusal("STALE_WORKFLOW_VERSION", "It has been executed once more since you saw it.", wanted)
    if now < claim.over_at:
        message, wait = "It may still be running. Look again when that is over.", claim.patience_ms(now)
        return Refusal("STALE_WORKFLOW_VERSION", message, wanted, retry_after_ms=wait)
    return None


def _refused(instance: Instance, submitted: Submitted, refusal: Refusal, now: float) -> Step:
    records = (rejected(refusal, instance),)
    return Step(instance, submitted.principal, now, records=records, refusal=refusal, since=instance.version)
