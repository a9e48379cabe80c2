"""Builds a principal from the claims of a verified token: tenant, roles, permissions and whether a person is
present."""

from signpost.identity.denial import Denial, DenialReason
from signpost.model import Json, JsonObject, Principal
from signpost.settings import TENANT, ClaimNames

LONGEST_SUBJECT = 255
"""Characters. OpenID Connect Core allows an issuer no more."""


def principal_of(claims: JsonObject, names: ClaimNames, default_tenant: str) -> Principal | Denial:
    """Returns the principal, or why the token names none. Without the name of a tenant claim, every token belongs to
    the default tenant."""
    subject = claims["sub"]
    if not isinstance(subject, str) or not subject.strip():
        return Denial(DenialReason.INVALID, "The claim `sub` of the token names no subject.")
    if len(subject) > LONGEST_SUBJECT:
        return Denial(
            DenialReason.INVALID,
            f"The claim `sub` of the token has {len(subject)} characters; at most {LONGEST_SUBJECT} are accepted.",
        )
    if names.tenant and names.tenant not in claims:
        return Denial(DenialReason.NOT_A_TENANT, f"The token has no claim `{names.tenant}`, which names its tenant.")
    tenant = claims[names.tenant] if names.tenant else default_tenant
    if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
        return Denial(DenialReason.NOT_A_TENANT, f"The claim `{names.tenant}` of the token is not a tenant name.")
    return Principal(
        subject=subject,
        tenant=tenant,
        issuer=str(claims["iss"]),
        roles=_split_words(claims.get(names.roles)),
        permissions=_split_words(claims.get(names.permissions)),
        human=_is_human(claims, names.human),
    )


def _split_words(claim: Json) -> frozenset[str]:
    """Returns the values of a claim, which issuers write as a list or, like `scope`, as words in one string."""
    if isinstance(claim, str):
        return frozenset(claim.split())
    if isinstance(claim, list):
        return frozenset(value for value in claim if isinstance(value, str))
    return frozenset()


def _is_human(claims: JsonObject, rule: str) -> bool:
    name, has_value, value = rule.partition("=")
    claim = claims.get(name)
    words = _split_words(claim)
    return value in words if has_value else claim is True or bool(words - {"false"})
