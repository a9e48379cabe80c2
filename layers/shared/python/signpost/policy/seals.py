"""Seals: text that we hand out and recognise when it comes back, under keys derived by purpose.

A seal is bound to whom it was given and what for; it is readable, but cannot be changed or passed on.
"""

import json

from signpost.model import Json, Principal
from signpost.policy.key_ring import KeyRing, derived
from signpost.policy.signed_text import is_signature, parts, signature, signed


class Sealer:
    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def seal(self, purpose: str, payload: Json, bound_to: Principal) -> str:
        text = json.dumps(payload, separators=(",", ":")).encode()
        return signed(text, signature(text, derived(self._keys.current, purpose), _holder(bound_to)))

    def open(self, purpose: str, seal: str, bound_to: Principal) -> Json:
        """The payload, or None for anything that is not ours, not for this purpose or not this caller's."""
        text, mac = parts(seal)
        holder = _holder(bound_to)
        if not text or not self._keys.recognises(lambda key: is_signature(mac, text, derived(key, purpose), holder)):
            return None
        return json.loads(text)


def _holder(principal: Principal) -> bytes:
    return json.dumps([principal.issuer, principal.subject, principal.tenant]).encode()
