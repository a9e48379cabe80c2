"""Builds the authenticator, the same at every entry point of the stack."""

from typing import TYPE_CHECKING

from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.identity.authenticator import Authenticator, CredentialAuthenticator
from signpost.identity.key_set import IssuerKeyCache
from signpost.model import Principal
from signpost.settings import IdentitySettings

if TYPE_CHECKING:
    from signpost.identity.ports import IssuerKeySets, KeySetSource
    from signpost.ports import Clock


def build_authenticator(
    settings: IdentitySettings,
    *,
    api_keys: ApiKeyAuthenticator,
    issuer_key_sets: "IssuerKeySets",
    key_set_source: "KeySetSource",
    clock: "Clock",
    anonymous: Principal | None,
) -> Authenticator:
    return Authenticator(
        tokens=_build_token_authenticator(settings, issuer_key_sets, key_set_source, clock)
        if settings.accepts_tokens
        else None,
        keys=api_keys if settings.accepts_api_keys else None,
        anonymous=anonymous,
    )


def anonymous_principal(settings: IdentitySettings) -> Principal | None:
    """Return the principal of callers without credentials; None if the settings require credentials."""
    if settings.auth_mode != "local":
        return None
    return Principal(subject="anonymous", tenant=settings.default_tenant, issuer="signpost:local")


def _build_token_authenticator(
    settings: IdentitySettings, rows: "IssuerKeySets", source: "KeySetSource", clock: "Clock"
) -> CredentialAuthenticator:
    # Imported on first use: a deployment without tokens never loads the JWT library.
    from signpost.identity.tokens import TokenAuthenticator  # noqa: PLC0415

    return TokenAuthenticator(
        issuer=settings.oidc_issuer,
        audiences=settings.oidc_audiences,
        keys=IssuerKeyCache(issuer=settings.oidc_issuer, rows=rows, source=source, clock=clock),
        claims=settings.claims,
        default_tenant=settings.default_tenant,
        longest_lifetime=settings.longest_token_lifetime,
        clock=clock,
    )
