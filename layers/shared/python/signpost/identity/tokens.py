"""Verifies access tokens: JWTs of one issuer, for the stack's audiences, under pinned algorithms."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import jwt
from jwt.utils import base64url_decode

from signpost.identity.denial import Denial, DenialReason
from signpost.identity.key_set import IssuerKeyCache
from signpost.model import JsonObject, Principal
from signpost.strict_json import parse_bytes

if TYPE_CHECKING:
    from signpost.ports import Clock

ALGORITHMS = {"RS256": "RSA", "PS256": "RSA", "ES256": "EC"}
"""The accepted signature algorithms, with the key type of each. All are asymmetric, so that a public key can never
serve as a shared secret."""
CLOCK_LEEWAY = 10
"""Seconds by which the clocks of issuer and gateway may differ."""
LATEST_TIME = 1e11
"""The latest time of a claim. A time beyond the year 5000 is a mistake, such as milliseconds for seconds."""
REQUIRED_CLAIMS = ("iss", "aud", "sub", "exp")
TOKEN_TYPES = ("at+jwt", "application/at+jwt", "jwt")

_INVALID = Denial(DenialReason.INVALID, "The access token is invalid.")
_NOT_AN_ACCESS_TOKEN = Denial(DenialReason.NOT_ACCEPTED, "This is an ID token; an access token is needed.")
_BOUND = Denial(
    DenialReason.NOT_ACCEPTED,
    "The access token is bound to a key of its client (`cnf`), which is not checked here; request a bearer token.",
)
_EXPIRED = Denial(DenialReason.EXPIRED, "The access token has expired.")
_NOT_YET = Denial(DenialReason.INVALID, "The access token is not valid yet.")
_DENIALS: tuple[tuple[type[Exception], Denial], ...] = (
    (jwt.InvalidIssuerError, Denial(DenialReason.INVALID, "The access token is from another issuer.")),
    (jwt.InvalidAudienceError, Denial(DenialReason.INVALID, "The access token is for another audience.")),
)


class TokenAuthenticator:
    def __init__(
        self,
        *,
        issuer: str,
        audiences: Collection[str],
        keys: IssuerKeyCache,
        build_principal: Callable[[JsonObject], Principal | Denial],
        longest_lifetime: float,
        clock: "Clock",
    ) -> None:
        """`build_principal` builds the principal from the claims of a verified token. `longest_lifetime` is the seconds
        for which a token may be valid."""
        self._issuer = issuer
        self._audiences = audiences
        self._keys = keys
        self._build_principal = build_principal
        self._longest_lifetime = longest_lifetime
        self._clock = clock

    def authenticate(self, credential: str) -> Principal | Denial:
        try:
            claims = self._verify(credential)
        except (jwt.PyJWTError, ValueError, RecursionError) as fault:
            return next((denial for kind, denial in _DENIALS if isinstance(fault, kind)), _INVALID)
        fault = _find_time_fault(claims, self._clock.now(), self._longest_lifetime) or _find_kind_fault(claims)
        return fault or self._build_principal(claims)

    def _verify(self, credential: str) -> dict[str, Any]:
        header = jwt.get_unverified_header(credential)
        algorithm, kid = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS or not isinstance(kid, str):
            raise jwt.InvalidAlgorithmError
        if str(header.get("typ", "jwt")).lower() not in TOKEN_TYPES:
            raise jwt.InvalidTokenError
        key = self._keys.find_key(kid)
        if key is None or key.get("kty") != ALGORITHMS[algorithm]:
            raise jwt.InvalidKeyError
        claims = jwt.decode(
            credential,
            jwt.PyJWK(dict(key), algorithm=algorithm),
            algorithms=[algorithm],
            issuer=self._issuer,
            audience=self._audiences,
            options={"require": list(REQUIRED_CLAIMS), "verify_exp": False, "verify_nbf": False, "verify_iat": False},
        )
        _check_names(credential)
        return claims


def _check_names(credential: str) -> None:
    """Raises ValueError if the header or the payload repeats a name. The issuer and PyJWT could each mean another of
    its values."""
    for segment in credential.split(".")[:2]:
        parse_bytes(base64url_decode(segment), unique_keys=True)


def _find_time_fault(claims: dict[str, Any], now: float, longest_lifetime: float) -> Denial | None:
    """Compares the token's times with the injected clock; PyJWT would read the system's. A token that does not say when
    it was issued counts as issued now."""
    expires, begins, issued = claims["exp"], claims.get("nbf", 0), claims.get("iat", now)
    if not (_is_time(expires) and _is_time(begins) and _is_time(issued)):
        return _INVALID
    if expires <= now - CLOCK_LEEWAY:
        return _EXPIRED
    if max(begins, issued) > now + CLOCK_LEEWAY:
        return _NOT_YET
    return _refuse_lifetime(longest_lifetime) if expires - issued > longest_lifetime else None


def _refuse_lifetime(longest_lifetime: float) -> Denial:
    message = f"The access token is valid for too long: at most {longest_lifetime:.0f} seconds are accepted here."
    return Denial(DenialReason.NOT_ACCEPTED, message)


def _find_kind_fault(claims: dict[str, Any]) -> Denial | None:
    if _is_id_token(claims):
        return _NOT_AN_ACCESS_TOKEN
    return _BOUND if "cnf" in claims else None


def _is_time(claim: Any) -> bool:
    """Whether a claim is a time in seconds since the epoch. JSON parsers accept NaN and Infinity, which would never
    expire."""
    return isinstance(claim, int | float) and not isinstance(claim, bool) and 0 <= claim < LATEST_TIME


def _is_id_token(claims: dict[str, Any]) -> bool:
    """Whether this is an ID token. It is meant for the client, even when its audience is the gateway's."""
    return "nonce" in claims or "at_hash" in claims or claims.get("token_use") == "id"
