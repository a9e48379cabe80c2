"""Stored credentials: API keys and the key sets of token issuers."""

from collections.abc import Mapping

from signpost.model import JsonObject
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored API key. Of its secret only the digest is stored."""

    tenant: str
    key_id: str
    name: str
    secret_digest: str
    roles: frozenset[str]
    permissions: frozenset[str]
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    owner: str = ""
    """The subject of the person to whom it belongs; empty if it belongs to none."""


@dataclass(frozen=True, slots=True)
class IssuerKeySet:
    """The published keys of a token issuer, as a row that all gateways share."""

    keys: Mapping[str, JsonObject]
    """JSON Web Keys by kid."""
    fetched_at: float
    refresh_not_before: float
    """The time before which no gateway fetches the keys from the issuer again."""
