"""What of a catalogue is shown, as its author's `discovery` says."""

from collections.abc import Mapping
from typing import Literal

from signpost.model import JsonObject

type EntryKind = Literal["capability", "workflow", "connection"]

LISTED: Mapping[str, EntryKind] = {"proxy": "capability", "workflows": "workflow", "connections": "connection"}
"""What `discovery.include` may name."""
LISTED_UNASKED = ("proxy", "workflows")


def shown_kinds(discovery: JsonObject) -> frozenset[str]:
    include = discovery.get("include")
    named = include if isinstance(include, list) else LISTED_UNASKED
    return frozenset(LISTED[name] for name in named if isinstance(name, str) and name in LISTED)
