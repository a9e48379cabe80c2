"""Admits or refuses submissions: the checks in their promised order, and the refusals."""

from collections.abc import Mapping, Sequence

from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.schema.defaults import fill_defaults
from signpost.schema.nulls import leave_out_nulls
from signpost.schema.validation import Validators
from signpost.workflow import audit_events
from signpost.workflow.definition import Definition, State, Transition
from signpost.workflow.engine.actors import find_actor_mismatch
from signpost.workflow.engine.approvals import find_answer_refusal
from signpost.workflow.engine.argument_schemas import NO_ARGUMENTS, arguments_schema_of
from signpost.workflow.engine.permissions import MAY_RESOLVE, RESOLVE, RETRY
from signpost.workflow.engine.steps import ON_ENTER, Refusal, Submission
from signpost.workflow.guards import GuardInput, passes, reads_principal_only
from signpost.workflow.instance import AuditRecord, Claim, Instance, is_over


@dataclass(frozen=True, slots=True)
class Admission:
    found: Transition | Refusal | None
    """The transition to take, or the refusal; None for the owed entry into a state."""
    arguments: JsonObject
    records: Sequence[AuditRecord] = ()
    """The guards that were evaluated, with their results."""


def admit(
    definition: Definition, instance: Instance, submission: Submission, validators: Validators, now: float
) -> Admission:
    """Check first whether the instance can take any submission, then whether it takes this one from this caller."""
    chosen = _choose_transition(definition, instance, submission, now)
    if isinstance(chosen, Transition):
        return _check_submission(definition, instance, chosen, submission, validators)
    if chosen is None:
        chosen = find_schema_refusal(validators, NO_ARGUMENTS, ON_ENTER, submission.arguments)
    return Admission(chosen, submission.arguments)


def _choose_transition(
    definition: Definition, instance: Instance, submission: Submission, now: float
) -> Transition | Refusal | None:
    name = submission.transition
    if submission.expected_version != instance.version:
        return build_stale_refusal(instance, submission)
    if instance.claim is not None:
        return build_busy_refusal(instance.claim, instance.version, name, now)
    if instance.entering and name == ON_ENTER:
        return None
    is_closed = instance.entering or is_over(definition, instance)
    state = definition.states[instance.state]
    transition = None if is_closed else state.transitions.get(name)
    if transition is None:
        message = f"There is no transition {name} in the state {instance.state}."
        return Refusal("INVALID_TRANSITION", f"{message} The links name the available transitions.", name)
    refusal = _find_actor_refusal(state, transition, submission) or _find_answer_refusal(instance, transition, now)
    return refusal or transition


def _find_actor_refusal(state: State, transition: Transition, submission: Submission) -> Refusal | None:
    message = find_actor_mismatch(state, transition, submission.principal)
    return None if message is None else Refusal("ACTOR_MISMATCH", message, transition.name)


def _find_answer_refusal(instance: Instance, transition: Transition, now: float) -> Refusal | None:
    message = find_answer_refusal(transition, instance, now)
    return None if message is None else Refusal("GUARD_REJECTED", message, transition.name)


def _check_submission(
    definition: Definition,
    instance: Instance,
    transition: Transition,
    submission: Submission,
    validators: Validators,
) -> Admission:
    """Check the guards on the principal, then the arguments, then all guards: validating arguments takes time, which a
    principal that may not take the transition does not get."""
    if record := _find_principal_rejection(transition, instance.guard_input(submission.principal, {})):
        return Admission(_build_guard_refusal(transition), submission.arguments, (record,))
    schema = arguments_schema_of(definition, transition)
    arguments = complete_fields(validators, schema, submission.arguments)
    if refusal := find_schema_refusal(validators, schema, transition.name, arguments):
        return Admission(refusal, arguments)
    records = _evaluate_guards(transition, instance.guard_input(submission.principal, arguments))
    if records and not records[-1].payload["passed"]:
        return Admission(_build_guard_refusal(transition), arguments, records)
    return Admission(transition, arguments, records)


def _build_guard_refusal(transition: Transition) -> Refusal:
    return Refusal("GUARD_REJECTED", f"A guard of {transition.name} did not pass.", transition.name)


def find_schema_refusal(
    validators: Validators, schema: JsonObject, transition: str, arguments: JsonObject
) -> Refusal | None:
    """Return the refusal of arguments that do not satisfy the schema; None if they do."""
    violation = validators.find_violation(schema, arguments)
    if violation is None:
        return None
    place = f"`{violation.field}`" if violation.field else "the arguments"
    message = f"{place} did not satisfy the schema of {transition}: {violation.sentence}"
    return Refusal("INPUT_SCHEMA_VIOLATION", message, transition)


def _find_principal_rejection(transition: Transition, guard_input: GuardInput) -> AuditRecord | None:
    """Return the record of the first guard on the principal alone that does not pass."""
    for index, guard in enumerate(transition.guards):
        if reads_principal_only(guard) and not passes(guard, guard_input):
            return audit_events.guard_evaluated(index, type(guard).__name__, passed=False)
    return None


def _evaluate_guards(transition: Transition, guard_input: GuardInput) -> Sequence[AuditRecord]:
    """Evaluate the guards up to the first one that does not pass."""
    records: list[AuditRecord] = []
    for index, guard in enumerate(transition.guards):
        passed = passes(guard, guard_input)
        records.append(audit_events.guard_evaluated(index, type(guard).__name__, passed=passed))
        if not passed:
            break
    return records


def build_stale_refusal(instance: Instance, submission: Submission) -> Refusal:
    mismatch = f"You expected version {submission.expected_version}, but the workflow is at version {instance.version}."
    return Refusal("STALE_WORKFLOW_VERSION", f"{mismatch} Follow the links of this answer.", submission.transition)


def build_busy_refusal(claim: Claim, version: int, transition: str, now: float) -> Refusal:
    """Refuse a move because another one is under way: an instance makes one move at a time."""
    under_way = claim.job.transition
    if claim.is_parked:
        message = f"{under_way} has asked questions and waits for their answers. The links name the possible moves."
        return Refusal("INVALID_TRANSITION", message, transition)
    if claim.is_in_doubt(now):
        advice = f"Follow a link to {RETRY} or {RESOLVE}; without one, ask a principal with {MAY_RESOLVE}."
        message = f"{under_way} was executed and its result is unknown. {advice}"
        return Refusal("IN_DOUBT", message, transition)
    message = f"{under_way} is under way at version {version}. Read the workflow again in a moment."
    return Refusal("STALE_WORKFLOW_VERSION", message, transition, retry_after_ms=claim.retry_after_ms(now))


def build_rejection_record(refusal: Refusal, instance: Instance) -> AuditRecord:
    """Build the audit record of a refusal."""
    return audit_events.transition_rejected(
        refusal.transition, refusal.code, refusal.message, instance.state, refusal.error_class
    )


def complete_fields(validators: Validators, schema: JsonObject, fields: JsonObject) -> JsonObject:
    """Return the fields of a caller as they are used: without null for optional ones, and with the defaults of the
    schema."""
    present = leave_out_nulls(validators, schema, fields)
    value = fill_defaults(schema, present)
    return value if isinstance(value, Mapping) else present
