"""Builds the answers of the workflow tools: the state of an instance, and the links to its next moves."""

import re
from collections.abc import Mapping, Sequence

from signpost.model import Json, JsonObject, Principal, as_object
from signpost.spelling import suggest_name
from signpost.workflow.definition import Definition, ExecutorSpec, State
from signpost.workflow.engine.argument_schemas import arguments_schema_of, is_open
from signpost.workflow.engine.capability_focus import narrow_links
from signpost.workflow.engine.links import (
    build_cancel_links,
    build_links,
    find_questions_for,
    is_waiting_for_person,
    self_link,
)
from signpost.workflow.engine.steps import Refusal, Step
from signpost.workflow.guards import Guard, guards_of, passes, reads_principal_only
from signpost.workflow.instance import (
    ApprovalRequest,
    Claim,
    EvidenceItem,
    Hop,
    Instance,
    child_id_of,
    is_over,
)
from signpost.workflow.running.function_run import is_hidden_run


def build_answer(definition: Definition, step: Step, *, is_start: bool = False) -> JsonObject:
    """Build the answer after a step, be it done or refused. `is_start` marks the answer to a start."""
    answer: dict[str, Json] = {
        **_build_position(definition, step.instance),
        **_build_guidance(definition.states[step.instance.state]),
        "evidence": [_build_evidence(item) for item in step.evidence],
    }
    if step.chain:
        answer["chain"] = [_build_hop(hop) for hop in step.chain]
    if step.has_timed_out and step.has_moved:
        answer["timedOut"] = True
    answer |= _build_progress(step.instance, step.at)
    request = step.instance.open_request
    if request is not None:
        answer["approval"] = _build_approval(request, step.instance.context, step.at)
    is_parked = step.instance.claim is not None and step.instance.claim.is_parked
    is_waiting = not is_parked and _is_waiting_for_people(definition, step.instance, request, step.at)
    if is_parked or is_waiting:
        answer["waitingFor"] = "answers" if is_parked else "human"
    questions = find_questions_for(definition, step.instance, step.principal)
    if questions is not None:
        answer["questions"] = questions.requests
    moves = narrow_links(step.instance, build_links(definition, step.instance, step.principal, step.at))
    needs_self_link = step.refusal is not None or step.instance.claim is not None or (is_waiting and not moves)
    self_links = [self_link(step.instance.id)] if needs_self_link else []
    shows_cancel = needs_self_link or not is_start
    legal = [*moves, *(_build_cancel_links(definition, step) if shows_cancel else ())]
    if step.refusal is not None:
        answer["error"] = _build_error(step.refusal, legal)
    return {**answer, "links": [*self_links, *legal]}


def _build_cancel_links(definition: Definition, step: Step) -> Sequence[JsonObject]:
    """Build the link that cancels the instance. A refusal while a step is under way has only the `self` link."""
    claim = step.instance.claim
    if step.refusal is not None and claim is not None and not claim.is_parked:
        return ()
    return build_cancel_links(definition, step.instance, step.principal)


def _is_waiting_for_people(
    definition: Definition, instance: Instance, request: ApprovalRequest | None, now: float
) -> bool:
    """Return whether the instance waits for people. They cannot answer a request that has expired."""
    if is_over(definition, instance):
        return False
    if request is not None:
        return not request.has_expired(now)
    return is_waiting_for_person(definition, instance)


def _build_position(definition: Definition, instance: Instance) -> dict[str, Json]:
    ending: dict[str, Json] = {"terminal": True} if is_over(definition, instance) else {}
    if instance.cancelled is not None:
        ending["cancelled"] = {"by": instance.cancelled.by}
    return {
        "workflowId": instance.id,
        "definitionId": instance.definition_id,
        "state": instance.state,
        "version": instance.version,
        "context": instance.context,
        **ending,
    }


def _build_progress(instance: Instance, now: float) -> dict[str, Json]:
    """Describe the move under way, and the fault of a move for which no caller was waiting."""
    progress: dict[str, Json] = {}
    claim, fault = instance.claim, instance.fault
    if claim is not None and claim.is_in_doubt(now):
        wait: dict[str, Json] = {"retryAfterMs": claim.retry_after_ms(now)} if now < claim.latest_end_at else {}
        doubt: JsonObject = {
            "transition": claim.job.transition,
            "message": claim.message or IN_DOUBT_MESSAGE,
            "claim": claim.token,
        }
        progress["inDoubt"] = {**doubt, **wait}
    elif claim is not None:
        progress["pending"] = _build_pending(claim, now)
    elif instance.entering:
        progress["entering"] = instance.state
    if fault is not None:
        parts: dict[str, Json] = {"errorClass": fault.error_class} if fault.error_class else {}
        progress["fault"] = {"code": fault.code, "message": fault.message, "transition": fault.transition, **parts}
    return progress


def _build_pending(claim: Claim, now: float) -> JsonObject:
    child: dict[str, Json] = {"workflowId": child_id_of(claim)} if claim.awaits == "workflow" else {}
    return {
        "transition": claim.job.transition,
        "on": claim.awaits,
        "attempt": claim.attempt,
        "retryAfterMs": claim.retry_after_ms(now),
        **child,
    }


def _build_guidance(state: State) -> dict[str, Json]:
    parts = {"goal": state.goal, "instructions": state.guidance}
    guidance: dict[str, Json] = {name: text for name, text in parts.items() if text is not None}
    return {"guidance": guidance} if guidance else {}


def _build_error(refusal: Refusal, legal: Sequence[JsonObject]) -> JsonObject:
    error: dict[str, Json] = {"code": refusal.code, "message": refusal.message}
    if refusal.code == "INVALID_TRANSITION" and (close := _find_similar_transition(refusal.transition, legal)):
        error["message"] = f"{refusal.message} Did you mean {close}?"
    if refusal.transition is not None:
        error["attemptedTransition"] = refusal.transition
    if refusal.error_class is not None:
        error["errorClass"] = refusal.error_class
    if refusal.retry_after_ms is not None:
        error["retryAfterMs"] = refusal.retry_after_ms
    if refusal.is_write_unknown:
        error["outcome"] = "unknown"
    return error


def _find_similar_transition(transition: str | None, legal: Sequence[JsonObject]) -> str | None:
    """Suggest a linked transition only: a principal that is not shown a transition must not learn of it this way."""
    return suggest_name(transition or "", [str(as_object(link["args"])["transition"]) for link in legal])


def _build_approval(request: ApprovalRequest, context: JsonObject, now: float) -> JsonObject:
    return {
        "requestId": request.id,
        "queue": request.queue,
        "digest": request.digest,
        "shows": list(request.select_values(context)),
        "askedBy": request.asked_by,
        "approvedBy": sorted(request.approved_by),
        **({} if request.expires_at is None else _build_expiry(request.expires_at - now)),
    }


def _build_expiry(seconds: float) -> JsonObject:
    return {"expiresInSeconds": round(seconds)} if seconds > 0 else {"expired": True}


def _build_hop(hop: Hop) -> JsonObject:
    return {
        "fromState": hop.from_state,
        "transition": hop.transition,
        "toState": hop.to_state,
        "version": hop.version,
    }


def _build_evidence(item: EvidenceItem) -> JsonObject:
    return {"kind": item.kind, **item.fields}


def explain_definition(definition: Definition) -> JsonObject:
    """Describe a whole definition: its states and their transitions."""
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


IN_DOUBT_MESSAGE = "The step was executed and its result is unknown."
HIDDEN = "(hidden)"
SHOWN_SETTINGS = ("kind", "function", "definitionId", "command", "tool", "connection", "queue")
"""Settings of an executor that name what it calls. The others may hold credentials that its author wrote down."""
SECRET_SETTINGS = ("env", "headers")
"""Settings that are shown to no caller, however deep they lie."""
_PLAIN_NAME = re.compile(r"(?!.*://)[A-Za-z0-9_.:/-]{1,200}")


def explain_transition(definition: Definition, name: str, *, shows_settings: bool) -> JsonObject | None:
    """Describe the first transition of this name in declared order; None if there is none. With `shows_settings` all
    settings of its executor are shown, except those that hold credentials; else those that name what it calls."""
    states = [state for state in definition.states.values() if name in state.transitions]
    if not states:
        return None
    transition = states[0].transitions[name]
    from_states: dict[str, Json] = {"fromStates": [state.name for state in states]} if len(states) > 1 else {}
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
        "inputSchema": None if is_open(definition, transition) else arguments_schema_of(definition, transition),
        "executor": _explain_executor(transition.executor, shows_settings=shows_settings),
        **from_states,
    }


def _explain_executor(executor: ExecutorSpec | None, *, shows_settings: bool) -> Json:
    if executor is None:
        return None
    if shows_settings:
        return _hide_secrets(executor.settings)
    names = {name: value for name, value in executor.settings.items() if name in SHOWN_SETTINGS and _is_name(value)}
    arguments = as_object(executor.settings.get("arguments"))
    return {**names, "arguments": dict.fromkeys(arguments, HIDDEN)} if arguments else names


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and _PLAIN_NAME.fullmatch(value) is not None


def _hide_secrets(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {
            name: HIDDEN if name.casefold() in SECRET_SETTINGS else _hide_secrets(member)
            for name, member in value.items()
        }
    return [_hide_secrets(entry) for entry in value] if isinstance(value, list) else value


def may_read(definition: Definition, instance: Instance, principal: Principal) -> bool:
    """Return whether the principal may see the instance: it has to pass the `readers` of the definition, if there are
    any. Another principal sees a run that calls one function only with the permission to resolve it."""
    return may_read_head(instance, principal) and _are_passed(definition.readers, instance, principal)


def may_read_head(head: Instance, principal: Principal) -> bool:
    """Return whether nothing in the head alone hides the instance: neither that it calls one function, nor those of
    its kept `readers` that ask about the principal only. So a hidden instance is no more work than none at all."""
    if is_hidden_run(head, principal):
        return False
    guards = [guard for guard in guards_of(head.readers) if reads_principal_only(guard)]
    return _are_passed(guards, head, principal)


def passes_kept_readers(instance: Instance, principal: Principal) -> bool:
    """Return whether the principal passes all `readers` that the instance keeps."""
    return _are_passed(guards_of(instance.readers), instance, principal)


def _are_passed(guards: Sequence[Guard], instance: Instance, principal: Principal) -> bool:
    guard_input = instance.guard_input(principal, {})
    return all(passes(guard, guard_input) for guard in guards)
