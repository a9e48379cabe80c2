"""The settings of the functions, read from the environment once per cold start."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

TENANT = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
AUTH_MODES = ("none", "jwt", "api-key", "both", "local")
LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Which claims of a token say what Signpost wants to know."""

    tenant: str
    roles: str
    permissions: str
    human: str
    """A claim that only an interactive login carries: `name`, or `name=value`."""


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    registry_table: str
    master_secret_arn: str
    public_url: str
    auth_mode: str
    oidc_issuer: str
    oidc_audience: str
    claims: ClaimNames
    default_tenant: str
    tool_names: str
    """Which spelling of tool names a client gets that asks for none: canonical or portable."""
    content_bucket: str
    allowed_origins: frozenset[str]
    endpoint_url: str

    @property
    def resource_url(self) -> str:
        return f"{self.public_url}/mcp"

    @property
    def accepts_tokens(self) -> bool:
        return self.auth_mode in ("jwt", "both", "local")

    @property
    def accepts_api_keys(self) -> bool:
        return self.auth_mode in ("api-key", "both", "local")


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    registry_table: str
    master_secret_arn: str
    content_bucket: str
    operator_tenant: str
    """Whose content an invocation without credentials is about."""


@dataclass(frozen=True, slots=True)
class RelaySettings:
    event_bus: str
    content_bucket: str


def relay_settings(environment: Mapping[str, str]) -> RelaySettings:
    return RelaySettings(event_bus=environment["EVENT_BUS"], content_bucket=environment["CONTENT_BUCKET"])


def registry_settings(environment: Mapping[str, str]) -> RegistrySettings:
    return RegistrySettings(
        registry_table=environment["REGISTRY_TABLE"],
        master_secret_arn=environment["MASTER_SECRET_ARN"],
        content_bucket=environment["CONTENT_BUCKET"],
        operator_tenant=environment["OPERATOR_TENANT"],
    )


def gateway_settings(environment: Mapping[str, str]) -> GatewaySettings:
    public_url = environment["PUBLIC_URL"].rstrip("/")
    return GatewaySettings(
        registry_table=environment["REGISTRY_TABLE"],
        master_secret_arn=environment["MASTER_SECRET_ARN"],
        public_url=public_url,
        auth_mode=environment["AUTH_MODE"],
        oidc_issuer=environment["OIDC_ISSUER"],
        oidc_audience=environment["OIDC_AUDIENCE"] or f"{public_url}/mcp",
        claims=ClaimNames(
            tenant=environment["TENANT_CLAIM"],
            roles=environment["ROLES_CLAIM"],
            permissions=environment["PERMISSIONS_CLAIM"],
            human=environment["HUMAN_CLAIM"],
        ),
        default_tenant=environment["DEFAULT_TENANT"],
        tool_names=environment["TOOL_NAMES"],
        content_bucket=environment["CONTENT_BUCKET"],
        allowed_origins=_origins(environment["ALLOWED_ORIGINS"], public_url),
        endpoint_url=environment["AWS_ENDPOINT_URL"],
    )


def _origins(listed: str, public_url: str) -> frozenset[str]:
    """The listed ones and our own: a page that we serve ourselves is no stranger."""
    return frozenset({origin.strip().rstrip("/") for origin in listed.split(",") if origin.strip()} | {public_url})


def problem_with(settings: GatewaySettings) -> str | None:
    """Why a deployment with these settings must not serve, in a sentence for whoever deployed it."""
    if settings.auth_mode == "none":
        return "No authentication is configured: deploy with AuthMode set."
    if settings.auth_mode not in AUTH_MODES:
        return f"AuthMode is {settings.auth_mode!r}; it is one of {', '.join(AUTH_MODES)}."
    if settings.auth_mode == "local" and not settings.endpoint_url:
        return "AuthMode local works only on a laptop cloud, which sets EndpointUrl."
    if not TENANT.fullmatch(settings.default_tenant):
        return f"DefaultTenant {settings.default_tenant!r} is not a tenant name ({TENANT.pattern})."
    return _problem_with_issuer(settings) if settings.accepts_tokens else None


def _problem_with_issuer(settings: GatewaySettings) -> str | None:
    if not settings.oidc_issuer:
        return f"AuthMode {settings.auth_mode} accepts tokens, but OidcIssuer is not set."
    url = urlsplit(settings.oidc_issuer)
    if url.scheme != "https" and not (settings.endpoint_url and url.hostname in LOOPBACK_HOSTS):
        return "OidcIssuer must be an https URL."
    return None
