"""The current and the previous key of a secret, read again when they may have been rotated."""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from signpost.model import MasterKeys

if TYPE_CHECKING:
    from signpost.ports import Clock
    from signpost.signing.ports import MasterKeyStore

REREAD_AFTER = 10.0
"""Seconds between reads of the secret when a signature is not recognised, which may mean that the keys were rotated.
Not zero, since clients may send any text."""
REREAD_AT_ONCE = 0.0
"""For texts that only permitted invokers of the stack's functions can send."""
KEYS_LIFETIME = 300.0
"""Seconds after which the secret is read in any case, so that retired keys are neither trusted nor used any longer."""


class KeyRing:
    def __init__(self, *, store: "MasterKeyStore", clock: "Clock") -> None:
        self._store = store
        self._clock = clock
        self._keys: MasterKeys | None = None
        self._read_at = float("-inf")

    @property
    def current(self) -> str:
        """The key to sign with."""
        return self._read_fresh().current

    @property
    def all_keys(self) -> Sequence[str]:
        """The keys to sign with for receivers that may know only the previous key."""
        keys = self._read_fresh()
        return [keys.current] if keys.previous is None else [keys.current, keys.previous]

    def has_key_that(self, signed_with: Callable[[str], bool], *, reread_after: float = REREAD_AFTER) -> bool:
        """Whether `signed_with` accepts the current or the previous key. Rereads the secret if neither fits and the
        last read is at least `reread_after` seconds old."""
        if _is_signed_by_any(self._read_fresh(), signed_with):
            return True
        if self._clock.now() - self._read_at < reread_after:
            return False
        self._keys = None
        return _is_signed_by_any(self._read_fresh(), signed_with)

    def _read_fresh(self) -> MasterKeys:
        now = self._clock.now()
        if self._keys is None or now - self._read_at >= KEYS_LIFETIME:
            self._keys = self._store.read()
            self._read_at = now
        return self._keys


def derive_key(key: str, purpose: str) -> str:
    """Derives a separate key for each purpose, so that a text signed for one is not accepted for another."""
    return hmac.digest(key.encode(), f"signpost:{purpose}".encode(), hashlib.sha256).hex()


def _is_signed_by_any(keys: MasterKeys, signed_with: Callable[[str], bool]) -> bool:
    return signed_with(keys.current) or (keys.previous is not None and signed_with(keys.previous))
