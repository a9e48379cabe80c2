"""The signing keys of the issuer: the current key signs, and the previous key is still published."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from jwt.algorithms import RSAAlgorithm

from signpost.cli import private_file

ALGORITHM = "RS256"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An RSA key with its public JWK members and its id."""

    private: RSAPrivateKey
    public: Mapping[str, str]
    id: str

    @classmethod
    def from_private(cls, private: RSAPrivateKey) -> "SigningKey":
        jwk = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
        public = {name: str(jwk[name]) for name in ("e", "kty", "n")}
        return cls(private, public, _thumbprint(public))

    def jwk(self) -> dict[str, str]:
        return {**self.public, "kid": self.id, "use": "sig", "alg": ALGORITHM}


class KeyRing:
    """The current and the previous signing key, stored in files."""

    def __init__(self, home: Path) -> None:
        self._current_file = home / "signing-key.pem"
        self._previous_file = home / "signing-key.previous.pem"
        self._previous = _load(self._previous_file)
        self._current = _load(self._current_file) or _create(self._current_file)

    def rotate(self) -> None:
        self._current_file.replace(self._previous_file)
        self._previous = self._current
        self._current = _create(self._current_file)

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        return {"keys": [key.jwk() for key in (self._current, self._previous) if key]}

    def sign(self, claims: Mapping[str, object], header: Mapping[str, object]) -> str:
        key = self._current
        return jwt.encode(dict(claims), key.private, ALGORITHM, headers={"kid": key.id, **header})


def _thumbprint(public: Mapping[str, str]) -> str:
    """Return the JWK thumbprint (RFC 7638) as the key id. It is the same after a restart without being stored."""
    canonical = json.dumps(public, sort_keys=True, separators=(",", ":"))
    return urlsafe_b64encode(sha256(canonical.encode()).digest()).rstrip(b"=").decode()


def _create(path: Path) -> SigningKey:
    private = generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    private_file.write(path, pem.decode())
    return SigningKey.from_private(private)


def _load(path: Path) -> SigningKey | None:
    if not path.exists():
        return None
    private = load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(private, RSAPrivateKey):
        raise TypeError(f"{path.name} holds no RSA key; remove it and start again.")
    return SigningKey.from_private(private)
