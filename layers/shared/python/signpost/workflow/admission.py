"""Whether what somebody submits is let in: the checks in their promised order, and what the refused are told."""

from collections.abc import Mapping, Sequence

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.schema.defaults import with_defaults
from signpost.schema.validation import Validators
from signpost.workflow.definition import Definition, Transition
from signpost.workflow.guards import Situation, passes
from signpost.workflow.instance import Claim, Instance, Record, is_over
from signpost.workflow.paths import Known
from signpost.workflow.steps import ON_ENTER, Refusal, Submitted


@dataclass(frozen=True, slots=True)
class Admission:
    found: Transition | Refusal | None
    """None for the entry into a state that is owed."""
    arguments: JsonObject
    records: Sequence[Record] = ()
    """Which guards were asked, and what they said."""


def admitted(
    definition: Definition, instance: Instance, submitted: Submitted, validators: Validators, now: float
) -> Admission:
    """First whether the instance can take anything, then whether it takes this of this caller."""
    found = _chosen(definition, instance, submitted, now)
    if isinstance(found, Transition):
        return _checked(instance, found, submitted, validators)
    return Admission(found, submitted.arguments)


def _chosen(
    definition: Definition, instance: Instance, submitted: Submitted, now: float
) -> Transition | Refusal | None:
    name = submitted.transition
    if submitted.expected_version != instance.version:
        return stale(instance, submitted)
    if instance.claim is not None:
        return busy(instance.claim, instance.version, name, now)
    if instance.entering and name == ON_ENTER:
        return None
    is_closed = instance.entering or is_over(definition, instance)
    transition = None if is_closed else definition.states[instance.state].transitions.get(name)
    if transition is None:
        message = f"There is no transition {name} in the state {instance.state}."
        return Refusal("INVALID_TRANSITION", f"{message} The links name those there are.", name)
    return _not_for(instance, transition, submitted, now) or transition


def _not_for(instance: Instance, transition: Transition, submitted: Submitted, now: float) -> Refusal | None:
    if transition.actor != "human":
        return None
    if not submitted.principal.human:
        message = f"Only a person may take {transition.name}. Wait until somebody has."
        return Refusal("ACTOR_MISMATCH", message, transition.name)
    asked = instance.waits_for
    if asked is not None and asked.has_expired(now):
        message = "Nobody has answered in time; what was asked has expired. Ask again."
        return Refusal("GUARD_REJECTED", message, transition.name)
    return None


def _checked(instance: Instance, transition: Transition, submitted: Submitted, validators: Validators) -> Admission:
    arguments = submitted.arguments
    if transition.input_schema is not None:
        arguments = filled(transition.input_schema, arguments)
        if violation := validators.violation(transition.input_schema, arguments):
            place = f"`{violation.field}`" if violation.field else "the arguments"
            message = f"{place} did not satisfy the schema of {transition.name}: {violation.message}."
            return Admission(Refusal("INPUT_SCHEMA_VIOLATION", message, transition.name), arguments)
    records = _asked(transition, Situation(_known(instance, arguments), submitted.principal, instance.proven))
    if records and not records[-1].payload["passed"]:
        refusal = Refusal("GUARD_REJECTED", f"A guard of {transition.name} did not pass.", transition.name)
        return Admission(refusal, arguments, records)
    return Admission(transition, arguments, records)


def _known(instance: Instance, arguments: JsonObject) -> Known:
    return Known(context=instance.context, arguments=arguments, input=instance.input)


def _asked(transition: Transition, situation: Situation) -> Sequence[Record]:
    """Up to the first guard that does not pass."""
    records: list[Record] = []
    for index, guard in enumerate(transition.guards):
        passed = passes(guard, situation)
        about: JsonObject = {"guardIndex": index, "guard": type(guard).__name__, "passed": passed}
        records.append(Record("guard.evaluated", about))
        if not passed:
            break
    return records


def stale(instance: Instance, submitted: Submitted) -> Refusal:
    said = f"You expected version {submitted.expected_version}, but the workflow is at version {instance.version}."
    return Refusal("STALE_WORKFLOW_VERSION", f"{said} Follow the links of this answer.", submitted.transition)


def busy(claim: Claim, version: int, wanted: str, now: float) -> Refusal:
    """Something is under way, and only one thing at a time may be."""
    under_way = claim.job.transition
    if claim.is_in_doubt(now):
        message = f"{under_way} was executed, and nobody knows what came of it. Somebody has to say how to go on."
        return Refusal("IN_DOUBT", message, wanted)
    message = f"{under_way} is under way at version {version}. Look again in a moment."
    return Refusal("STALE_WORKFLOW_VERSION", message, wanted, retry_after_ms=claim.patience_ms(now))


def rejected(refusal: Refusal, instance: Instance) -> Record:
    """For the audit."""
    error_class: dict[str, Json] = {"errorClass": refusal.error_class} if refusal.error_class else {}
    payload: JsonObject = {
        "transition": refusal.transition,
        "code": refusal.code,
        "message": refusal.message,
        "fromState": instance.state,
        **error_class,
    }
    return Record("transition.rejected", payload)


def filled(schema: JsonObject, given: JsonObject) -> JsonObject:
    """With the defaults of the schema."""
    value = with_defaults(schema, given)
    return value if isinstance(value, Mapping) else given
