"""The text form of what a tenant's catalogue is after a publication."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, field, fields

from signpost.model import CatalogueItem, Json, JsonObject
from signpost.records import dataclass

_MEMBERS = len(fields(CatalogueItem))


@dataclass(frozen=True, slots=True)
class Published:
    """Everything that manifests have said, but the definitions themselves: those are kept by their digests."""

    items: Sequence[CatalogueItem] = ()
    """By id."""
    proxy: str = ""
    """The digest of the workflow of all capabilities, if there are any."""
    connections: JsonObject = field(default_factory=dict[str, Json])
    discovery: JsonObject = field(default_factory=dict[str, Json])
    audit: JsonObject = field(default_factory=dict[str, Json])
    switched_off: Sequence[str] = ()
    """The workflows that an operator has switched off, also such as are not published now."""
    policies: str = ""
    """The digest of the rules that say who may use what, if there are any."""


NOTHING = Published()


def to_text(published: Published) -> str:
    """An item is a list: without ten thousand times the names of its members it is read in half the time. What a later
    release has to say more of it comes last."""
    policies: JsonObject = {"policies": published.policies} if published.policies else {}
    said: Mapping[str, Json] = {
        "proxy": published.proxy,
        "connections": published.connections,
        "discovery": published.discovery,
        "audit": published.audit,
        "switched_off": published.switched_off,
        **policies,
        "items": [astuple(item) for item in published.items],
    }
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> Published:
    said = json.loads(text)
    return Published(
        items=[CatalogueItem(*row[:_MEMBERS]) for row in said["items"]],
        proxy=said["proxy"],
        connections=said["connections"],
        discovery=said["discovery"],
        audit=said["audit"],
        switched_off=said["switched_off"],
        policies=said.get("policies", ""),
    )
