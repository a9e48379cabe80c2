"""The difference between the existing entries and the sent ones, by name."""

from collections.abc import Mapping, Sequence

from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    added: Sequence[str]
    changed: Sequence[str]
    same: Sequence[str]
    removed: Sequence[str]


UNTOUCHED = Difference([], [], [], [])

type PublicationPlan = Mapping[str, Difference]
"""The differences by kind of entry. The kinds are named as in a manifest file."""


def compare_entries[Value](before: Mapping[str, Value], after: Mapping[str, Value], *, prune: bool) -> Difference:
    common = sorted(after.keys() & before.keys())
    return Difference(
        added=sorted(after.keys() - before.keys()),
        changed=[key for key in common if before[key] != after[key]],
        same=[key for key in common if before[key] == after[key]],
        removed=sorted(before.keys() - after.keys()) if prune else [],
    )
