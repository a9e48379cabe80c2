"""What a publication changes, by name."""

from collections.abc import Mapping, Sequence

from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    added: Sequence[str]
    changed: Sequence[str]
    same: Sequence[str]
    removed: Sequence[str]


UNTOUCHED = Difference([], [], [], [])

type Plan = Mapping[str, Difference]
"""By kind, as a manifest calls it."""


def difference[Value](before: Mapping[str, Value], after: Mapping[str, Value], *, prune: bool) -> Difference:
    there = sorted(after.keys() & before.keys())
    return Difference(
        added=sorted(after.keys() - before.keys()),
        changed=[key for key in there if before[key] != after[key]],
        same=[key for key in there if before[key] == after[key]],
        removed=sorted(before.keys() - after.keys()) if prune else [],
    )
