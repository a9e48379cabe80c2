"""How credentials are judged, alike at every door of the stack."""

from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.identity.authenticator import Authenticator, CredentialAuthenticator
from signpost.identity.key_set import IssuerKeys
from signpost.model import Principal
from signpost.ports import ApiKeys, Clock, IssuerKeySets, KeySetSource
from signpost.settings import IdentitySettings


def authenticator(
    settings: IdentitySettings,
    *,
    api_keys: ApiKeys,
    issuer_key_sets: IssuerKeySets,
    key_set_source: KeySetSource,
    clock: Clock,
    anonymous: Principal | None,
) -> Authenticator:
    keys = ApiKeyAuthenticator(keys=api_keys, clock=clock)
    return Authenticator(
        tokens=_tokens(settings, issuer_key_sets, key_set_source, clock) if settings.accepts_tokens else None,
        keys=keys if settings.accepts_api_keys else None,
        anonymous=anonymous,
    )


def anonymous_in(settings: IdentitySettings) -> Principal | None:
    """The caller without credentials, where there may be one."""
    if settings.auth_mode != "local":
        return None
    return Principal(subject="anonymous", tenant=settings.default_tenant, issuer="signpost:local")


def _tokens(
    settings: IdentitySettings, rows: IssuerKeySets, source: KeySetSource, clock: Clock
) -> CredentialAuthenticator:
    # A deployment that takes no tokens does not pay for the JWT library.
    from signpost.identity.tokens import TokenAuthenticator  # noqa: PLC0415

    return TokenAuthenticator(
        issuer=settings.oidc_issuer,
        audiences=settings.oidc_audiences,
        keys=IssuerKeys(issuer=settings.oidc_issuer, rows=rows, source=source, clock=clock),
        claims=settings.claims,
        default_tenant=settings.default_tenant,
        clock=clock,
    )
