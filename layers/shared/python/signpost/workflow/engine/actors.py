"""Decides which principals may take a transition by its actor."""

from signpost.model import ENGINE_SUBJECT, Principal
from signpost.workflow.definition import State, Transition

MAY_ACT_AS_SYSTEM = "workflow.system"
"""The permission of a program that may take the transitions of the actor `system`."""


def may_take(state: State, transition: Transition, principal: Principal) -> bool:
    """Return whether the actor of a transition permits it to the principal, regardless of its guards."""
    return find_actor_mismatch(state, transition, principal) is None


def find_actor_mismatch(state: State, transition: Transition, principal: Principal) -> str | None:
    """Return a sentence that names the actor that a transition needs; None if the principal is such an actor."""
    name = transition.name
    match transition.actor:
        case "human" if not principal.human:
            return f"Only a person may take {name}. Wait until a person has taken it."
        case "system" if not is_system(principal):
            needed = f"an API key or service token with the permission {MAY_ACT_AS_SYSTEM}"
            return f"Only a system may take {name}: {needed}. Wait until a system has taken it."
        case "deterministic" if not state.runs_by_itself:
            return f"Only the engine takes {name}, and no caller. Follow one of the links."
        case _:
            return None


def is_system(principal: Principal) -> bool:
    """Return whether the principal is a program that may take the transitions of systems."""
    return not principal.human and MAY_ACT_AS_SYSTEM in principal.permissions


def engine_principal(tenant: str) -> Principal:
    """Return the principal of steps that no caller has asked for, such as those after a deadline."""
    return Principal(ENGINE_SUBJECT, tenant, ENGINE_SUBJECT)


def is_engine(principal: Principal) -> bool:
    return (principal.subject, principal.issuer) == (ENGINE_SUBJECT, ENGINE_SUBJECT)
