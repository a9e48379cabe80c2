"""The next legal moves of an instance, as links. They come from the definition that the engine goes by."""

from collections.abc import Sequence

from signpost.model import Json, JsonObject, Principal
from signpost.workflow.definition import Definition, Transition
from signpost.workflow.guards import Situation, passes
from signpost.workflow.instance import Claim, Instance, is_over
from signpost.workflow.paths import Known
from signpost.workflow.permissions import (
    REPETITION,
    RESOLUTION,
    RESOLVE,
    RETRY,
    is_denied,
    may_resolve,
    may_retry,
)
from signpost.workflow.steps import ON_ENTER
from signpost.workflow.values import mapped

NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}


def self_link(workflow_id: str) -> JsonObject:
    return {"rel": "self", "method": "workflow.get", "args": {"workflowId": workflow_id}}


def links(definition: Definition, instance: Instance, principal: Principal, now: float) -> Sequence[JsonObject]:
    """In the order in which the author declared them."""
    claim = instance.claim
    if claim is not None:
        return (
            _of_doubt(definition, instance, claim, principal) if claim.is_in_doubt(now) and now >= claim.over_at else ()
        )
    if instance.entering and not is_over(definition, instance):
        return [_order(instance, ON_ENTER, f"Do again what {instance.state} does on being entered")]
    return [_link(transition, instance) for transition in legal(definition, instance, principal, now)]


def _of_doubt(definition: Definition, instance: Instance, claim: Claim, principal: Principal) -> Sequence[JsonObject]:
    """For those who may say how to go on."""
    again = _order(
        instance, RETRY, "Execute it once more, with the same idempotency key", REPETITION, claim=claim.token
    )
    said = _order(instance, RESOLVE, "Say what came of it", RESOLUTION, claim=claim.token, happened=False)
    is_repeated = may_retry(claim, principal) and not is_denied(definition, instance, claim)
    return [*([again] if is_repeated else ()), *([said] if may_resolve(principal) else ())]


def _order(
    instance: Instance, transition: str, title: str, schema: JsonObject | None = None, **arguments: Json
) -> JsonObject:
    return {
        "rel": "transition",
        "method": "workflow.submit",
        "args": {
            "workflowId": instance.id,
            "expectedVersion": instance.version,
            "transition": transition,
            "arguments": arguments,
        },
        "title": title,
        "actor": "agent",
        "inputSchema": schema if schema is not None else NO_ARGUMENTS,
    }


def legal(definition: Definition, instance: Instance, principal: Principal, now: float) -> Sequence[Transition]:
    """Those that are shown. What follows by itself is, only where it did not: nobody else would get on from there."""
    state = definition.states[instance.state]
    if is_over(definition, instance):
        return ()
    asked = instance.waits_for
    is_too_late = asked is not None and asked.has_expired(now)
    left = [one for one in state.transitions.values() if not one.is_denied]
    offered = [one for one in left if not (is_too_late and one.actor == "human")]
    if not state.runs_by_itself:
        offered = [one for one in offered if one.actor != "deterministic"]
        if not state.by_guards:
            return offered
    situation = Situation(Known(instance.context, {}, instance.input), principal, instance.proven)
    return [one for one in offered if all(passes(guard, situation) for guard in one.guards)]


def waits_for_a_person(definition: Definition, instance: Instance) -> bool:
    """Whether nobody else could go on from here, whoever is asking and whatever they are shown."""
    state = definition.states[instance.state]
    decided = [one for one in state.transitions.values() if one.actor != "deterministic"]
    return not state.terminal and bool(decided) and all(one.actor == "human" for one in decided)


def _link(transition: Transition, instance: Instance) -> JsonObject:
    prefilled = mapped(transition.prefill, Known(instance.context, {}, instance.input))
    parts: dict[str, Json] = {"description": transition.description, "decision": transition.decision}
    return {
        "rel": "transition",
        "method": "workflow.submit",
        "args": {
            "workflowId": instance.id,
            "expectedVersion": instance.version,
            "transition": transition.name,
            "arguments": prefilled,
        },
        "title": transition.title,
        **{name: part for name, part in parts.items() if part is not None},
        "actor": transition.actor,
        "inputSchema": transition.input_schema if transition.input_schema is not None else NO_ARGUMENTS,
    }
