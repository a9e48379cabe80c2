"""What a text or a file is known by."""

import hashlib
import re

DIGEST = re.compile(r"[0-9a-f]{64}")


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
