"""Builds the authenticator, the same at every entry point of the stack."""

from functools import cache
from typing import TYPE_CHECKING

from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.identity.authenticator import Authenticator, CredentialAuthenticator
from signpost.identity.key_set import IssuerKeyCache
from signpost.model import Principal
from signpost.settings import IdentitySettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from signpost.deployment_lists import RecentList
    from signpost.identity.ports import IssuerKeySets, KeySetSource
    from signpost.ports import Clock, DeploymentListStore


def build_authenticator(
    settings: IdentitySettings,
    *,
    api_keys: ApiKeyAuthenticator,
    issuer_key_sets: "IssuerKeySets",
    key_set_source: "KeySetSource",
    deployment_lists: "Callable[[], DeploymentListStore]",
    clock: "Clock",
    anonymous: Principal | None,
) -> Authenticator:
    return Authenticator(
        tokens=_build_token_authenticator(settings, issuer_key_sets, key_set_source, deployment_lists, clock)
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
    settings: IdentitySettings,
    rows: "IssuerKeySets",
    source: "KeySetSource",
    lists: "Callable[[], DeploymentListStore]",
    clock: "Clock",
) -> CredentialAuthenticator:
    # Imported on first use: a deployment without tokens never loads the JWT library.
    from signpost.identity.claims import principal_of  # noqa: PLC0415
    from signpost.identity.tokens import TokenAuthenticator  # noqa: PLC0415 - as above

    passed = _read_passed_claims(lists, clock) if settings.claims.has_passed else frozenset[str]
    return TokenAuthenticator(
        issuer=settings.oidc_issuer,
        audiences=settings.oidc_audiences,
        keys=IssuerKeyCache(issuer=settings.oidc_issuer, rows=rows, source=source, clock=clock),
        build_principal=lambda claims: principal_of(claims, settings.claims, settings.default_tenant, passed()),
        longest_lifetime=settings.longest_token_lifetime,
        clock=clock,
    )


def _read_passed_claims(lists: "Callable[[], DeploymentListStore]", clock: "Clock") -> "Callable[[], frozenset[str]]":
    @cache
    def build() -> "RecentList":
        from signpost.deployment_lists import RecentList, passed_claims  # noqa: PLC0415 - few deployments name claims

        return RecentList(lists(), clock, passed_claims)

    return lambda: build().read()
