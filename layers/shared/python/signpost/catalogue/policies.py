"""The policy rules of a tenant. The row that names its catalogue also names its rules, which are read when they
change."""

from functools import lru_cache
from typing import TYPE_CHECKING

from signpost.catalogue.cache import REMEMBERED_TENANTS, CatalogueView
from signpost.errors import Unavailable
from signpost.model import Principal
from signpost.policy.access import OPEN, Access

if TYPE_CHECKING:
    from signpost.policy.access import AccessLookup, DenialListener
    from signpost.policy.rules import Policies
    from signpost.ports import TextStore


def read_policies(texts: "TextStore", tenant: str, digest: str) -> "Policies":
    """Read the rules with this digest. Raises Unavailable if they are missing."""
    try:
        text = texts.read(tenant, digest)
    except LookupError as fault:
        raise Unavailable("The policy rules of this tenant cannot be read.") from fault
    # Imported on first use: most tenants have no rules.
    from signpost.policy.rules_format import parse_policies  # noqa: PLC0415

    return parse_policies(text)


class TenantPolicies:
    """Decides access by the current rules of the principal's tenant. A tenant without rules allows everything."""

    def __init__(self, *, catalogue: CatalogueView, texts: "TextStore", notice: "DenialListener") -> None:
        self._catalogue = catalogue

        @lru_cache(REMEMBERED_TENANTS)
        def accesses_under(tenant: str, digest: str) -> "AccessLookup":
            from signpost.policy.ruled_access import RuledAccessLookup  # noqa: PLC0415 - as above

            return RuledAccessLookup(read_policies(texts, tenant, digest), notice)

        self._accesses_under = accesses_under

    def of(self, principal: Principal) -> Access:
        digest = self._catalogue.policies_digest(principal.tenant)
        return OPEN if digest is None else self._accesses_under(principal.tenant, digest).of(principal)
