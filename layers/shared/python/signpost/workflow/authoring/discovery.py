"""The kinds of catalogue entries that are shown, by the `discovery` setting of the manifest."""

from collections.abc import Mapping
from typing import Literal

from signpost.model import JsonObject

type EntryKind = Literal["capability", "workflow", "connection"]

INCLUDE_KINDS: Mapping[str, EntryKind] = {"proxy": "capability", "workflows": "workflow", "connections": "connection"}
"""The names that `discovery.include` may list, each with the kind of entry that it shows."""
DEFAULT_INCLUDES = ("proxy", "workflows")


def visible_kinds(discovery: JsonObject) -> frozenset[str]:
    include = discovery.get("include")
    names = include if isinstance(include, list) else DEFAULT_INCLUDES
    return frozenset(INCLUDE_KINDS[name] for name in names if isinstance(name, str) and name in INCLUDE_KINDS)
