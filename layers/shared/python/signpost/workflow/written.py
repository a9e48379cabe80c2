"""Documents as somebody wrote them: values that know where they stand, whatever is made of them later."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import cast

from signpost.model import Json
from signpost.records import dataclass
from signpost.workflow.definition import Pointer

type Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, order=True)
class Place:
    file: str = ""
    line: int = 0
    column: int = 0


NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class Written:
    content: "Scalar | Mapping[str, Written] | Sequence[Written]"
    place: Place = NOWHERE
    names: Mapping[str, Place] = field(default_factory=dict[str, Place])
    """Where the names of its members stand, if it is a mapping."""

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.content, Mapping)

    @property
    def members(self) -> "Mapping[str, Written]":
        """None, if it is no mapping."""
        return self.content if isinstance(self.content, Mapping) else {}

    @property
    def entries(self) -> "Sequence[Written]":
        """None, if it is no list."""
        return self.content if isinstance(self.content, list) else ()

    @property
    def text(self) -> str | None:
        return self.content if isinstance(self.content, str) else None

    def get(self, name: str) -> "Written | None":
        """What is written there; null counts as nothing."""
        member = self.members.get(name)
        return None if member is None or member.content is None else member

    def place_of_name(self, name: str) -> Place:
        return self.names.get(name, self.place)

    def place_of(self, at: Pointer) -> Place:
        """Of a value, and of the name before it if it has many lines; as far as there is anything."""
        node, place = self, self.place
        for step in at:
            child = node._child(step)
            if child is None:
                break
            is_scalar = not isinstance(child.content, Mapping | list)
            place = child.place if is_scalar or isinstance(step, int) else node.names.get(step, child.place)
            node = child
        return place

    def _child(self, step: str | int) -> "Written | None":
        if isinstance(step, str):
            return self.members.get(step)
        return self.entries[step] if step < len(self.entries) else None

    def having(self, **members: "Written | None") -> "Written":
        """With these members in place of those it has; where one is None, with the one it has."""
        return replace(self, content={**self.members, **{name: one for name, one in members.items() if one}})

    def without(self, *names: str) -> "Written":
        return replace(self, content={name: one for name, one in self.members.items() if name not in names})


def plain(written: Written | None) -> Json:
    if written is None:
        return None
    content = written.content
    if isinstance(content, Mapping):
        return {name: plain(member) for name, member in content.items()}
    if isinstance(content, list):
        return [plain(entry) for entry in content]
    return cast("Scalar", content)


def written(value: Json, place: Place = NOWHERE) -> Written:
    """What nobody wrote in a file, or what is written here because of something that stands there."""
    if isinstance(value, Mapping):
        return Written({name: written(member, place) for name, member in value.items()}, place)
    if isinstance(value, list | tuple):
        return Written([written(entry, place) for entry in value], place)
    return Written(cast("Scalar", value), place)


def merged(below: Written, above: Written) -> Written:
    """Mappings merge, lists follow each other, and of anything else the one above counts."""
    if below.is_mapping and above.is_mapping:
        members = dict(below.members)
        for name, member in above.members.items():
            members[name] = merged(members[name], member) if name in members else member
        return Written(members, above.place, {**below.names, **above.names})
    if isinstance(below.content, list) and isinstance(above.content, list):
        return Written([*below.entries, *above.entries], above.place)
    return above
