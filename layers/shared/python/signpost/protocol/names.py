"""The portable spelling of tool names, for hosts that accept nothing but letters, digits, `_` and `-`."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

LONGEST = 48
"""Hosts allow 64, and put the server's name in front."""
_TELLING_APART = 6


def portable_names(names: Sequence[str]) -> Mapping[str, str]:
    """The portable spelling of each name. It depends on the others only where two would be spelled alike: then
    both carry a digest of the name they stand for."""
    plain = {name: _plain(name) for name in names}
    times = Counter(plain.values())
    return {
        name: spelled if times[spelled] == 1 and len(spelled) <= LONGEST else _told_apart(name, spelled)
        for name, spelled in plain.items()
    }


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_").lower() or "tool"


def _told_apart(name: str, spelled: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_TELLING_APART]
    return f"{spelled[: LONGEST - _TELLING_APART - 1]}_{digest}"
