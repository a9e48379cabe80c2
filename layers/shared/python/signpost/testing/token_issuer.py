"""Issues the access tokens of simulated principals, with a key of its own. The gateway verifies them as any others."""

import json
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from signpost.adapters.memory import FixedKeySet
from signpost.model import Json, JsonObject, Principal

KEY_ID = "embedded"
LIFETIME = 3600
"""Seconds for which a token is valid."""


class TokenIssuer:
    """Signs tokens as the identity provider of a deployment does."""

    def __init__(self, issuer: str, audience: str) -> None:
        self._issuer = issuer
        self._audience = audience
        self._key = ec.generate_private_key(ec.SECP256R1())

    @property
    def key_set(self) -> FixedKeySet:
        """The published keys of the issuer."""
        published: dict[str, Any] = json.loads(ECAlgorithm.to_jwk(self._key.public_key()))
        return FixedKeySet({KEY_ID: {**published, "kid": KEY_ID, "use": "sig", "alg": "ES256"}})

    def issue(self, principal: Principal, claims: JsonObject, now: float) -> str:
        """Issue a token for a principal, with further claims beside those that name it."""
        payload: dict[str, Json] = {
            **claims,
            "iss": self._issuer,
            "aud": self._audience,
            "sub": principal.subject,
            "tenant": principal.tenant,
            "roles": sorted(principal.roles),
            "scope": sorted(principal.permissions),
            "amr": ["pwd"] if principal.human else [],
            "iat": int(now),
            "exp": int(now) + LIFETIME,
        }
        return jwt.encode(payload, self._key, algorithm="ES256", headers={"kid": KEY_ID, "typ": "at+jwt"})
