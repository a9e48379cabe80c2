"""The overrides of a stopped step (`$retry`, `$resolve`, `$cancel`), and the principals that may submit them."""

from signpost.model import JsonObject, Principal
from signpost.workflow.definition import Definition
from signpost.workflow.instance import Claim, Instance

RETRY, RESOLVE, CANCEL = "$retry", "$resolve", "$cancel"
"""Names that are submitted like transitions; no transition has such a name."""
MAY_RESOLVE, MAY_CANCEL = "workflow.resolve", "workflow.cancel"
"""The permissions that overrides need."""
CLAIM, HAPPENED, OUTPUT = "claim", "happened", "output"
_CLAIM_SCHEMA: JsonObject = {"type": "string", "description": "The value of `inDoubt.claim` in the last answer."}
RETRY_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {CLAIM: _CLAIM_SCHEMA},
    "required": [CLAIM],
    "additionalProperties": False,
}
RESOLUTION_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        CLAIM: _CLAIM_SCHEMA,
        HAPPENED: {"type": "boolean", "description": "Whether the execution took effect."},
        OUTPUT: {"description": "The answer that the executor would have given, if it took effect."},
    },
    "required": [CLAIM, HAPPENED],
    "additionalProperties": False,
}


def may_retry(claim: Claim, principal: Principal) -> bool:
    """Return whether the principal may have it repeated: any principal, if the author has consented to repetition."""
    return claim.repeatable or may_resolve(principal)


def is_denied(definition: Definition, instance: Instance, claim: Claim) -> bool:
    """Return whether policy denies the move to the principal that sees this definition. A principal that could not
    have begun a move cannot have it repeated either."""
    transition = definition.states[instance.state].transitions.get(claim.job.transition)
    return transition is not None and transition.is_denied


def may_resolve(principal: Principal) -> bool:
    return MAY_RESOLVE in principal.permissions


def may_cancel(instance: Instance, principal: Principal) -> bool:
    return MAY_CANCEL in principal.permissions or is_starter(instance, principal)


def is_starter(instance: Instance, principal: Principal) -> bool:
    """Return whether the principal started it. The issuer counts: two issuers may give two people the same subject."""
    is_same_issuer = instance.starter_issuer in ("", principal.issuer)
    return is_same_issuer and principal.subject == instance.started_by
