"""The difference between the existing entries and the sent ones, by name."""

import json
from collections.abc import Mapping, Sequence

from signpost.model import JsonObject
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


def compare_members(before: JsonObject, after: JsonObject, *, prune: bool) -> Difference:
    """Compare JSON values, in which the order of members does not count."""
    return compare_entries(canonical_texts(before), canonical_texts(after), prune=prune)


def canonical_texts(members: JsonObject) -> Mapping[str, str]:
    """Return the members as JSON texts: as Python values, 1 and true would be equal."""
    return {name: json.dumps(member, sort_keys=True) for name, member in members.items()}
