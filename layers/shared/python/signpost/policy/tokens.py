"""Seals: text that we hand out and recognise when it comes back, under keys derived by purpose.

A seal is bound to whom it was given and what for; it is readable, but cannot be changed or passed on.
"""

import base64
import binascii
import hashlib
import hmac
import json

from signpost.model import Json, MasterKeys, Principal
from signpost.ports import Clock, MasterKeyStore

LOOK_AGAIN_AFTER = 10.0
"""Seconds after which a seal that we do not recognise makes us look whether the keys were rotated."""
KEYS_LAST = 300.0
"""Seconds after which we look anyway: then retired keys are trusted, and signed with, no more."""


class Sealer:
    def __init__(self, *, store: MasterKeyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._keys: MasterKeys | None = None
        self._read_at = float("-inf")

    def seal(self, purpose: str, payload: Json, bound_to: Principal) -> str:
        text = json.dumps(payload, separators=(",", ":")).encode()
        mac = _mac(self._master().current, purpose, text, bound_to)
        return f"{_to_text(text)}.{_to_text(mac)}"

    def open(self, purpose: str, seal: str, bound_to: Principal) -> Json:
        """The payload, or None for anything that is not ours, not for this purpose or not this caller's."""
        text, mac = _parts(seal)
        if not text or not self._recognises(purpose, text, mac, bound_to):
            return None
        return json.loads(text)

    def _recognises(self, purpose: str, text: bytes, mac: bytes, bound_to: Principal) -> bool:
        if _matches(self._master(), purpose, text, mac, bound_to):
            return True
        if self._clock.now() - self._read_at < LOOK_AGAIN_AFTER:
            return False
        self._keys = None
        return _matches(self._master(), purpose, text, mac, bound_to)

    def _master(self) -> MasterKeys:
        now = self._clock.now()
        if self._keys is None or now - self._read_at >= KEYS_LAST:
            self._keys = self._store.read()
            self._read_at = now
        return self._keys


def _matches(keys: MasterKeys, purpose: str, text: bytes, mac: bytes, bound_to: Principal) -> bool:
    masters = (keys.current, keys.previous) if keys.previous else (keys.current,)
    return any(hmac.compare_digest(_mac(master, purpose, text, bound_to), mac) for master in masters)


def _mac(master: str, purpose: str, text: bytes, bound_to: Principal) -> bytes:
    key = hmac.digest(master.encode(), f"signpost:{purpose}".encode(), hashlib.sha256)
    holder = json.dumps([bound_to.issuer, bound_to.subject, bound_to.tenant]).encode()
    return hmac.digest(key, holder + b"\n" + text, hashlib.sha256)


def _parts(seal: str) -> tuple[bytes, bytes]:
    text, _, mac = seal.partition(".")
    try:
        return _from_text(text), _from_text(mac)
    except (binascii.Error, ValueError):
        return b"", b""


def _to_text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _from_text(value: str) -> bytes:
    decoded = base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
    if _to_text(decoded) != value:
        raise ValueError("another spelling of the same bytes")
    return decoded
