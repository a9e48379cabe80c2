"""Parsed documents. Each value keeps its place in the author's file, also when a new document is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import cast

from signpost.model import Json
from signpost.records import dataclass
from signpost.workflow.definition import Pointer

type Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, order=True)
class SourcePlace:
    file: str = ""
    line: int = 0
    column: int = 0


NOWHERE = SourcePlace()


@dataclass(frozen=True, slots=True)
class SourceNode:
    content: "Scalar | Mapping[str, SourceNode] | Sequence[SourceNode]"
    place: SourcePlace = NOWHERE
    name_places: Mapping[str, SourcePlace] = field(default_factory=dict[str, SourcePlace])
    """The places of the names of its members, if it is a mapping."""

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.content, Mapping)

    @property
    def members(self) -> "Mapping[str, SourceNode]":
        """The members of a mapping; empty if the node is none."""
        return self.content if isinstance(self.content, Mapping) else {}

    @property
    def entries(self) -> "Sequence[SourceNode]":
        """The entries of a list; empty if the node is none."""
        return self.content if isinstance(self.content, list) else ()

    @property
    def text(self) -> str | None:
        return self.content if isinstance(self.content, str) else None

    def get(self, name: str) -> "SourceNode | None":
        """Return the member of this name; None if it is missing or null."""
        member = self.members.get(name)
        return None if member is None or member.content is None else member

    def place_of_name(self, name: str) -> SourcePlace:
        return self.name_places.get(name, self.place)

    def place_of(self, at: Pointer) -> SourcePlace:
        """Return the place of the value at a pointer; for a mapping or list, the place of the name before it.

        If there is no value at the pointer, the place of its nearest ancestor is returned.
        """
        node, place = self, self.place
        for step in at:
            child = node._child(step)
            if child is None:
                break
            is_scalar = not isinstance(child.content, Mapping | list)
            place = child.place if is_scalar or isinstance(step, int) else node.name_places.get(step, child.place)
            node = child
        return place

    def _child(self, step: str | int) -> "SourceNode | None":
        if isinstance(step, str):
            return self.members.get(step)
        return self.entries[step] if step < len(self.entries) else None

    def with_members(self, **members: "SourceNode | None") -> "SourceNode":
        """Return a copy with these members in place of its own. A member that is None here keeps its own value."""
        return replace(self, content={**self.members, **{name: member for name, member in members.items() if member}})

    def without(self, *names: str) -> "SourceNode":
        return replace(self, content={name: member for name, member in self.members.items() if name not in names})


def to_json(node: SourceNode | None) -> Json:
    if node is None:
        return None
    content = node.content
    if isinstance(content, Mapping):
        return {name: to_json(member) for name, member in content.items()}
    if isinstance(content, list):
        return [to_json(entry) for entry in content]
    return cast("Scalar", content)


def build_source_node(value: Json, place: SourcePlace = NOWHERE) -> SourceNode:
    """Build nodes for a value that is in no file, or that is generated for something at a place in a file."""
    if isinstance(value, Mapping):
        return SourceNode({name: build_source_node(member, place) for name, member in value.items()}, place)
    if isinstance(value, list | tuple):
        return SourceNode([build_source_node(entry, place) for entry in value], place)
    return SourceNode(cast("Scalar", value), place)


def merge_nodes(base: SourceNode, override: SourceNode) -> SourceNode:
    """Merge two documents: mappings by name, lists one after the other; any other value is overridden."""
    if base.is_mapping and override.is_mapping:
        members = dict(base.members)
        for name, member in override.members.items():
            members[name] = merge_nodes(members[name], member) if name in members else member
        return SourceNode(members, override.place, {**base.name_places, **override.name_places})
    if isinstance(base.content, list) and isinstance(override.content, list):
        return SourceNode([*base.entries, *override.entries], override.place)
    return override
