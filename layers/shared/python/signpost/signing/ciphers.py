"""Encrypts texts that the gateway gives out and takes back, and that their holder must not read.

As a seal is (`seals.py`), such a text is bound to a principal and a purpose, under a key derived by purpose.
"""

from typing import TYPE_CHECKING

from signpost.model import Principal
from signpost.signing.key_ring import KeyRing, derive_key
from signpost.signing.seals import holder_of
from signpost.signing.signed_text import parse_signed_text, write_signed_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

TAG_BYTES = 16


class TextCipher:
    """Encrypts by AES-SIV, which needs no random number: one text has one encrypted form for a principal."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def encrypt(self, purpose: str, text: str, bound_to: Principal) -> str:
        """Encrypt a text that is not empty."""
        cipher = _cipher_of(self._keys.current, purpose)
        return write_signed_text(cipher.encrypt(text.encode(), [holder_of(bound_to)]))

    def decrypt(self, purpose: str, encrypted: str, bound_to: Principal) -> str | None:
        """Return the text, or None if the stack did not encrypt it, or not for this purpose and this principal."""
        (data,) = parse_signed_text(encrypted, signatures=0)
        if len(data) <= TAG_BYTES:
            return None
        found: list[bytes] = []

        def decrypts(key: str) -> bool:
            text = _decrypt(_cipher_of(key, purpose), data, holder_of(bound_to))
            if text is not None:
                found.append(text)
            return text is not None

        return found[0].decode() if self._keys.has_key_that(decrypts) else None


def _decrypt(cipher: "AESSIV", data: bytes, bound: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as below

    try:
        return cipher.decrypt(data, [bound])
    except InvalidTag:
        return None


def _cipher_of(key: str, purpose: str) -> "AESSIV":
    # Imported on first use: most calls that list runs have one page, and no cursor.
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415

    return AESSIV(bytes.fromhex(derive_key(key, f"{purpose}:cipher")))
