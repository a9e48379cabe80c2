"""How the receiver of a webhook knows that it comes from here: the signature of Standard Webhooks.

The key is the receiver's own: nobody who knows the key of one URL can sign for another, or for another tenant.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable

from signpost.policy.key_ring import derived

PREFIX = "whsec_"


def signing_key(master_key: str, tenant: str, url: str) -> bytes:
    """No name of a tenant has a colon, so the purpose is of one tenant and one URL only."""
    return bytes.fromhex(derived(master_key, f"webhook:{tenant}:{url}"))


def shown(key: bytes) -> str:
    """As a receiver configures it."""
    return PREFIX + base64.b64encode(key).decode()


def signatures(keys: Iterable[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """One under each key; the receiver looks for one that it recognises."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return " ".join(f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}" for key in keys)
