"""SHA-256 digests in hexadecimal, which identify texts and files."""

import hashlib
import re

DIGEST = re.compile(r"[0-9a-f]{64}")


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
