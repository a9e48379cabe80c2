"""What the claims of a verified token say: tenant, roles, permissions, and whether a person is there."""

from signpost.identity.denial import Denial, Reason
from signpost.model import Json, JsonObject, Principal
from signpost.settings import TENANT, ClaimNames


def principal_of(claims: JsonObject, names: ClaimNames, default_tenant: str) -> Principal | Denial:
    tenant = claims.get(names.tenant, default_tenant)
    if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
        return Denial(Reason.NOT_A_TENANT, f"The claim `{names.tenant}` of the token does not name a tenant.")
    return Principal(
        subject=str(claims["sub"]),
        tenant=tenant,
        issuer=str(claims["iss"]),
        roles=_words(claims.get(names.roles)),
        permissions=_words(claims.get(names.permissions)),
        human=_is_human(claims, names.human),
    )


def _words(claim: Json) -> frozenset[str]:
    """Issuers write several values as a list or, like `scope`, as words in one string."""
    if isinstance(claim, str):
        return frozenset(claim.split())
    if isinstance(claim, list):
        return frozenset(value for value in claim if isinstance(value, str))
    return frozenset()


def _is_human(claims: JsonObject, rule: str) -> bool:
    name, has_value, value = rule.partition("=")
    claim = claims.get(name)
    words = _words(claim)
    return value in words if has_value else claim is True or bool(words - {"false"})
