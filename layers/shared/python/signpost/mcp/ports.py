"""Ports of the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from signpost.model import Principal


class UsedNonces(Protocol):
    """The record of answers that count once."""

    def use(self, principal: Principal, nonce: str, expires_at: float) -> bool:
        """Use up the nonce of a principal by a conditional write. Return False if it was used up before. The record may
        be forgotten after `expires_at`, in seconds since the epoch."""
        ...
