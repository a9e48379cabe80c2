"""Access tokens: JWTs of one issuer, for our audience, under pinned algorithms."""

from collections.abc import Collection
from typing import Any

import jwt

from signpost.identity.claims import principal_of
from signpost.identity.denial import Denial, Reason
from signpost.identity.key_set import IssuerKeys
from signpost.model import Principal
from signpost.ports import Clock
from signpost.settings import ClaimNames

ALGORITHMS = {"RS256": "RSA", "PS256": "RSA", "ES256": "EC"}
"""Signature algorithms we accept, with the type of key each needs. All are asymmetric, so that a public key
can never serve as a shared secret."""
CLOCK_LEEWAY = 10
"""Seconds by which the issuer's clock and ours may differ."""
LATEST = 1e11
"""A time beyond the year 5000 is a mistake, milliseconds for seconds perhaps."""
REQUIRED = ("iss", "aud", "sub", "exp")
TYPES = ("at+jwt", "application/at+jwt", "jwt")

_INVALID = Denial(Reason.INVALID, "The access token is invalid.")
_NOT_AN_ACCESS_TOKEN = Denial(Reason.NOT_ACCEPTED, "This is an ID token; an access token is needed.")
_EXPIRED = Denial(Reason.EXPIRED, "The access token has expired.")
_NOT_YET = Denial(Reason.INVALID, "The access token is not valid yet.")
_FAULTS: tuple[tuple[type[Exception], Denial], ...] = (
    (jwt.InvalidIssuerError, Denial(Reason.INVALID, "The access token is from another issuer.")),
    (jwt.InvalidAudienceError, Denial(Reason.INVALID, "The access token is for another audience.")),
)


class TokenAuthenticator:
    def __init__(
        self,
        *,
        issuer: str,
        audiences: Collection[str],
        keys: IssuerKeys,
        claims: ClaimNames,
        default_tenant: str,
        clock: Clock,
    ) -> None:
        self._issuer = issuer
        self._audiences = audiences
        self._keys = keys
        self._claims = claims
        self._default_tenant = default_tenant
        self._clock = clock

    def authenticate(self, credential: str) -> Principal | Denial:
        try:
            claims = self._verified(credential)
        except (jwt.PyJWTError, ValueError, RecursionError) as fault:
            return next((denial for kind, denial in _FAULTS if isinstance(fault, kind)), _INVALID)
        fault = _out_of_time(claims, self._clock.now())
        if fault is None and _is_id_token(claims):
            fault = _NOT_AN_ACCESS_TOKEN
        return fault or principal_of(claims, self._claims, self._default_tenant)

    def _verified(self, credential: str) -> dict[str, Any]:
        header = jwt.get_unverified_header(credential)
        algorithm, kid = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS or not isinstance(kid, str):
            raise jwt.InvalidAlgorithmError
        if str(header.get("typ", "jwt")).lower() not in TYPES:
            raise jwt.InvalidTokenError
        key = self._keys.key(kid)
        if key is None or key.get("kty") != ALGORITHMS[algorithm]:
            raise jwt.InvalidKeyError
        return jwt.decode(
            credential,
            jwt.PyJWK(dict(key), algorithm=algorithm),
            algorithms=[algorithm],
            issuer=self._issuer,
            audience=self._audiences,
            options={"require": list(REQUIRED), "verify_exp": False, "verify_nbf": False, "verify_iat": False},
        )


def _out_of_time(claims: dict[str, Any], now: float) -> Denial | None:
    """PyJWT would read the system's clock."""
    expires, begins = claims["exp"], claims.get("nbf", 0)
    if not (_is_time(expires) and _is_time(begins)):
        return _INVALID
    if expires <= now - CLOCK_LEEWAY:
        return _EXPIRED
    return _NOT_YET if begins > now + CLOCK_LEEWAY else None


def _is_time(claim: Any) -> bool:
    """Seconds since the epoch. JSON's readers let NaN and Infinity through, which would mean for ever."""
    return isinstance(claim, int | float) and not isinstance(claim, bool) and 0 <= claim < LATEST


def _is_id_token(claims: dict[str, Any]) -> bool:
    """An ID token speaks to the client, not to us, even when its audience happens to be ours."""
    return "nonce" in claims or "at_hash" in claims or claims.get("token_use") == "id"
