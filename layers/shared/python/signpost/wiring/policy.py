"""Who may use what of a tenant, alike for everything that a gateway serves."""

from signpost.execution.function_access import FunctionAccess
from signpost.execution.functions import FunctionLists
from signpost.policy.access import Accesses
from signpost.ports import Texts
from signpost.records import dataclass
from signpost.registry.catalogue import CatalogueView
from signpost.registry.catalogue_access import CatalogueAccess
from signpost.registry.policies import TenantPolicies
from signpost.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Policy:
    accesses: Accesses
    catalogue: CatalogueAccess
    functions: FunctionAccess


def policy(*, catalogue: CatalogueView, texts: Texts, lists: FunctionLists, telemetry: Telemetry) -> Policy:
    accesses = TenantPolicies(catalogue=catalogue, texts=texts, notice=telemetry.denied)
    return Policy(
        accesses=accesses,
        catalogue=CatalogueAccess(catalogue=catalogue, accesses=accesses),
        functions=FunctionAccess(accesses=accesses, lists=lists),
    )
