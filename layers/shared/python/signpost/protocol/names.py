"""The portable spelling of tool names, for hosts that accept nothing but letters, digits, `_` and `-`."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

LONGEST = 48
"""Hosts allow 64, and put the server's name in front."""
REMEMBERED = 20_000
_DIGESTS = (6, 12, 24)


def portable_names(names: Sequence[str]) -> Mapping[str, str]:
    """The portable spelling of each name. It depends on the others only where it would stand for two of them: then
    it carries a digest of the name it stands for."""
    plain = {name: simplest(name) for name in names}
    times = Counter(plain.values())
    taken = {*names, *plain.values()}
    spelled = {
        name: simple
        for name, simple in plain.items()
        if times[simple] == 1 and len(simple) <= LONGEST and (simple == name or simple not in plain)
    }
    together = {name: simple for name, simple in plain.items() if name not in spelled}
    for length in _DIGESTS:
        apart = _told_apart(together, length, taken)
        spelled |= apart
        taken |= {*apart.values()}
        together = {name: simple for name, simple in together.items() if name not in apart}
    return {**spelled, **{name: _digest(name)[:LONGEST] for name in together}}


@lru_cache(REMEMBERED)  # the same few hundred are asked for over and over
def simplest(name: str) -> str:
    """The spelling a name gets if nothing else has it."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_").lower() or "tool"


def _told_apart(together: Mapping[str, str], length: int, taken: AbstractSet[str]) -> Mapping[str, str]:
    """Those that so much of their digests tells apart, from each other and from what is taken."""
    forms = {name: f"{simple[: LONGEST - length - 1]}_{_digest(name)[:length]}" for name, simple in together.items()}
    times = Counter(forms.values())
    return {name: form for name, form in forms.items() if times[form] == 1 and form not in taken}


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
