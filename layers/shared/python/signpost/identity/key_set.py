"""The public keys of the token issuer, shared by all gateways through one row.

Whoever meets a key id that the row does not know asks the issuer; once the issuer has answered, nobody asks again
for five minutes. A row older than an hour is renewed by whoever uses it, and serves on while that fails.
"""

from collections.abc import Mapping
from dataclasses import replace

from signpost.credentials import IssuerKeySet
from signpost.errors import Unavailable
from signpost.model import JsonObject
from signpost.ports import Clock, IssuerKeySets, KeySetSource

REFRESH_AT_MOST_EVERY = 300.0
REFRESH_LEASE = 10.0
"""How long one caller's attempt keeps the others from trying; a failed attempt is free again after it."""
RENEW_AFTER = 3600.0
GIVE_UP_AFTER = 86400.0
"""A key set that could not be renewed for a day is not trusted any more."""
LOOK_AGAIN_AFTER = 2.0
TRY_AGAIN_AFTER = 5.0
"""Without any keys, how long one gateway waits after a failed attempt before it asks again."""


class IssuerKeys:
    def __init__(self, *, issuer: str, rows: IssuerKeySets, source: KeySetSource, clock: Clock) -> None:
        self._issuer = issuer
        self._rows = rows
        self._source = source
        self._clock = clock
        self._known: IssuerKeySet | None = None
        self._looked_at = float("-inf")
        self._failed_at = float("-inf")

    def key(self, kid: str) -> JsonObject | None:
        """The key of that id, or None if the issuer has no such key. Raises Unavailable if that cannot be said."""
        now = self._clock.now()
        if self._wants(kid, now):
            self._look(now)
        if self._wants(kid, now) and self._may_refresh(now):
            self._refresh(now)
        keys = self._trusted(now)
        if kid not in keys and self._is_being_refreshed(now):
            raise Unavailable("The keys of the token issuer are just being read.")
        return keys.get(kid)

    def _wants(self, kid: str, now: float) -> bool:
        known = self._known
        return known is None or kid not in known.keys or now - known.fetched_at > RENEW_AFTER

    def _look(self, now: float) -> None:
        """The row may have been renewed by another gateway since; a made-up key id must not cost a read each."""
        if now - self._looked_at >= LOOK_AGAIN_AFTER:
            self._read(now)

    def _read(self, now: float) -> None:
        self._looked_at = now
        self._known = self._rows.read(self._issuer) or self._known

    def _may_refresh(self, now: float) -> bool:
        if self._known is None:
            return now - self._failed_at >= TRY_AGAIN_AFTER
        return self._known.refresh_not_before <= now

    def _refresh(self, now: float) -> None:
        claimed = self._rows.claim_refresh(self._issuer, now, now + REFRESH_LEASE)
        if not claimed:
            self._read(now)
        # Without any keys the loser asks too: at the first request ever there is nothing to fall back on.
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
        """Somebody claimed the refresh after the last set was fetched, and no newer set is here yet."""
        known = self._known
        return known is not None and max(now, known.fetched_at + REFRESH_AT_MOST_EVERY) < known.refresh_not_before

    def _trusted(self, now: float) -> Mapping[str, JsonObject]:
        if self._known is None or now - self._known.fetched_at > GIVE_UP_AFTER:
            raise Unavailable("The keys of the token issuer cannot be read.")
        return self._known.keys
