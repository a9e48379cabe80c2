"""The portable spelling of tool names, for hosts that accept nothing but letters, digits, `_` and `-`."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

LONGEST = 48
"""Hosts allow 64, and put the server's name in front."""
_DIGESTS = (6, 12, 24)


def portable_names(names: Sequence[str]) -> Mapping[str, str]:
    """The portable spelling of each name. It depends on the others only where it would stand for two of them: then
    it carries a digest of the name it stands for."""
    plain = {name: simplest(name) for name in names}
    times = Counter(plain.values())
    taken = {*names, *plain.values()}
    spelled: dict[str, str] = {}
    for name, simple in plain.items():
        alone = times[simple] == 1 and len(simple) <= LONGEST and (simple == name or simple not in plain)
        spelled[name] = simple if alone else _told_apart(name, simple, taken)
    return spelled


def simplest(name: str) -> str:
    """The spelling a name gets if nothing else has it."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_").lower() or "tool"


def _told_apart(name: str, simple: str, taken: set[str]) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    forms = (f"{simple[: LONGEST - length - 1]}_{digest[:length]}" for length in _DIGESTS)
    return next((form for form in forms if form not in taken), digest[:LONGEST])
