"""Access tokens of an issuer that exists only in a test."""

import base64
import hashlib
import hmac
import json
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

ISSUER = "https://issuer.test"
AUDIENCE = "https://gateway.test/mcp"


@cache
def _private_key(name: str) -> rsa.RSAPrivateKey:
    del name  # one key per name; making one takes a while
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Signer:
    def __init__(self, kid: str = "first") -> None:
        self.kid = kid
        self._key = _private_key(kid)

    @property
    def jwk(self) -> dict[str, Any]:
        published: dict[str, Any] = json.loads(RSAAlgorithm.to_jwk(self._key.public_key()))
        return {**published, "kid": self.kid, "use": "sig", "alg": "RS256"}

    def make_token(self, now: float, *, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """Return a token that is valid for an hour unless the claims say otherwise; a claim of None is left out."""
        payload = {
            "iss": ISSUER, "aud": AUDIENCE, "sub": "somebody", "tenant": "default", "iat": now, "nbf": now,
            "exp": now + 3600, **claims,
        }  # fmt: skip
        present = {name: value for name, value in payload.items() if value is not None}
        return self.sign(json.dumps(present).encode(), headers)

    def sign(self, payload: bytes, headers: dict[str, Any] | None = None) -> str:
        all_headers = {"kid": self.kid, "typ": "at+jwt", **(headers or {})}
        return jwt.PyJWS().encode(payload, self._key, algorithm="RS256", headers=all_headers)


def append_claims(signer: Signer, token: str, claims: str) -> str:
    """Return the token with more claims, written as JSON members, under a valid signature."""
    payload: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return signer.sign(f"{json.dumps(payload)[:-1]},{claims}}}".encode())


def remove_signature(token: str) -> str:
    header = jwt.get_unverified_header(token)
    return f"{_text({**header, 'alg': 'none'})}.{token.split('.')[1]}."


def tamper_subject(token: str) -> str:
    """Return the token with another subject under the same signature."""
    head, _, signature = token.split(".")
    claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return f"{head}.{_text({**claims, 'sub': 'operator'})}.{signature}"


def sign_with_public_key(token: str, jwk: dict[str, Any]) -> str:
    """Return a token for the algorithm confusion attack: HMAC with the published key as its secret. PyJWT refuses to
    make one, so it is made by hand."""
    key = RSAAlgorithm.from_jwk(jwk)
    assert isinstance(key, rsa.RSAPublicKey)
    pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    signing_input = f"{_text({'alg': 'HS256', 'typ': 'at+jwt', 'kid': jwk['kid']})}.{token.split('.')[1]}"
    return f"{signing_input}.{_base64(hmac.digest(pem, signing_input.encode(), hashlib.sha256))}"


def _text(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value).encode())


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
