"""What may be said of a step that stands still, besides what its author declared, and by whom."""

from signpost.model import JsonObject, Principal
from signpost.workflow.definition import Definition
from signpost.workflow.instance import Claim, Instance

RETRY, RESOLVE, CANCEL = "$retry", "$resolve", "$cancel"
"""Submitted like transitions, and never the name of one."""
MAY_RESOLVE, MAY_CANCEL = "workflow.resolve", "workflow.cancel"
"""Permissions."""
CLAIM, HAPPENED, OUTPUT = "claim", "happened", "output"
_CLAIM: JsonObject = {"type": "string", "description": "What was shown to be in doubt, and nothing else."}
REPETITION: JsonObject = {
    "type": "object",
    "properties": {CLAIM: _CLAIM},
    "required": [CLAIM],
    "additionalProperties": False,
}
RESOLUTION: JsonObject = {
    "type": "object",
    "properties": {
        CLAIM: _CLAIM,
        HAPPENED: {"type": "boolean", "description": "Whether what was executed has happened."},
        OUTPUT: {"description": "What the executor would have answered, if it has."},
    },
    "required": [CLAIM, HAPPENED],
    "additionalProperties": False,
}


def may_retry(claim: Claim, principal: Principal) -> bool:
    """Anybody, where the author has consented to repetition."""
    return claim.repeatable or may_resolve(principal)


def is_denied(definition: Definition, instance: Instance, claim: Claim) -> bool:
    """Whether whoever sees this definition could not have begun it: then they cannot have it repeated either."""
    begun = definition.states[instance.state].transitions.get(claim.job.transition)
    return begun is not None and begun.is_denied


def may_resolve(principal: Principal) -> bool:
    return MAY_RESOLVE in principal.permissions


def may_cancel(instance: Instance, principal: Principal) -> bool:
    return MAY_CANCEL in principal.permissions or has_started(instance, principal)


def has_started(instance: Instance, principal: Principal) -> bool:
    """Two issuers may call two people the same."""
    is_same_issuer = instance.starter_issuer in ("", principal.issuer)
    return is_same_issuer and principal.subject == instance.started_by
