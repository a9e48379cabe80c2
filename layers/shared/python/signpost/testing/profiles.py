"""How a simulated client presents itself: principal, capabilities, revision, endpoint and answers."""

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import TypedDict, cast

from signpost.mcp.request import LOG_LEVEL
from signpost.mcp.revisions import CLIENT_CAPABILITIES, CLIENT_INFO
from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.testing.answers import Answers
from signpost.testing.embedded_gateway import ISSUER
from signpost.testing.http_messages import MODERN

DEFAULT_TENANT = "default"
FLAT = "/mcp/flat"
PROGRESS_TOKEN = "progress-1"  # noqa: S105 - the name of a stream of notifications, not a secret
CAPABILITIES = ("elicitation", "elicitation.url", "sampling", "sampling.tools", "roots")
"""The capabilities of a client that can answer every question."""


class ClientOptions(TypedDict, total=False):
    """The options of a client; docs/toolkits.md has a table of them."""

    principal: Principal | str
    permissions: Collection[str] | None
    roles: Collection[str]
    human: bool
    claims: JsonObject
    tenant: str
    capabilities: Collection[str] | Mapping[str, Json]
    revision: str
    endpoint: str
    answers: Answers | None
    progress: bool
    log_level: str | None
    name: str
    cold: bool


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """The options of a client, with their defaults."""

    principal: Principal | str = "tester"
    permissions: Collection[str] | None = None
    """The permissions of a principal that is a name; None for all that the hosted functions declare."""
    roles: Collection[str] = ()
    human: bool = False
    claims: JsonObject = field(default_factory=dict[str, Json])
    """Further claims of the access token."""
    tenant: str = DEFAULT_TENANT
    capabilities: Collection[str] | Mapping[str, Json] = CAPABILITIES
    revision: str = MODERN
    endpoint: str = FLAT
    answers: Answers | None = None
    """The answers to questions; None for a client whose questions stay open."""
    progress: bool = True
    """Whether requests have a progress token."""
    log_level: str | None = "debug"
    name: str = "test-client"
    cold: bool = False
    """Whether every request meets a gateway and an executor that have just started."""

    def changed(self, options: ClientOptions) -> "ClientProfile":
        return replace(self, **options)

    @property
    def is_modern(self) -> bool:
        return self.revision == MODERN

    @property
    def meta(self) -> JsonObject:
        """The members of `_meta` of each request."""
        progress: JsonObject = {"progressToken": PROGRESS_TOKEN} if self.progress else {}
        if not self.is_modern:
            return progress
        log_level: JsonObject = {} if self.log_level is None else {LOG_LEVEL: self.log_level}
        info: JsonObject = {"name": self.name, "version": "1.0.0"}
        return {CLIENT_CAPABILITIES: declare(self.capabilities), CLIENT_INFO: info, **progress, **log_level}

    def identify(self, declared: frozenset[str]) -> Principal:
        """Return the principal. `declared` are the permissions that the hosted functions declare."""
        if isinstance(self.principal, Principal):
            return self.principal
        permissions = declared if self.permissions is None else frozenset(self.permissions)
        return Principal(self.principal, self.tenant, ISSUER, frozenset(self.roles), permissions, human=self.human)


def declare(capabilities: Collection[str] | Mapping[str, Json]) -> JsonObject:
    """Write capabilities as clients declare them. `elicitation` means forms, `elicitation.url` pages; a name with a
    slash is that of an extension."""
    if isinstance(capabilities, Mapping):
        return cast("JsonObject", capabilities)
    declared: dict[str, dict[str, Json]] = {}
    for name in capabilities:
        capability, _, part = ("extensions", "", name) if "/" in name else name.partition(".")
        parts = declared.setdefault(capability, {})
        if part or capability == "elicitation":
            parts[part or "form"] = {}
    return cast("JsonObject", declared)
