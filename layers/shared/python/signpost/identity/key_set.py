"""The public keys of the token issuer, shared by all gateways through one row.

Whoever meets a key id that the row does not know asks the issuer, at most once in five minutes for the
whole deployment; a row older than an hour is renewed by whoever uses it, and serves on while that fails.
"""

from collections.abc import Mapping

from signpost.errors import Unavailable
from signpost.model import IssuerKeySet, JsonObject
from signpost.ports import Clock, IssuerKeySets, KeySetSource

REFRESH_AT_MOST_EVERY = 300.0
REFRESH_LEASE = 10.0
"""How long one caller's attempt keeps the others from trying; a failed attempt is free again after it."""
RENEW_AFTER = 3600.0
GIVE_UP_AFTER = 86400.0
"""A key set that could not be renewed for a day is not trusted any more."""
LOOK_AGAIN_AFTER = 2.0


class IssuerKeys:
    def __init__(self, *, issuer: str, rows: IssuerKeySets, source: KeySetSource, clock: Clock) -> None:
        self._issuer = issuer
        self._rows = rows
        self._source = source
        self._clock = clock
        self._known: IssuerKeySet | None = None
        self._looked_at = float("-inf")

    def key(self, kid: str) -> JsonObject | None:
        """The key of that id, or None if the issuer has no such key. Raises Unavailable without any keys."""
        now = self._clock.now()
        if self._wants(kid, now):
            self._look(now)
        if self._wants(kid, now) and _may_refresh(self._known, now):
            self._refresh(now)
        return self._trusted(now).get(kid)

    def _wants(self, kid: str, now: float) -> bool:
        known = self._known
        return known is None or kid not in known.keys or now - known.fetched_at > RENEW_AFTER

    def _look(self, now: float) -> None:
        """The row may have been renewed by another gateway since; a made-up key id must not cost a read each."""
        if now - self._looked_at >= LOOK_AGAIN_AFTER:
            self._looked_at = now
            self._known = self._rows.read(self._issuer) or self._known

    def _refresh(self, now: float) -> None:
        claimed = self._rows.claim_refresh(self._issuer, now, now + REFRESH_LEASE)
        if not claimed and self._known is not None:
            return
        # Without any keys the loser asks too: at the first request ever there is nothing to fall back on.
        keys = self._fetch()
        if keys is None:
            return
        self._known = IssuerKeySet(keys=keys, fetched_at=now, refresh_not_before=now + REFRESH_AT_MOST_EVERY)
        if claimed:
            self._rows.save(self._issuer, self._known)

    def _fetch(self) -> Mapping[str, JsonObject] | None:
        try:
            return self._source.fetch(self._issuer)
        except Unavailable:
            if self._known is None:
                raise
            return None

    def _trusted(self, now: float) -> Mapping[str, JsonObject]:
        if self._known is None or now - self._known.fetched_at > GIVE_UP_AFTER:
            raise Unavailable("The keys of the token issuer cannot be read.")
        return self._known.keys


def _may_refresh(known: IssuerKeySet | None, now: float) -> bool:
    return known is None or known.refresh_not_before <= now
