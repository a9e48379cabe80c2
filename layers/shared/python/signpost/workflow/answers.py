"""What the workflow tools answer: where an instance stands, and what may be done next."""

from collections.abc import Sequence

from signpost.model import Json, JsonObject, Principal, as_object
from signpost.spelling import meant
from signpost.workflow.calls import is_a_call
from signpost.workflow.definition import Definition, State
from signpost.workflow.focus import narrowed
from signpost.workflow.guards import Situation, passes
from signpost.workflow.instance import Claim, EvidenceItem, Hop, Instance, Request, child_of, is_over
from signpost.workflow.links import links, self_link, waits_for_a_person
from signpost.workflow.paths import Known
from signpost.workflow.permissions import has_started, may_resolve
from signpost.workflow.steps import Refusal, Step


def answer(definition: Definition, step: Step) -> JsonObject:
    """After a step, whether it went well or was refused."""
    told: dict[str, Json] = {
        **_stand(definition, step.instance),
        **_additions(definition.states[step.instance.state]),
        "evidence": [_evidence(item) for item in step.evidence],
    }
    if step.chain:
        told["chain"] = [_hop(hop) for hop in step.chain]
    if step.timed_out and step.moved:
        told["timedOut"] = True
    told |= _under_way(step.instance, step.at)
    request = step.instance.waits_for
    if request is not None:
        told["approval"] = _approval(request, step.at)
    is_waiting = _waits(definition, step.instance, request, step.at)
    if is_waiting:
        told["waitingFor"] = "human"
    legal = narrowed(step.instance, links(definition, step.instance, step.principal, step.at))
    if step.refusal is not None:
        told["error"] = _error(step.refusal, legal)
    look_again = step.refusal is not None or step.instance.claim is not None or (is_waiting and not legal)
    again = [self_link(step.instance.id)] if look_again else []
    return {**told, "links": [*again, *legal]}


def _waits(definition: Definition, instance: Instance, request: Request | None, now: float) -> bool:
    """For people. What they have not answered in time they cannot answer any more."""
    if is_over(definition, instance):
        return False
    if request is not None:
        return not request.has_expired(now)
    return waits_for_a_person(definition, instance)


def _stand(definition: Definition, instance: Instance) -> dict[str, Json]:
    ended: dict[str, Json] = {"terminal": True} if is_over(definition, instance) else {}
    if instance.cancelled is not None:
        ended["cancelled"] = {"by": instance.cancelled.by}
    return {
        "workflowId": instance.id,
        "definitionId": instance.definition_id,
        "state": instance.state,
        "version": instance.version,
        "context": instance.context,
        **ended,
    }


def _under_way(instance: Instance, now: float) -> dict[str, Json]:
    """What has begun and is not over, and what went wrong while nobody was looking."""
    told: dict[str, Json] = {}
    claim, fault = instance.claim, instance.fault
    if claim is not None and claim.is_in_doubt(now):
        wait: dict[str, Json] = {"retryAfterMs": claim.patience_ms(now)} if now < claim.over_at else {}
        doubt: JsonObject = {
            "transition": claim.job.transition,
            "message": claim.message or DOUBT,
            "claim": claim.token,
        }
        told["inDoubt"] = {**doubt, **wait}
    elif claim is not None:
        told["pending"] = _pending(claim, now)
    elif instance.entering:
        told["entering"] = instance.state
    if fault is not None:
        parts: dict[str, Json] = {"errorClass": fault.error_class} if fault.error_class else {}
        told["fault"] = {"code": fault.code, "message": fault.message, "transition": fault.transition, **parts}
    return told


def _pending(claim: Claim, now: float) -> JsonObject:
    child: dict[str, Json] = {"workflowId": child_of(claim)} if claim.awaits == "workflow" else {}
    return {
        "transition": claim.job.transition,
        "on": claim.awaits,
        "attempt": claim.attempt,
        "retryAfterMs": claim.patience_ms(now),
        **child,
    }


def _additions(state: State) -> dict[str, Json]:
    parts = {"goal": state.goal, "instructions": state.guidance}
    guidance: dict[str, Json] = {name: text for name, text in parts.items() if text is not None}
    return {"guidance": guidance} if guidance else {}


def _error(refusal: Refusal, legal: Sequence[JsonObject]) -> JsonObject:
    error: dict[str, Json] = {"code": refusal.code, "message": refusal.message}
    if refusal.code == "INVALID_TRANSITION" and (close := _meant(refusal.transition, legal)):
        error["message"] = f"{refusal.message} Did you mean {close}?"
    if refusal.transition is not None:
        error["attemptedTransition"] = refusal.transition
    if refusal.error_class is not None:
        error["errorClass"] = refusal.error_class
    if refusal.retry_after_ms is not None:
        error["retryAfterMs"] = refusal.retry_after_ms
    if refusal.is_unheard:
        error["outcome"] = "unknown"
    return error


def _meant(transition: str | None, legal: Sequence[JsonObject]) -> str | None:
    """Of what is linked: whoever is not shown a transition does not hear of it this way either."""
    return meant(transition or "", [str(as_object(link["args"])["transition"]) for link in legal])


def _approval(request: Request, now: float) -> JsonObject:
    return {
        "requestId": request.id,
        "queue": request.queue,
        "digest": request.digest,
        "shows": list(request.shown),
        "askedBy": request.asked_by,
        "approvedBy": sorted(request.approved_by),
        **({} if request.expires_at is None else _patience(request.expires_at - now)),
    }


def _patience(seconds: float) -> JsonObject:
    return {"expiresInSeconds": round(seconds)} if seconds > 0 else {"expired": True}


def _hop(hop: Hop) -> JsonObject:
    return {
        "fromState": hop.from_state,
        "transition": hop.transition,
        "toState": hop.to_state,
        "version": hop.version,
    }


def _evidence(item: EvidenceItem) -> JsonObject:
    return {"kind": item.kind, **item.fields}


def explained(definition: Definition) -> JsonObject:
    """A whole definition: its states and where they lead."""
    return {
        "definitionId": definition.id,
        "title": definition.title,
        "description": definition.description,
        "initialState": definition.initial_state,
        "states": {
            name: {"terminal": True} if state.terminal else {"transitions": list(state.transitions)}
            for name, state in definition.states.items()
        },
    }


DOUBT = "It was executed, and nobody knows what came of it."
SECRET = ("env", "headers")
"""Of an executor's settings: what may hold a credential that an author wrote down."""


def explained_transition(definition: Definition, name: str) -> JsonObject | None:
    """The first of that name in declared order; None if there is none."""
    having = [state for state in definition.states.values() if name in state.transitions]
    if not having:
        return None
    transition = having[0].transitions[name]
    several: dict[str, Json] = {"fromStates": [state.name for state in having]} if len(having) > 1 else {}
    return {
        "definitionId": definition.id,
        "transition": name,
        "title": transition.title,
        "description": transition.description,
        "target": transition.target,
        **({"branches": [branch.target for branch in transition.branches]} if transition.branches else {}),
        "actor": transition.actor,
        **({"decision": transition.decision} if transition.decision else {}),
        "guards": list(transition.written_guards),
        "inputSchema": transition.input_schema,
        "executor": None if transition.executor is None else _without_secrets(transition.executor.settings),
        **several,
    }


def _without_secrets(settings: JsonObject) -> JsonObject:
    return {name: "(hidden)" if name in SECRET else value for name, value in settings.items()}


def may_read(definition: Definition, instance: Instance, principal: Principal) -> bool:
    """Whoever a definition says, where it says anything. A call is between its caller and the function, and the id of
    its run can be guessed: others see it only if they may have to say what came of it."""
    if is_a_call(instance.digest) and not (has_started(instance, principal) or may_resolve(principal)):
        return False
    situation = Situation(Known(instance.context, {}, instance.input), principal, instance.proven)
    return all(passes(guard, situation) for guard in definition.readers)
