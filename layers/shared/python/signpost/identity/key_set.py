"""The public keys of the token issuer, shared by all gateways through one row.

A gateway that meets a key id which the row lacks fetches the keys from the issuer; after an answer, no gateway fetches
again for five minutes. The first gateway to use a row older than an hour renews it. While that fails, the old row
serves on.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.errors import Unavailable
from signpost.identity.credentials import IssuerKeySet
from signpost.model import JsonObject

if TYPE_CHECKING:
    from signpost.identity.ports import IssuerKeySets, KeySetSource
    from signpost.ports import Clock

REFRESH_AT_MOST_EVERY = 300.0
REFRESH_LEASE = 10.0
"""Seconds for which one gateway's fetch keeps the others from fetching. After a failed fetch they may try again
then."""
RENEW_AFTER = 3600.0
GIVE_UP_AFTER = 86400.0
"""Seconds after which a key set that could not be renewed is no longer trusted: a day."""
REREAD_AFTER = 2.0
"""Seconds between reads of the row while its keys are outdated or lack a key id."""
TRY_AGAIN_AFTER = 5.0
"""Seconds that a gateway without any keys waits after a failed fetch before it tries again."""


class IssuerKeyCache:
    def __init__(self, *, issuer: str, rows: "IssuerKeySets", source: "KeySetSource", clock: "Clock") -> None:
        self._issuer = issuer
        self._rows = rows
        self._source = source
        self._clock = clock
        self._known: IssuerKeySet | None = None
        self._read_at = float("-inf")
        self._failed_at = float("-inf")

    def find_key(self, kid: str) -> JsonObject | None:
        """The key with that id, or None if the issuer has no such key. Raises Unavailable if that cannot be
        determined."""
        now = self._clock.now()
        if self._is_outdated_for(kid, now):
            self._reread_row(now)
        if self._is_outdated_for(kid, now) and self._may_refresh(now):
            self._refresh(now)
        keys = self._trusted_keys(now)
        if kid not in keys and self._is_being_refreshed(now):
            raise Unavailable("The gateway is fetching the keys of the token issuer.")
        return keys.get(kid)

    def _is_outdated_for(self, kid: str, now: float) -> bool:
        known = self._known
        return known is None or kid not in known.keys or now - known.fetched_at > RENEW_AFTER

    def _reread_row(self, now: float) -> None:
        """Reads the row again, which another gateway may have renewed, but not for each made-up key id."""
        if now - self._read_at >= REREAD_AFTER:
            self._read_row(now)

    def _read_row(self, now: float) -> None:
        self._read_at = now
        self._known = self._rows.read(self._issuer) or self._known

    def _may_refresh(self, now: float) -> bool:
        if self._known is None:
            return now - self._failed_at >= TRY_AGAIN_AFTER
        return self._known.refresh_not_before <= now

    def _refresh(self, now: float) -> None:
        claimed = self._rows.claim_refresh(self._issuer, now, now + REFRESH_LEASE)
        if not claimed:
            self._read_row(now)
        # A gateway without any keys fetches even without the claim, since it has no old keys to fall back on.
        if claimed or self._known is None:
            self._fetch(now, claimed=claimed)

    def _fetch(self, now: float, *, claimed: bool) -> None:
        try:
            keys = self._source.fetch(self._issuer)
        except Unavailable:
            self._note_failure(now)
            return
        self._known = IssuerKeySet(keys=keys, fetched_at=now, refresh_not_before=now + REFRESH_AT_MOST_EVERY)
        if claimed:
            self._rows.save(self._issuer, self._known)

    def _note_failure(self, now: float) -> None:
        self._failed_at = now
        if self._known is not None:
            self._known = replace(self._known, refresh_not_before=now + REFRESH_LEASE)

    def _is_being_refreshed(self, now: float) -> bool:
        """Whether a gateway claimed the refresh after the last fetch and no newer set has been read yet."""
        known = self._known
        return known is not None and max(now, known.fetched_at + REFRESH_AT_MOST_EVERY) < known.refresh_not_before

    def _trusted_keys(self, now: float) -> Mapping[str, JsonObject]:
        if self._known is None or now - self._known.fetched_at > GIVE_UP_AFTER:
            raise Unavailable("The keys of the token issuer cannot be fetched.")
        return self._known.keys
