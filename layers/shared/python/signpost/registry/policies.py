"""The rules of a tenant: the row that names its catalogue names them too, and they are read when they change."""

from functools import lru_cache
from typing import TYPE_CHECKING

from signpost.errors import Unavailable
from signpost.model import Principal
from signpost.policy.access import OPEN, Access
from signpost.ports import Texts
from signpost.registry.catalogue import REMEMBERED_TENANTS, CatalogueView

if TYPE_CHECKING:
    from signpost.policy.access import Accesses, Notice
    from signpost.policy.rules import Policies


def read_policies(texts: Texts, tenant: str, digest: str) -> "Policies":
    """Raises Unavailable."""
    try:
        text = texts.read(tenant, digest)
    except LookupError as fault:
        raise Unavailable("What policy says of this tenant cannot be read.") from fault
    # Most tenants have none.
    from signpost.policy.written_rules import policies_in  # noqa: PLC0415

    return policies_in(text)


class TenantPolicies:
    def __init__(self, *, catalogue: CatalogueView, texts: Texts, notice: "Notice") -> None:
        self._catalogue = catalogue

        @lru_cache(REMEMBERED_TENANTS)
        def under(tenant: str, digest: str) -> "Accesses":
            from signpost.policy.ruled_access import AccessesUnder  # noqa: PLC0415 - as above

            return AccessesUnder(read_policies(texts, tenant, digest), notice)

        self._under = under

    def of(self, principal: Principal) -> Access:
        digest = self._catalogue.policies(principal.tenant)
        return OPEN if digest is None else self._under(principal.tenant, digest).of(principal)
