"""The snapshot of a tenant's catalogue after a publication, and its text form."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, field, fields

from signpost.model import CatalogueItem, Json, JsonObject
from signpost.records import dataclass

_MEMBERS = len(fields(CatalogueItem))


@dataclass(frozen=True, slots=True)
class CatalogueSnapshot:
    """The complete catalogue of a tenant. It names definitions by the digests under which they are stored."""

    items: Sequence[CatalogueItem] = ()
    """Sorted by id."""
    proxy: str = ""
    """The digest of the workflow of all capabilities; empty if there are no capabilities."""
    connections: JsonObject = field(default_factory=dict[str, Json])
    discovery: JsonObject = field(default_factory=dict[str, Json])
    audit: JsonObject = field(default_factory=dict[str, Json])
    switched_off: Sequence[str] = ()
    """The ids of the workflows that an operator has switched off, including those that are not published now."""
    policies: str = ""
    """The digest of the tenant's policy rules; empty if there are none."""
    schedules: JsonObject = field(default_factory=dict[str, Json])
    """The schedules by id, as their author wrote them, each with its publisher and the time of its publication."""
    schedules_off: Sequence[str] = ()
    """The ids of the schedules that an operator has switched off, including those that are not published now."""


EMPTY_SNAPSHOT = CatalogueSnapshot()


def to_text(snapshot: CatalogueSnapshot) -> str:
    """Write a snapshot as JSON. An item is a list of its members: without their names, repeated ten thousand times, it
    is read in half the time. A later release may only add members of an item at the end."""
    optional: Mapping[str, Json] = {
        "policies": snapshot.policies,
        "schedules": snapshot.schedules,
        "schedules_off": list(snapshot.schedules_off),
    }
    members: Mapping[str, Json] = {
        "proxy": snapshot.proxy,
        "connections": snapshot.connections,
        "discovery": snapshot.discovery,
        "audit": snapshot.audit,
        "switched_off": snapshot.switched_off,
        **{name: value for name, value in optional.items() if value},
        "items": [astuple(item) for item in snapshot.items],
    }
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> CatalogueSnapshot:
    members = json.loads(text)
    return CatalogueSnapshot(
        items=[CatalogueItem(*row[:_MEMBERS]) for row in members["items"]],
        proxy=members["proxy"],
        connections=members["connections"],
        discovery=members["discovery"],
        audit=members["audit"],
        switched_off=members["switched_off"],
        policies=members.get("policies", ""),
        schedules=members.get("schedules", {}),
        schedules_off=members.get("schedules_off", ()),
    )
