"""Signs webhook messages by Standard Webhooks, so that a receiver can tell that they come from this stack.

Each receiver has its own key: the key of one URL cannot sign for another URL or another tenant.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable

from signpost.signing.key_ring import derive_key

PREFIX = "whsec_"


def derive_signing_key(master_key: str, tenant: str, url: str) -> bytes:
    """Derives the key of one tenant and URL. Tenant names have no colon, so no other pair has the same purpose."""
    return bytes.fromhex(derive_key(master_key, f"webhook:{tenant}:{url}"))


def format_key(key: bytes) -> str:
    """Formats a key as a receiver configures it."""
    return PREFIX + base64.b64encode(key).decode()


def sign_message(keys: Iterable[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """Signs the message under each key; the receiver looks for a signature that it recognises."""
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return " ".join(f"v1,{base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()}" for key in keys)
