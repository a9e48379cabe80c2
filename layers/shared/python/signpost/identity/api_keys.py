"""API keys: `sp_<tenant>_<id>_<secret>`, of which only a digest of the secret is stored.

The tenant in the key is where to look, not what to believe: the secret decides.
"""

import hashlib
import hmac
import re
from collections import OrderedDict

from signpost.credentials import ApiKey
from signpost.identity.denial import Denial, Reason
from signpost.model import Principal
from signpost.ports import ApiKeys, Clock
from signpost.records import dataclass
from signpost.settings import TENANT

PREFIX = "sp_"
ISSUER = "signpost:api-keys"
REVOKED_WITHIN = 2.0
"""Seconds after which a revoked key is refused everywhere: as long as a lookup is remembered."""
REMEMBERED = 1024

_FORM = re.compile(rf"{PREFIX}(?P<tenant>{TENANT.pattern})_(?P<id>[0-9a-f]{{12}})_(?P<secret>[0-9a-f]{{64}})")
_INVALID = Denial(Reason.INVALID, "The API key is invalid.")


@dataclass(frozen=True, slots=True)
class PresentedKey:
    tenant: str
    key_id: str
    secret: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.tenant}_{self.key_id}_{self.secret}"


def parse(credential: str) -> PresentedKey | None:
    found = _FORM.fullmatch(credential)
    return PresentedKey(found["tenant"], found["id"], found["secret"]) if found else None


def digest(secret: str) -> str:
    """A plain digest is enough: the secret has 256 random bits, so there is nothing to guess."""
    return hashlib.sha256(secret.encode()).hexdigest()


def principal_of(key: ApiKey) -> Principal:
    return Principal(
        subject=f"api-key:{key.key_id}",
        tenant=key.tenant,
        issuer=ISSUER,
        roles=key.roles,
        permissions=key.permissions,
        human=False,  # a key can be copied; only an interactive login shows that a person is there
    )


def judge(key: ApiKey | None, secret: str, now: float) -> Principal | Denial:
    if key is None or not hmac.compare_digest(key.secret_digest, digest(secret)):
        return _INVALID
    if key.revoked_at is not None:
        return Denial(Reason.REVOKED, "The API key was revoked.")
    if key.expires_at is not None and key.expires_at <= now:
        return Denial(Reason.EXPIRED, "The API key has expired.")
    return principal_of(key)


class ApiKeyAuthenticator:
    def __init__(self, *, keys: ApiKeys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._seen: OrderedDict[tuple[str, str], tuple[float, ApiKey | None]] = OrderedDict()

    def authenticate(self, credential: str) -> Principal | Denial:
        presented = parse(credential)
        if presented is None:
            return _INVALID
        now = self._clock.now()
        return judge(self._look_up(presented.tenant, presented.key_id, now), presented.secret, now)

    @property
    def remembered(self) -> int:
        """How many lookups are kept; never more than REMEMBERED, whatever is presented."""
        return len(self._seen)

    def _look_up(self, tenant: str, key_id: str, now: float) -> ApiKey | None:
        seen_at, key = self._seen.get((tenant, key_id), (float("-inf"), None))
        if 0 <= now - seen_at < REVOKED_WITHIN:
            return key
        key = self._keys.find(tenant, key_id)
        self._seen[tenant, key_id] = (now, key)
        self._seen.move_to_end((tenant, key_id))
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return key
