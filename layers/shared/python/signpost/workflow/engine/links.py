"""Builds the links to the next legal moves of an instance, from the definition that the engine follows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.model import Json, JsonObject, Principal
from signpost.workflow.definition import Definition, Transition
from signpost.workflow.engine.actors import may_take
from signpost.workflow.engine.approvals import find_answer_refusal
from signpost.workflow.engine.argument_schemas import NO_ARGUMENTS, arguments_schema_of
from signpost.workflow.engine.endings import can_be_cancelled
from signpost.workflow.engine.permissions import (
    ANSWER,
    CANCEL,
    OVERRIDE_SCHEMAS,
    RESOLVE,
    RETRY,
    is_denied,
    may_answer,
    may_cancel,
    may_resolve,
    may_retry,
)
from signpost.workflow.engine.steps import ON_ENTER
from signpost.workflow.guards import passes
from signpost.workflow.instance import Claim, Instance, is_over
from signpost.workflow.values import apply_mapping

if TYPE_CHECKING:
    from signpost.workflow.step_questions import StepQuestions


def self_link(workflow_id: str) -> JsonObject:
    return {"rel": "self", "method": "workflow.get", "args": {"workflowId": workflow_id}}


def build_links(definition: Definition, instance: Instance, principal: Principal, now: float) -> Sequence[JsonObject]:
    """Build the links of the moves, in the order in which the author declared the transitions."""
    claim = instance.claim
    if claim is not None and claim.is_parked:
        return _build_answer_links(definition, instance, claim, principal)
    if claim is not None:
        return (
            _build_in_doubt_links(definition, instance, claim, principal)
            if claim.is_in_doubt(now) and now >= claim.latest_end_at
            else ()
        )
    if instance.entering and not is_over(definition, instance):
        return [_build_submit_link(instance, ON_ENTER, f"Run the onEnter of {instance.state} again")]
    return [
        _build_transition_link(definition, transition, instance)
        for transition in find_legal_transitions(definition, instance, principal, now)
    ]


def build_cancel_links(definition: Definition, instance: Instance, principal: Principal) -> Sequence[JsonObject]:
    """Build the link that cancels the instance, for a principal that may do so while it is possible."""
    if not (can_be_cancelled(definition, instance) and may_cancel(instance, principal)):
        return ()
    return [_build_submit_link(instance, CANCEL, "Cancel this workflow: it ends here, and completed steps stay done")]


def _build_in_doubt_links(
    definition: Definition, instance: Instance, claim: Claim, principal: Principal
) -> Sequence[JsonObject]:
    """Build the overrides of a step in doubt, for a principal that may give them."""
    retry_link = _build_submit_link(
        instance, RETRY, "Execute the step again, with the same idempotency key", claim=claim.token
    )
    resolve_link = _build_submit_link(
        instance, RESOLVE, "State the result of the execution", claim=claim.token, happened=False
    )
    is_repeated = may_retry(definition, instance, claim, principal) and not is_denied(definition, instance, claim)
    return [*([retry_link] if is_repeated else ()), *([resolve_link] if may_resolve(principal) else ())]


def _build_answer_links(
    definition: Definition, instance: Instance, claim: Claim, principal: Principal
) -> Sequence[JsonObject]:
    """Build the link that answers the questions of a parked step, for a principal that may do so."""
    questions = find_questions_for(definition, instance, principal)
    if questions is None:
        return ()
    # Imported on first use: few functions ask.
    from signpost.workflow.engine.questions import build_answer_schema, name_of_answers  # noqa: PLC0415

    link = _build_submit_link(
        instance, ANSWER, f"Answer the questions of {claim.job.transition}", **name_of_answers(questions)
    )
    return [{**link, "inputSchema": build_answer_schema(questions)}]


def find_questions_for(definition: Definition, instance: Instance, principal: Principal) -> "StepQuestions | None":
    """Return the open questions of the parked step that the principal may answer; None if there are none."""
    claim = instance.claim
    if claim is None or not claim.is_parked or is_denied(definition, instance, claim):
        return None
    return claim.questions if may_answer(instance, claim, principal) else None


def _build_submit_link(instance: Instance, transition: str, title: str, **arguments: Json) -> JsonObject:
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
        "inputSchema": OVERRIDE_SCHEMAS.get(transition, NO_ARGUMENTS),
    }


def find_legal_transitions(
    definition: Definition, instance: Instance, principal: Principal, now: float
) -> Sequence[Transition]:
    """Return the transitions to link. Deterministic ones are linked only in a state that has no others, where the chain
    did not follow them by itself: there would be no other way on. Those of persons are linked for every principal, and
    say so."""
    state = definition.states[instance.state]
    if is_over(definition, instance):
        return ()
    offered = [
        transition
        for transition in state.transitions.values()
        if not transition.is_denied
        and (transition.actor == "human" or may_take(state, transition, principal))
        and find_answer_refusal(transition, instance, now) is None
    ]
    if not state.runs_by_itself and not state.links_by_guards:
        return offered
    guard_input = instance.guard_input(principal, {})
    return [transition for transition in offered if all(passes(guard, guard_input) for guard in transition.guards)]


def is_waiting_for_person(definition: Definition, instance: Instance) -> bool:
    """Return whether only a person can continue from here, regardless of the principal and of its links."""
    state = definition.states[instance.state]
    choices = [transition for transition in state.transitions.values() if transition.actor != "deterministic"]
    return not state.terminal and bool(choices) and all(transition.actor == "human" for transition in choices)


def _build_transition_link(definition: Definition, transition: Transition, instance: Instance) -> JsonObject:
    schema = arguments_schema_of(definition, transition)
    prefill: JsonObject = {} if schema == NO_ARGUMENTS else transition.prefill
    prefilled = apply_mapping(prefill, instance.value_sources({}), nested=transition.resolves_nested)
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
        "inputSchema": schema,
    }
