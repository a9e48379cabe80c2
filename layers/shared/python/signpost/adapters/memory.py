"""The ports in memory: for tests, and for whoever embeds the gateway. Held to the same contracts as AWS."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock

from signpost.model import (
    NOTHING_PUBLISHED,
    ApiKey,
    CatalogueItem,
    CataloguePointer,
    IssuerKeySet,
    JsonObject,
    MasterKeys,
)
from signpost.registry import publication


class MemoryApiKeys:
    def __init__(self) -> None:
        self._lock = Lock()
        self._keys: dict[tuple[str, str], ApiKey] = {}

    def find(self, tenant: str, key_id: str) -> ApiKey | None:
        return self._keys.get((tenant, key_id))

    def of_tenant(self, tenant: str) -> Sequence[ApiKey]:
        found = [key for key in self._keys.values() if key.tenant == tenant]
        return sorted(found, key=lambda key: (key.created_at, key.key_id))

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


class MemoryCatalogue:
    def __init__(self) -> None:
        self._lock = Lock()
        self._pointers: dict[str, CataloguePointer] = {}
        self._snapshots: dict[tuple[str, str], str] = {}

    def pointer(self, tenant: str) -> CataloguePointer:
        return self._pointers.get(tenant, NOTHING_PUBLISHED)

    def items(self, tenant: str, digest: str) -> Sequence[CatalogueItem]:
        return publication.from_text(self._snapshots[tenant, digest])

    def publish(self, tenant: str, items: Sequence[CatalogueItem], replacing: int) -> bool:
        text = publication.to_text(items)
        with self._lock:
            if self.pointer(tenant).version != replacing:
                return False
            digest = publication.digest(text)
            self._snapshots[tenant, digest] = text
            self._pointers[tenant] = CataloguePointer(replacing + 1, digest)
            return True


class MemoryMasterKeys:
    def __init__(self, keys: MasterKeys) -> None:
        self._keys = keys

    def read(self) -> MasterKeys:
        return self._keys

    def write(self, keys: MasterKeys) -> None:
        self._keys = keys


class MemoryAnswers:
    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def keep(self, tenant: str, text: str) -> str:
        address = f"memory://{tenant}/answers/{len(self.kept)}"
        self.kept[address] = text
        return address


class FixedKeySet:
    """A key set source that has the keys already."""

    def __init__(self, keys: Mapping[str, JsonObject]) -> None:
        self.keys = keys

    def fetch(self, issuer: str) -> Mapping[str, JsonObject]:
        del issuer  # there is only one
        return self.keys
