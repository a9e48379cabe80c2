"""Access tokens of an issuer that exists only in a test."""

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

    @property
    def public_pem(self) -> bytes:
        return self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def token(self, now: float, *, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        """Valid for an hour unless the claims say otherwise; a claim of None is left out."""
        payload = {
            "iss": ISSUER, "aud": AUDIENCE, "sub": "somebody", "iat": now, "nbf": now, "exp": now + 3600, **claims,
        }  # fmt: skip
        present = {name: value for name, value in payload.items() if value is not None}
        return jwt.encode(
            present, self._key, algorithm="RS256", headers={"kid": self.kid, "typ": "at+jwt", **(headers or {})}
        )
