"""Ports of the stores of API keys and issuer key sets, and of the issuer itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from signpost.identity.credentials import ApiKey, IssuerKeySet
    from signpost.model import JsonObject


class ApiKeys(Protocol):
    def find(self, tenant: str, key_id: str) -> ApiKey | None: ...

    def of_tenant(self, tenant: str) -> Sequence[ApiKey]:
        """All keys of the tenant, oldest first."""
        ...

    def add(self, key: ApiKey) -> bool:
        """Stores the key. Returns False if the tenant already has a key with this id."""
        ...

    def revoke(self, tenant: str, key_id: str, at: float) -> ApiKey | None:
        """Revokes the key and returns it as it is now, or None if there is none. A second revocation keeps the first
        time."""
        ...


class IssuerKeySets(Protocol):
    def read(self, issuer: str) -> IssuerKeySet | None: ...

    def claim_refresh(self, issuer: str, now: float, until: float) -> bool:
        """Claims the refresh. Returns True for one caller only: no other one may claim before `until`."""
        ...

    def save(self, issuer: str, key_set: IssuerKeySet) -> None: ...


class KeySetSource(Protocol):
    def fetch(self, issuer: str) -> Mapping[str, JsonObject]:
        """Fetches the keys that the issuer publishes now, by kid. Raises Unavailable."""
        ...
