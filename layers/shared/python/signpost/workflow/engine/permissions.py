"""The overrides of a stopped step (`$retry`, `$resolve`, `$answer`, `$cancel`), and the principals that may submit
them."""

from collections.abc import Mapping

from signpost.model import JsonObject, Principal
from signpost.workflow.definition import Definition, Transition
from signpost.workflow.engine.actors import is_engine, may_take
from signpost.workflow.engine.argument_schemas import NO_ARGUMENTS
from signpost.workflow.guards import passes
from signpost.workflow.instance import Claim, Instance, Job
from signpost.workflow.run_summary import RunSummary

RETRY, RESOLVE, CANCEL, ANSWER = "$retry", "$resolve", "$cancel", "$answer"
"""Names that are submitted like transitions; no transition has such a name."""
MAY_RESOLVE, MAY_CANCEL = "workflow.resolve", "workflow.cancel"
"""The permissions that overrides need."""
CLAIM, HAPPENED, OUTPUT = "claim", "happened", "output"
_CLAIM_SCHEMA: JsonObject = {"type": "string", "description": "The value of `inDoubt.claim` in the last answer."}
_RETRY_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {CLAIM: _CLAIM_SCHEMA},
    "required": [CLAIM],
    "additionalProperties": False,
}
_RESOLUTION_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        CLAIM: _CLAIM_SCHEMA,
        HAPPENED: {"type": "boolean", "description": "Whether the execution took effect."},
        OUTPUT: {"description": "The answer that the executor would have given, if it took effect."},
    },
    "required": [CLAIM, HAPPENED],
    "additionalProperties": False,
}
OVERRIDE_SCHEMAS: Mapping[str, JsonObject] = {
    RETRY: _RETRY_SCHEMA,
    RESOLVE: _RESOLUTION_SCHEMA,
    CANCEL: NO_ARGUMENTS,
}
"""The schemas of the arguments of overrides, as their links show them. That of `$answer` depends on the questions."""


def may_retry(definition: Definition, instance: Instance, claim: Claim, principal: Principal) -> bool:
    """Return whether the principal may have the move repeated: with the permission, or if the author has consented to
    repetition and the principal could have begun the move."""
    return may_resolve(principal) or (claim.repeatable and _could_begin(definition, instance, claim.job, principal))


def is_denied(definition: Definition, instance: Instance, claim: Claim) -> bool:
    """Return whether policy denies the move to the principal that sees this definition. A principal that could not
    have begun a move cannot have it repeated either."""
    transition = _transition_of(definition, instance, claim.job)
    return transition is not None and transition.is_denied


def _could_begin(definition: Definition, instance: Instance, job: Job, principal: Principal) -> bool:
    """Return whether actor and guards of the move let this principal pass, with the arguments that it was begun with.
    Entering a state asks nothing of the caller."""
    transition = _transition_of(definition, instance, job)
    if transition is None:
        return True
    if not may_take(definition.states[instance.state], transition, principal):
        return False
    guard_input = instance.guard_input(principal, job.arguments)
    return all(passes(guard, guard_input) for guard in transition.guards)


def _transition_of(definition: Definition, instance: Instance, job: Job) -> Transition | None:
    return definition.states[instance.state].transitions.get(job.transition)


def may_resolve(principal: Principal) -> bool:
    return MAY_RESOLVE in principal.permissions


def may_answer(instance: Instance, claim: Claim, principal: Principal) -> bool:
    """Return whether the principal may answer the questions of the step: it has taken the step, or started the instance
    if the engine takes the step by itself, or may resolve."""
    taker = claim.job.principal
    if is_engine(taker):
        is_asked = is_starter(instance, principal)
    else:
        is_asked = (principal.subject, principal.issuer) == (taker.subject, taker.issuer)
    return is_asked or may_resolve(principal)


def may_cancel(instance: Instance, principal: Principal) -> bool:
    return MAY_CANCEL in principal.permissions or is_starter(instance, principal)


def is_starter(instance: Instance | RunSummary, principal: Principal) -> bool:
    """Return whether the principal started it. The issuer counts: two issuers may give two people the same subject."""
    is_same_issuer = instance.starter_issuer in ("", principal.issuer)
    return is_same_issuer and principal.subject == instance.started_by
