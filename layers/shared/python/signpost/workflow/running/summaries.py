"""Builds the summaries of runs, writes them as text, and decides which principals see a run by its summary."""

import json
from collections.abc import Sequence
from dataclasses import MISSING, asdict, fields
from itertools import accumulate
from typing import Any

from signpost.model import PROXY_WORKFLOW, Json, JsonObject, Principal
from signpost.workflow.definition import Definition, Transition
from signpost.workflow.engine.capability_focus import CAPABILITY, capabilities_of
from signpost.workflow.engine.links import is_waiting_for_person
from signpost.workflow.engine.permissions import is_starter
from signpost.workflow.guards import GuardInput, guards_of, passes, reads_principal_only
from signpost.workflow.instance import ApprovalRequest, Instance, is_over
from signpost.workflow.paths import ValueSources
from signpost.workflow.principal_guards import NEVER, reduce_guards
from signpost.workflow.run_summary import HumanDecision, RunSummary, WaitingFor
from signpost.workflow.running.function_run import is_hidden_run
from signpost.workflow.running.serialization import LONGEST_READERS, text_of

LONGEST_TITLE = 200
"""Characters of a title in a summary."""
MOST_DECISIONS = 20
"""Transitions in a summary that answer an approval request."""
LONGEST_DECISIONS = 50_000
"""Characters of their names and guards: three rows of a step have the summary, and a row has 400 KB."""
_ANY_PRINCIPAL = Principal("", "", "")
_FIELDS = frozenset(field.name for field in fields(RunSummary))
_PARKED = "parked"
"""The stored field of a run that waits for answers."""
_OPTIONAL = frozenset(field.name for field in fields(RunSummary) if field.default is not MISSING)


def build_summary(definition: Definition, instance: Instance, now: float) -> RunSummary:
    """Summarise an instance as it is written."""
    capability = _capability_of(instance)
    return RunSummary(
        workflow_id=instance.id,
        definition_id=instance.definition_id,
        digest=instance.digest,
        title=_title_of(definition, capability)[:LONGEST_TITLE],
        state=instance.state,
        version=instance.version,
        started_at=instance.started_at,
        changed_at=now,
        started_by=instance.started_by,
        starter_issuer=instance.starter_issuer,
        capability=capability,
        waiting=_find_waiting(definition, instance, now),
        fault="" if instance.fault is None else instance.fault.code,
        cancelled=instance.cancelled is not None,
        parent=instance.parent,
        readers=_reduce_readers(definition, instance),
        decisions=_list_decisions(definition, instance),
    )


def _capability_of(instance: Instance) -> str:
    capability = instance.input.get(CAPABILITY)
    return capability if instance.definition_id == PROXY_WORKFLOW and isinstance(capability, str) else ""


def _title_of(definition: Definition, capability: str) -> str:
    if not capability:
        return definition.title
    transition = capabilities_of(definition).get(capability)
    return capability if transition is None else transition.title


def _find_waiting(definition: Definition, instance: Instance, now: float) -> WaitingFor | None:
    """Return what the run waits for, in the words of `workflow.get`; None after the end."""
    if is_over(definition, instance):
        return None
    claim, request = instance.claim, instance.open_request
    if claim is not None:
        return "in_doubt" if claim.is_in_doubt(now) else claim.awaits
    if request is not None:
        return "agent" if request.has_expired(now) else "human"
    return "human" if is_waiting_for_person(definition, instance) else "agent"


def _reduce_readers(definition: Definition, instance: Instance) -> Json:
    """Return the readers for lists. If they are too long even so, no list shows the run."""
    if not definition.readers:
        return None
    reduced = reduce_guards(definition.readers, instance.guard_input(_ANY_PRINCIPAL, {}))
    return reduced if len(json.dumps(reduced)) <= LONGEST_READERS else [NEVER]


def _list_decisions(definition: Definition, instance: Instance) -> Sequence[HumanDecision]:
    request = instance.open_request
    if request is None or request.lapsed:
        return ()
    state = definition.states[instance.state]
    answers = [transition for transition in state.transitions.values() if transition.actor == "human"]
    decisions = [HumanDecision(answer.name, _reduce_decision(answer, instance)) for answer in answers[:MOST_DECISIONS]]
    lengths = accumulate(len(json.dumps(asdict(decision))) for decision in decisions)
    return tuple(decision for decision, length in zip(decisions, lengths, strict=True) if length <= LONGEST_DECISIONS)


def _reduce_decision(transition: Transition, instance: Instance) -> Json:
    """Return the guards that ask about the principal only. The others may ask about arguments, which are not known."""
    asked = [guard for guard in transition.guards if reads_principal_only(guard)]
    reduced = reduce_guards(asked, instance.guard_input(_ANY_PRINCIPAL, {}))
    return reduced if reduced and len(json.dumps(reduced)) <= LONGEST_READERS else None


def may_see(summary: RunSummary, principal: Principal) -> bool:
    """Return whether the principal may see the run, as `workflow.get` decides it at this version."""
    return not is_hidden_run(summary, principal) and _passes_all(summary.readers, principal)


def may_decide(summary: RunSummary, principal: Principal) -> bool:
    """Return whether the principal is a person that may answer the open request by a transition, as far as the guards
    on the principal decide. Guards on values are evaluated when the transition is submitted."""
    return principal.human and any(_passes_all(decision.guards, principal) for decision in summary.decisions)


def has_asked(summary: RunSummary, request: ApprovalRequest, principal: Principal) -> bool:
    """Return whether the principal has asked for the approval, or has started the run that asks."""
    return principal.person in request.askers or is_starter(summary, principal)


def _passes_all(guards: Json, principal: Principal) -> bool:
    guard_input = GuardInput(ValueSources({}, {}, {}, None), principal)
    return all(passes(guard, guard_input) for guard in guards_of(guards))


def summary_text(summary: RunSummary) -> str:
    """Write a summary without the fields that most runs do not have. A list of an earlier release shows no run that
    waits for answers, so it is told of another wait."""
    fields = {name: value for name, value in asdict(summary).items() if value or name not in _OPTIONAL}
    return text_of({**fields, "waiting": "agent", _PARKED: True} if summary.waiting == "answers" else fields)


def summary_of(text: str) -> RunSummary:
    stored: dict[str, Any] = json.loads(text)
    decisions: Sequence[JsonObject] = stored.pop("decisions", ())
    known = {name: value for name, value in stored.items() if name in _FIELDS}
    if stored.get(_PARKED):
        known["waiting"] = "answers"
    return RunSummary(
        **known, decisions=tuple(HumanDecision(str(one["transition"]), one.get("guards")) for one in decisions)
    )
