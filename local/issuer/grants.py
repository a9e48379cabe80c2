"""Grants, and the authorization codes and refresh tokens that are issued for them."""

import json
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from local.issuer.exchange import OAuthError
from signpost.cli import private_file

type Clock = Callable[[], float]

CODE_LIFETIME = 60
REFRESH_LIFETIME = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Grant:
    """The access that a person gave a client on the issuer's page."""

    family: str
    """The id shared by all tokens that descend from one choice on the page."""
    client_id: str
    person: str
    resource: str
    scopes: tuple[str, ...]
    nonce: str | None
    granted_at: int


@dataclass(frozen=True, slots=True)
class Offer:
    """A grant that waits for the client to redeem its code."""

    grant: Grant
    redirect_uri: str
    challenge: str
    expires_at: float

    def matches_verifier(self, verifier: str) -> bool:
        digest = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=")
        return secrets.compare_digest(digest, self.challenge.encode())


class Codes:
    """Authorization codes, each of which works once.

    A code that is presented again was stolen or lost, so all tokens of its family end.
    """

    def __init__(self, clock: Clock, end_family: Callable[[str], None]) -> None:
        self._clock = clock
        self._end_family = end_family
        self._lock = Lock()
        self._open: dict[str, Offer] = {}
        self._spent: dict[str, Offer] = {}

    def issue(self, grant: Grant, redirect_uri: str, challenge: str) -> str:
        code = secrets.token_urlsafe(32)
        offer = Offer(grant, redirect_uri, challenge, self._clock() + CODE_LIFETIME)
        with self._lock:
            self._open = self._fresh(self._open) | {code: offer}
            self._spent = self._fresh(self._spent)
        return code

    def take(self, code: str) -> Offer:
        with self._lock:
            offer, spent = self._open.pop(code, None), self._spent.get(code)
            if offer:
                self._spent[code] = offer
        if spent:
            self._end_family(spent.grant.family)
        if offer is None or offer.expires_at < self._clock():
            raise OAuthError("invalid_grant", "The code is unknown, used or older than a minute. Log in again.")
        return offer

    def _fresh(self, offers: dict[str, Offer]) -> dict[str, Offer]:
        now = self._clock()
        return {code: offer for code, offer in offers.items() if offer.expires_at >= now}


@dataclass(frozen=True, slots=True)
class _Family:
    """A grant with its current refresh token."""

    grant: Grant
    digest: str
    """The digest of the one refresh token that is valid now."""
    expires_at: float


class RefreshTokens:
    """Rotating refresh tokens: each works once, and an old one that is presented again ends its family.

    They are stored, so they outlive a restart.
    """

    def __init__(self, home: Path, clock: Clock) -> None:
        self._file = home / "refresh-tokens.json"
        self._clock = clock
        self._lock = Lock()
        self._families = _load(self._file)

    def issue(self, grant: Grant) -> str:
        token = f"{grant.family}.{secrets.token_urlsafe(32)}"
        family = _Family(grant, _digest(token), self._clock() + REFRESH_LIFETIME)
        with self._lock:
            self._families[grant.family] = family
            self._save()
        return token

    def take(self, token: str, client_id: str) -> Grant:
        with self._lock:
            family = self._families.pop(token.partition(".")[0], None)
            if family:
                self._save()
        if family is None or not self._accepts(family, token, client_id):
            raise OAuthError("invalid_grant", "The refresh token is unknown, used or expired. Log in again.")
        return family.grant

    def end_family(self, family: str) -> None:
        with self._lock:
            if self._families.pop(family, None):
                self._save()

    def _accepts(self, family: _Family, token: str, client_id: str) -> bool:
        return (
            secrets.compare_digest(family.digest, _digest(token))
            and family.grant.client_id == client_id
            and family.expires_at >= self._clock()
        )

    def _save(self) -> None:
        now = self._clock()
        self._families = {name: family for name, family in self._families.items() if family.expires_at >= now}
        private_file.write(self._file, json.dumps([asdict(family) for family in self._families.values()]))


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _load(path: Path) -> dict[str, _Family]:
    rows: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    families = (_Family(_grant(row["grant"]), row["digest"], row["expires_at"]) for row in rows)
    return {family.grant.family: family for family in families}


def _grant(row: dict[str, Any]) -> Grant:
    return replace(Grant(**row), scopes=tuple(row["scopes"]))
