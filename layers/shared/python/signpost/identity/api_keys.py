"""API keys of the form `sp_<tenant>_<id>_<secret>`. Only a digest of the secret is stored.

The tenant in the key only says where to look the key up; the secret decides whether the key is accepted.
"""

import hashlib
import hmac
import re
from typing import TYPE_CHECKING

from signpost.caches import BoundedCache
from signpost.identity.credentials import ApiKey
from signpost.identity.denial import Denial, DenialReason
from signpost.model import Principal
from signpost.records import dataclass
from signpost.settings import TENANT

if TYPE_CHECKING:
    from signpost.identity.ports import ApiKeys
    from signpost.ports import Clock

PREFIX = "sp_"
ISSUER = "signpost:api-keys"
SUBJECT_PREFIX = "api-key:"
LOOKUP_LIFETIME = 2.0
"""Seconds for which a lookup is cached, and so after which a revoked key is refused everywhere."""
CACHE_SIZE = 1024

_FORM = re.compile(rf"{PREFIX}(?P<tenant>{TENANT.pattern})_(?P<id>[0-9a-f]{{12}})_(?P<secret>[0-9a-f]{{64}})")
_INVALID = Denial(DenialReason.INVALID, "The API key is invalid.")


@dataclass(frozen=True, slots=True)
class PresentedKey:
    tenant: str
    key_id: str
    secret: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.tenant}_{self.key_id}_{self.secret}"


def parse_api_key(credential: str) -> PresentedKey | None:
    parts = _FORM.fullmatch(credential)
    return PresentedKey(parts["tenant"], parts["id"], parts["secret"]) if parts else None


def digest_of_secret(secret: str) -> str:
    """The SHA-256 of the secret. A plain digest is enough: the secret has 256 random bits and cannot be guessed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def principal_of(key: ApiKey) -> Principal:
    return Principal(
        subject=f"{SUBJECT_PREFIX}{key.key_id}",
        tenant=key.tenant,
        issuer=ISSUER,
        roles=key.roles,
        permissions=key.permissions,
        human=False,  # a key can be copied; only an interactive login proves that a person is present
        owner=key.owner,
    )


def judge_api_key(key: ApiKey | None, secret: str, now: float) -> Principal | Denial:
    if key is None or not hmac.compare_digest(key.secret_digest, digest_of_secret(secret)):
        return _INVALID
    return find_ending(key, now) or principal_of(key)


def find_ending(key: ApiKey, now: float) -> Denial | None:
    """Return the denial of a key that was revoked or has expired."""
    if key.revoked_at is not None:
        return Denial(DenialReason.REVOKED, "The API key was revoked.")
    if key.expires_at is not None and key.expires_at <= now:
        return Denial(DenialReason.EXPIRED, "The API key has expired.")
    return None


class ApiKeyAuthenticator:
    def __init__(self, *, keys: "ApiKeys", clock: "Clock") -> None:
        self._keys = keys
        self._clock = clock
        self._seen = BoundedCache[tuple[str, str], tuple[float, ApiKey | None]](CACHE_SIZE)

    def authenticate(self, credential: str) -> Principal | Denial:
        presented = parse_api_key(credential)
        if presented is None:
            return _INVALID
        now = self._clock.now()
        return judge_api_key(self._look_up(presented.tenant, presented.key_id, now), presented.secret, now)

    def find_loss(self, principal: Principal) -> str | None:
        """Return a sentence that says why the key of a principal is not accepted any more; None if it still is, and for
        principals without a key. A key that has expired may have been deleted."""
        if principal.issuer != ISSUER:
            return None
        now = self._clock.now()
        key = self._look_up(principal.tenant, principal.subject.removeprefix(SUBJECT_PREFIX), now)
        if key is None:
            return f"The API key of {principal.subject} does not exist any more."
        if (ending := find_ending(key, now)) is not None:
            return f"{ending.message.removesuffix('.')} ({principal.subject})."
        has_all = principal.roles <= key.roles and principal.permissions <= key.permissions
        return None if has_all else f"The API key of {principal.subject} has lost roles or permissions."

    @property
    def cached_count(self) -> int:
        """The number of cached lookups; at most CACHE_SIZE, whichever keys are presented."""
        return len(self._seen)

    def _look_up(self, tenant: str, key_id: str, now: float) -> ApiKey | None:
        seen_at, key = self._seen.get((tenant, key_id)) or (float("-inf"), None)
        if 0 <= now - seen_at < LOOKUP_LIFETIME:
            return key
        key = self._keys.find(tenant, key_id)
        self._seen.put((tenant, key_id), (now, key))
        return key
