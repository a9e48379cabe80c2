"""What is kept of credentials, and of those who issue them."""

from collections.abc import Mapping

from signpost.model import JsonObject
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored API key: everything but the secret, of which only the digest is kept."""

    tenant: str
    key_id: str
    name: str
    secret_digest: str
    roles: frozenset[str]
    permissions: frozenset[str]
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None


@dataclass(frozen=True, slots=True)
class IssuerKeySet:
    """The published keys of a token issuer, as a row that every gateway shares."""

    keys: Mapping[str, JsonObject]
    """JSON Web Keys by kid."""
    fetched_at: float
    refresh_not_before: float
    """Until then nobody asks the issuer again."""
