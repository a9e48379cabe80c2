"""The settings of the Lambda functions, read from the environment once per cold start."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from signpost.content.model import ScopeNames
from signpost.model import SettingValue
from signpost.records import dataclass

TENANT = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
AUTH_MODES = ("none", "jwt", "api-key", "both", "local")
ENDPOINTS = ("/mcp", "/mcp/flat", "/mcp/functions")
"""The paths that serve MCP clients."""
LEASE_MARGIN_MS = 15_000
"""Milliseconds by which the lease of a step exceeds the time limit of its executor, unless the deployment sets the
parameter `LeaseMarginMs`. The template and docs/operations.md have the same default, which tests compare."""
LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")
SKILLS_SCOPE, PROMPTS_SCOPE = (re.compile(rf"{kind}(-[a-z0-9-]{{1,24}})?") for kind in ("skills", "prompts"))
"""The names of content scopes, which no other partition of a tenant can have. The template has the same patterns."""


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """The names of the token claims that Signpost reads."""

    tenant: str
    """Empty if tokens name no tenant, so that all of them belong to the default tenant."""
    roles: str
    permissions: str
    human: str
    """A claim that only an interactive login carries, as `name` or `name=value`."""
    has_passed: bool = False
    """Whether the deployment names claims that become claims of principals. Their list is in the table."""


@dataclass(frozen=True, slots=True)
class IdentitySettings:
    """The accepted credentials, the same for every entry point of the stack."""

    auth_mode: str
    oidc_issuer: str
    oidc_audiences: frozenset[str]
    claims: ClaimNames
    default_tenant: str
    longest_token_lifetime: float
    """The seconds from the issue of a token to its expiry, beyond which it is refused."""
    endpoint_url: str
    """The endpoint of a local AWS emulation, where settings are allowed that no AWS account allows. Empty on AWS."""

    @property
    def accepts_tokens(self) -> bool:
        return self.auth_mode in ("jwt", "both", "local")

    @property
    def accepts_api_keys(self) -> bool:
        return self.auth_mode in ("api-key", "both", "local")


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    registry_table: str
    workflows_table: str
    lease_margin: float
    """In seconds; see `LEASE_MARGIN_MS`."""
    master_secret_arn: str
    public_url: str
    identity: IdentitySettings
    tool_names: str
    """The spelling of tool names for clients that request none: canonical or portable."""
    content_bucket: str
    scopes: ScopeNames
    allowed_origins: frozenset[str]
    has_more_origins: bool
    """Whether the registry table has a list of further origins."""
    tuning: Mapping[str, SettingValue]
    """The deployment's settings, for tenants that set nothing themselves."""


@dataclass(frozen=True, slots=True)
class NestedCallSettings:
    registry_table: str
    master_secret_arn: str
    content_bucket: str
    registry_arn: str
    """The registry function, which answers nested calls of its own functions."""
    tuning: Mapping[str, SettingValue]
    """The deployment's settings, for tenants that set nothing themselves."""


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    registry_table: str
    workflows_table: str
    """The table with the timetables of schedules."""
    master_secret_arn: str
    content_bucket: str
    scopes: ScopeNames
    identity: IdentitySettings
    operator_tenant: str
    """The tenant of invocations without credentials."""
    tuning: Mapping[str, SettingValue]
    """The deployment's settings, for tenants that set nothing themselves."""


@dataclass(frozen=True, slots=True)
class ChangeFanoutSettings:
    registry_table: str
    content_bucket: str
    scopes: ScopeNames
    delivery_queue: str
    """The URL of the queue."""
    work_queue: str
    """The URL of the queue of the workflow worker."""


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    registry_table: str
    master_secret_arn: str
    delivery_queue: str
    allowed_private_hosts: frozenset[str]
    """Hosts that may be reached although their addresses are private, or without TLS."""


@dataclass(frozen=True, slots=True)
class SweeperSettings:
    registry_table: str
    content_bucket: str
    scopes: ScopeNames
    workflows_table: str
    work_queue: str
    """The URL of the queue."""


@dataclass(frozen=True, slots=True)
class ContentRelaySettings:
    event_bus: str
    content_bucket: str


@dataclass(frozen=True, slots=True)
class WorkflowRelaySettings:
    event_bus: str
    work_queue: str
    """The URL of the queue."""


@dataclass(frozen=True, slots=True)
class WorkflowWorkerSettings:
    registry_table: str
    workflows_table: str
    content_bucket: str
    master_secret_arn: str
    work_queue: str
    """The URL of the queue."""
    lease_margin: float
    """In seconds; see `LEASE_MARGIN_MS`."""


def workflow_relay_settings(environment: Mapping[str, str]) -> WorkflowRelaySettings:
    return WorkflowRelaySettings(event_bus=environment["EVENT_BUS"], work_queue=environment["WORK_QUEUE"])


def workflow_worker_settings(environment: Mapping[str, str]) -> WorkflowWorkerSettings:
    return WorkflowWorkerSettings(
        registry_table=environment["REGISTRY_TABLE"],
        workflows_table=environment["WORKFLOWS_TABLE"],
        content_bucket=environment["CONTENT_BUCKET"],
        master_secret_arn=environment["MASTER_SECRET_ARN"],
        work_queue=environment["WORK_QUEUE"],
        lease_margin=_lease_margin(environment["LEASE_MARGIN_MS"]),
    )


def content_relay_settings(environment: Mapping[str, str]) -> ContentRelaySettings:
    return ContentRelaySettings(event_bus=environment["EVENT_BUS"], content_bucket=environment["CONTENT_BUCKET"])


def sweeper_settings(environment: Mapping[str, str]) -> SweeperSettings:
    return SweeperSettings(
        registry_table=environment["REGISTRY_TABLE"],
        content_bucket=environment["CONTENT_BUCKET"],
        scopes=_parse_scopes(environment["SKILLS_SCOPE"], environment["PROMPTS_SCOPE"]),
        workflows_table=environment["WORKFLOWS_TABLE"],
        work_queue=environment["WORK_QUEUE"],
    )


def change_fanout_settings(environment: Mapping[str, str]) -> ChangeFanoutSettings:
    return ChangeFanoutSettings(
        registry_table=environment["REGISTRY_TABLE"],
        content_bucket=environment["CONTENT_BUCKET"],
        scopes=_parse_scopes(environment["SKILLS_SCOPE"], environment["PROMPTS_SCOPE"]),
        delivery_queue=environment["DELIVERY_QUEUE"],
        work_queue=environment["WORK_QUEUE"],
    )


def delivery_settings(environment: Mapping[str, str]) -> DeliverySettings:
    return DeliverySettings(
        registry_table=environment["REGISTRY_TABLE"],
        master_secret_arn=environment["MASTER_SECRET_ARN"],
        delivery_queue=environment["DELIVERY_QUEUE"],
        allowed_private_hosts=_split_names(environment["ALLOWED_PRIVATE_HOSTS"]),
    )


def nested_calls_settings(environment: Mapping[str, str]) -> NestedCallSettings:
    return NestedCallSettings(
        registry_table=environment["REGISTRY_TABLE"],
        master_secret_arn=environment["MASTER_SECRET_ARN"],
        content_bucket=environment["CONTENT_BUCKET"],
        registry_arn=environment["REGISTRY_FUNCTION"],
        tuning=_parse_tuning(environment),
    )


def registry_settings(environment: Mapping[str, str]) -> RegistrySettings:
    return RegistrySettings(
        registry_table=environment["REGISTRY_TABLE"],
        workflows_table=environment["WORKFLOWS_TABLE"],
        master_secret_arn=environment["MASTER_SECRET_ARN"],
        content_bucket=environment["CONTENT_BUCKET"],
        scopes=_parse_scopes(environment["SKILLS_SCOPE"], environment["PROMPTS_SCOPE"]),
        identity=identity_settings(environment),
        operator_tenant=environment["OPERATOR_TENANT"],
        tuning=_parse_tuning(environment),
    )


def identity_settings(environment: Mapping[str, str]) -> IdentitySettings:
    return IdentitySettings(
        auth_mode=environment["AUTH_MODE"],
        oidc_issuer=environment["OIDC_ISSUER"],
        oidc_audiences=_audiences(environment["OIDC_AUDIENCE"], _public_url(environment)),
        claims=ClaimNames(
            tenant=environment["TENANT_CLAIM"],
            roles=environment["ROLES_CLAIM"],
            permissions=environment["PERMISSIONS_CLAIM"],
            human=environment["HUMAN_CLAIM"],
            has_passed=environment["CLAIMS"] == "1",
        ),
        default_tenant=environment["DEFAULT_TENANT"],
        longest_token_lifetime=float(environment["MAX_TOKEN_LIFETIME_SECONDS"]),
        endpoint_url=environment["AWS_ENDPOINT_URL"],
    )


def gateway_settings(environment: Mapping[str, str]) -> GatewaySettings:
    public_url = _public_url(environment)
    return GatewaySettings(
        registry_table=environment["REGISTRY_TABLE"],
        workflows_table=environment["WORKFLOWS_TABLE"],
        lease_margin=_lease_margin(environment["LEASE_MARGIN_MS"]),
        master_secret_arn=environment["MASTER_SECRET_ARN"],
        public_url=public_url,
        identity=identity_settings(environment),
        tool_names=environment["TOOL_NAMES"],
        content_bucket=environment["CONTENT_BUCKET"],
        scopes=_parse_scopes(environment["SKILLS_SCOPE"], environment["PROMPTS_SCOPE"]),
        allowed_origins=_parse_origins(environment["ALLOWED_ORIGINS"], public_url),
        has_more_origins=environment["HAS_MORE_ORIGINS"] == "1",
        tuning=_parse_tuning(environment),
    )


def _parse_tuning(environment: Mapping[str, str]) -> Mapping[str, SettingValue]:
    return {
        "state_timeout_ms": int(environment["STATE_TIMEOUT_MS"]),
        "require_expose": int(environment["REQUIRE_EXPOSE"]),
        "hidden_prefixes": environment["HIDDEN_PREFIXES"],
    }


def _lease_margin(milliseconds: str) -> float:
    return int(milliseconds) / 1000


def _public_url(environment: Mapping[str, str]) -> str:
    return environment["PUBLIC_URL"].rstrip("/")


def _audiences(configured: str, public_url: str) -> frozenset[str]:
    """The accepted audiences: the configured one, or the URL of each endpoint, which clients name when they request a
    token."""
    return frozenset({configured} if configured else {f"{public_url}{endpoint}" for endpoint in ENDPOINTS})


def _parse_origins(origins: str, public_url: str) -> frozenset[str]:
    """The listed origins and the stack's own, since it serves pages itself."""
    return frozenset({origin.rstrip("/") for origin in _split_names(origins)} | {public_url})


def _split_names(names: str) -> frozenset[str]:
    return frozenset(name.strip() for name in names.split(",") if name.strip())


def _parse_scopes(skills: str, prompts: str) -> ScopeNames:
    if not SKILLS_SCOPE.fullmatch(skills) or not PROMPTS_SCOPE.fullmatch(prompts):
        raise ValueError(f"SkillsScope {skills!r} or PromptsScope {prompts!r} is not a scope name.")
    return ScopeNames(skills, prompts)


def problem_with(settings: IdentitySettings) -> str | None:
    """Why a deployment with these settings must refuse every caller, as a sentence for its operator; None if it need
    not."""
    if settings.auth_mode == "none":
        return "No authentication is configured: deploy with AuthMode set."
    if settings.auth_mode not in AUTH_MODES:
        return f"AuthMode is {settings.auth_mode!r}; it must be one of {', '.join(AUTH_MODES)}."
    if settings.auth_mode == "local" and not settings.endpoint_url:
        return "AuthMode local works only on a laptop cloud, where EndpointUrl is set."
    if not TENANT.fullmatch(settings.default_tenant):
        return f"DefaultTenant {settings.default_tenant!r} is not a tenant name ({TENANT.pattern})."
    return _problem_with_issuer(settings) if settings.accepts_tokens else None


def _problem_with_issuer(settings: IdentitySettings) -> str | None:
    if not settings.oidc_issuer:
        return f"AuthMode {settings.auth_mode} accepts tokens, but OidcIssuer is not set."
    url = urlsplit(settings.oidc_issuer)
    if url.scheme != "https" and not (settings.endpoint_url and url.hostname in LOOPBACK_HOSTS):
        return "OidcIssuer must be an https URL."
    return None
