"""Decides before each attempt of a step whether its principal still has the right to it."""

from typing import TYPE_CHECKING

from signpost.model import Principal
from signpost.workflow.engine.permissions import is_starter
from signpost.workflow.instance import Instance

if TYPE_CHECKING:
    from signpost.workflow.ports import PrincipalCheck, StepPolicy


class RightsOfRequest:
    """The rights of a step at the gateway: its request was authenticated, and the rules were applied to it."""

    def find_loss(self, principal: Principal, instance: Instance, transition: str) -> str | None:
        del principal, instance, transition


class CurrentRights:
    """The rights of a step that goes on without its caller: the worker looks them up again."""

    def __init__(self, *, principals: "PrincipalCheck", policy: "StepPolicy") -> None:
        self._principals = principals
        self._policy = policy

    def find_loss(self, principal: Principal, instance: Instance, transition: str) -> str | None:
        """Rules restrict what a principal has begun itself. Children of workflows, and steps in the workflows of other
        principals, were chosen by authors and guards."""
        loss = self._principals.find_loss(principal)
        if loss is not None:
            return f"{loss} Nothing more is executed in its name."
        is_own = instance.parent is None and is_starter(instance, principal)
        if not is_own or self._policy.allows(principal, instance, transition):
            return None
        return (
            "The rules of the tenant do not allow this to its principal any more. Nothing more is executed in its name."
        )
