"""The port of the store of the master keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from signpost.model import MasterKeys


class MasterKeyStore(Protocol):
    def read(self) -> MasterKeys: ...

    def write(self, keys: MasterKeys) -> None: ...
