"""Portable names of tools, for hosts that accept only letters, digits, `_` and `-`."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

LONGEST = 48
"""Characters of a portable name. Hosts allow 64 and put the server's name in front."""
CACHE_SIZE = 20_000
_DIGESTS = (6, 12, 24)


def portable_names(names: Sequence[str]) -> Mapping[str, str]:
    """Returns the portable name of each tool name.

    It depends on the other names only where two names would share a portable name: then each carries a digest of the
    name it stands for.
    """
    simplified = {name: simplify_name(name) for name in names}
    times = Counter(simplified.values())
    taken = {*names, *simplified.values()}
    portable = {
        name: simple
        for name, simple in simplified.items()
        if times[simple] == 1 and len(simple) <= LONGEST and (simple == name or simple not in simplified)
    }
    ambiguous = {name: simple for name, simple in simplified.items() if name not in portable}
    for length in _DIGESTS:
        distinct = _distinguish_by_digest(ambiguous, length, taken)
        portable |= distinct
        taken |= {*distinct.values()}
        ambiguous = {name: simple for name, simple in ambiguous.items() if name not in distinct}
    return {**portable, **{name: _digest(name)[:LONGEST] for name in ambiguous}}


@lru_cache(CACHE_SIZE)  # lists and calls simplify the same few hundred names again and again
def simplify_name(name: str) -> str:
    """The portable name of a tool name that no other name competes for."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_").lower() or "tool"


def _distinguish_by_digest(ambiguous: Mapping[str, str], length: int, taken: AbstractSet[str]) -> Mapping[str, str]:
    """Appends a digest prefix to each name and keeps those that are then unique among themselves and not taken."""
    forms = {name: f"{simple[: LONGEST - length - 1]}_{_digest(name)[:length]}" for name, simple in ambiguous.items()}
    times = Counter(forms.values())
    return {name: form for name, form in forms.items() if times[form] == 1 and form not in taken}


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
