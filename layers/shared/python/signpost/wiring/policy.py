"""Builds the policy services, which decide on every use of a function, document or workflow of a tenant."""

from typing import TYPE_CHECKING

from signpost.calling.function_access import FunctionAccess
from signpost.calling.lookup import FunctionLists
from signpost.catalogue.cache import CatalogueView
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.catalogue.policies import TenantPolicies
from signpost.policy.access import AccessLookup
from signpost.records import dataclass
from signpost.telemetry import Telemetry

if TYPE_CHECKING:
    from signpost.ports import TextStore


@dataclass(frozen=True, slots=True)
class PolicyServices:
    accesses: AccessLookup
    catalogue: CatalogueAccess
    functions: FunctionAccess


def build_policy_services(
    *, catalogue: CatalogueView, texts: "TextStore", lists: FunctionLists, telemetry: Telemetry
) -> PolicyServices:
    accesses = TenantPolicies(catalogue=catalogue, texts=texts, notice=telemetry.log_denial)
    return PolicyServices(
        accesses=accesses,
        catalogue=CatalogueAccess(catalogue=catalogue, accesses=accesses),
        functions=FunctionAccess(accesses=accesses, lists=lists),
    )
