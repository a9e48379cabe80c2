"""Applies the current rules of a tenant to work that goes on without its caller."""

from typing import TYPE_CHECKING

from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import placement_of
from signpost.calling.skill_names import names_for_rules, skill_name
from signpost.catalogue.cache import CatalogueView
from signpost.catalogue.catalogue_access import item_of
from signpost.model import PROXY_WORKFLOW, Principal
from signpost.policy import policy_items
from signpost.policy.access import AccessLookup
from signpost.workflow.instance import Instance
from signpost.workflow.running.function_run import parse_digest

if TYPE_CHECKING:
    from signpost.policy.policy_items import PolicyItem


class CurrentPolicy:
    """Implements `StepPolicy` of the workflow ports by the rules and the catalogue."""

    def __init__(self, *, catalogue: CatalogueView, accesses: AccessLookup, functions: FunctionView) -> None:
        self._catalogue = catalogue
        self._accesses = accesses
        self._functions = functions

    def allows(self, principal: Principal, instance: Instance, transition: str) -> bool:
        access = self._accesses.of(principal)
        return access.is_open or access.admits(self._find_item(principal.tenant, instance, transition))

    def _find_item(self, tenant: str, instance: Instance, transition: str) -> "PolicyItem":
        """Return the item that was started: the function of a long call or a skill, a capability, or the workflow."""
        if (run := parse_digest(instance.digest)) is not None:
            return self._build_function_item(tenant, run.function)
        if instance.definition_id == PROXY_WORKFLOW:
            return policy_items.catalogue_item(policy_items.CAPABILITY, transition)
        whole = self._catalogue.load(tenant)
        published = whole.startable_workflows.get(instance.definition_id)
        return policy_items.workflow_item(instance.definition_id) if published is None else item_of(published, whole)

    def _build_function_item(self, tenant: str, function: str) -> "PolicyItem":
        """Build the item from the function alone, without the list of all functions. It has both names that the skill
        may have, so that a rule about either of them counts."""
        placement = placement_of(self._functions.state(tenant, function))
        names = [function] if placement is None else [function, skill_name(placement.hosted)]
        return policy_items.function_item(function, *(spelling for name in names for spelling in names_for_rules(name)))
