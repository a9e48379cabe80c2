"""Digests of texts that stand for a part of a row's key."""

import hashlib
import json


def digest_of_texts(*texts: str) -> str:
    """Return 128 bits of the SHA-256 of the texts, in hexadecimal. No two lists of texts have one digest."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:32]
