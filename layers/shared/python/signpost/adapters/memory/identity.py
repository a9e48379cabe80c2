"""The stores of API keys, issuers' key sets and master keys, in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock

from signpost.identity.credentials import ApiKey, IssuerKeySet
from signpost.model import JsonObject, MasterKeys


class MemoryApiKeys:
    def __init__(self) -> None:
        self._lock = Lock()
        self._keys: dict[tuple[str, str], ApiKey] = {}

    def find(self, tenant: str, key_id: str) -> ApiKey | None:
        return self._keys.get((tenant, key_id))

    def of_tenant(self, tenant: str) -> Sequence[ApiKey]:
        api_keys = [key for key in self._keys.values() if key.tenant == tenant]
        return sorted(api_keys, key=lambda key: (key.created_at, key.key_id))

    def add(self, key: ApiKey) -> bool:
        with self._lock:
            return self._keys.setdefault((key.tenant, key.key_id), key) is key

    def revoke(self, tenant: str, key_id: str, at: float) -> ApiKey | None:
        with self._lock:
            key = self._keys.get((tenant, key_id))
            if key is not None and key.revoked_at is None:
                key = self._keys[tenant, key_id] = replace(key, revoked_at=at)
            return key


class MemoryIssuerKeySets:
    def __init__(self) -> None:
        self._lock = Lock()
        self._key_sets: dict[str, IssuerKeySet] = {}
        self._refresh_not_before: dict[str, float] = {}

    def read(self, issuer: str) -> IssuerKeySet | None:
        key_set = self._key_sets.get(issuer)
        return replace(key_set, refresh_not_before=self._refresh_not_before[issuer]) if key_set else None

    def claim_refresh(self, issuer: str, now: float, until: float) -> bool:
        with self._lock:
            if self._refresh_not_before.get(issuer, now) > now:
                return False
            self._refresh_not_before[issuer] = until
            return True

    def save(self, issuer: str, key_set: IssuerKeySet) -> None:
        with self._lock:
            self._key_sets[issuer] = key_set
            self._refresh_not_before[issuer] = key_set.refresh_not_before


class MemoryMasterKeys:
    def __init__(self, keys: MasterKeys) -> None:
        self._keys = keys

    def read(self) -> MasterKeys:
        return self._keys

    def write(self, keys: MasterKeys) -> None:
        self._keys = keys


class FixedKeySet:
    """A key set source with fixed keys, which fetches nothing."""

    def __init__(self, keys: Mapping[str, JsonObject]) -> None:
        self.keys = keys

    def fetch(self, issuer: str) -> Mapping[str, JsonObject]:
        del issuer  # every issuer has the same keys
        return self.keys
