"""Decides before each attempt of a step whether its principal still has the right to it."""

from typing import TYPE_CHECKING

from signpost.model import Principal
from signpost.workflow.engine.permissions import is_starter
from signpost.workflow.instance import Instance

if TYPE_CHECKING:
    from signpost.workflow.ports import PrincipalCheck, StepPolicy


class RightsOfRequest:
    """The rights of a step at the gateway: the request was authenticated, and the rules were applied to it. Only a step
    that a request has repeated may be that of another principal, whose key is looked up."""

    def __init__(self, principals: "PrincipalCheck") -> None:
        self._principals = principals

    def find_loss(self, principal: Principal, instance: Instance, transition: str) -> str | None:
        del instance, transition
        return _find_lost_credential(self._principals, principal)


class CurrentRights:
    """The rights of a step that goes on without its caller: the worker looks them up again."""

    def __init__(self, *, principals: "PrincipalCheck", policy: "StepPolicy") -> None:
        self._principals = principals
        self._policy = policy

    def find_loss(self, principal: Principal, instance: Instance, transition: str) -> str | None:
        """Rules restrict what a principal has begun itself. Children of workflows, and steps in the workflows of other
        principals, were chosen by authors and guards."""
        if (loss := _find_lost_credential(self._principals, principal)) is not None:
            return loss
        is_own = instance.parent is None and is_starter(instance, principal)
        if not is_own or self._policy.allows(principal, instance, transition):
            return None
        return (
            "The rules of the tenant do not allow this to its principal any more. Nothing more is executed in its name."
        )


def _find_lost_credential(principals: "PrincipalCheck", principal: Principal) -> str | None:
    loss = principals.find_loss(principal)
    return None if loss is None else f"{loss} Nothing more is executed in its name."
