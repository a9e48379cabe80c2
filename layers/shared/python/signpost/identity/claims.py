"""Builds a principal from the claims of a verified token: tenant, roles, permissions, whether a person is present, and
the claims that the deployment names."""

from collections.abc import Collection

from signpost.identity.denial import Denial, DenialReason
from signpost.model import Json, JsonObject, Principal
from signpost.settings import TENANT, ClaimNames

LONGEST_SUBJECT = 255
"""Characters. OpenID Connect Core allows an issuer no more."""


LONGEST_CLAIM, MOST_CLAIM_VALUES = 500, 50
"""Characters of a text, and texts of a list, that a principal's claim can have. A longer claim is left out."""


def principal_of(
    claims: JsonObject, names: ClaimNames, default_tenant: str, passed: Collection[str] = ()
) -> Principal | Denial:
    """Returns the principal, or why the token names none. Without the name of a tenant claim, every token belongs to
    the default tenant. `passed` are the names of the claims that the principal gets."""
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
        claims={name: claims[name] for name in sorted(passed) if name in claims and _is_passed(claims[name])},
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


def _is_passed(claim: Json) -> bool:
    """Tells whether a principal can have the claim: a short text, a number, a boolean, or a short list of texts."""
    if isinstance(claim, list):
        return len(claim) <= MOST_CLAIM_VALUES and all(isinstance(value, str) and _is_passed(value) for value in claim)
    return len(claim) <= LONGEST_CLAIM if isinstance(claim, str) else isinstance(claim, int | float)
