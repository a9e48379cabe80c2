"""Seals: texts that the gateway gives out and recognises when they come back, under keys derived by purpose.

A seal is bound to a principal and a purpose. It is readable, but cannot be changed or passed on.
"""

import json

from signpost.model import Json, Principal
from signpost.signing.key_ring import KeyRing, derive_key
from signpost.signing.signed_text import is_signature, parse_signed_text, sign, write_signed_text


class Sealer:
    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def seal(self, purpose: str, payload: Json, bound_to: Principal) -> str:
        text = json.dumps(payload, separators=(",", ":")).encode()
        return write_signed_text(text, sign(text, derive_key(self._keys.current, purpose), holder_of(bound_to)))

    def open(self, purpose: str, seal: str, bound_to: Principal) -> Json:
        """Returns the payload, or None if the stack did not seal the text, or not for this purpose and this
        principal."""
        text, mac = parse_signed_text(seal)
        holder = holder_of(bound_to)
        if not text or not self._keys.has_key_that(
            lambda key: is_signature(mac, text, derive_key(key, purpose), holder)
        ):
            return None
        return json.loads(text)


def holder_of(principal: Principal) -> bytes:
    """Return the bytes that bind a text to a principal."""
    return json.dumps([principal.issuer, principal.subject, principal.tenant]).encode()
