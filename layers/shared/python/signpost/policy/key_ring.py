"""The keys of a secret, current and previous, looked at anew while they may have been rotated."""

import hashlib
import hmac
from collections.abc import Callable, Sequence

from signpost.model import MasterKeys
from signpost.ports import Clock, MasterKeyStore

LOOK_AGAIN_AFTER = 10.0
"""Seconds after which something that we do not recognise makes us look whether the keys were rotated. Clients may send
anything."""
AT_ONCE = 0.0
"""For what only those can send who may invoke our functions."""
KEYS_LAST = 300.0
"""Seconds after which we look anyway: then retired keys are trusted, and signed with, no more."""


class KeyRing:
    def __init__(self, *, store: MasterKeyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._keys: MasterKeys | None = None
        self._read_at = float("-inf")

    @property
    def current(self) -> str:
        """What to sign with."""
        return self._fresh().current

    @property
    def every(self) -> Sequence[str]:
        """What to sign with for those who may still know the previous key only."""
        keys = self._fresh()
        return [keys.current] if keys.previous is None else [keys.current, keys.previous]

    def recognises(self, signed_with: Callable[[str], bool], *, look_again_after: float = LOOK_AGAIN_AFTER) -> bool:
        """Whether the current key signed it, or the previous one."""
        if _any(self._fresh(), signed_with):
            return True
        if self._clock.now() - self._read_at < look_again_after:
            return False
        self._keys = None
        return _any(self._fresh(), signed_with)

    def _fresh(self) -> MasterKeys:
        now = self._clock.now()
        if self._keys is None or now - self._read_at >= KEYS_LAST:
            self._keys = self._store.read()
            self._read_at = now
        return self._keys


def derived(key: str, purpose: str) -> str:
    """A key of its own for each purpose, so that nothing signed for one passes for another."""
    return hmac.digest(key.encode(), f"signpost:{purpose}".encode(), hashlib.sha256).hex()


def _any(keys: MasterKeys, signed_with: Callable[[str], bool]) -> bool:
    return signed_with(keys.current) or (keys.previous is not None and signed_with(keys.previous))
