"""Parses YAML with the place of every value, by the core schema of YAML 1.2, in which `no` and `on` are texts.

The parser reads the library's events one by one: the library's own composer recurses in C, and a file of nothing but
brackets would crash the process.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, NoReturn

import yaml

from signpost.adapters.source_files import DEEPEST, MOST_VALUES, MalformedSource
from signpost.content.agent_skills.front_matter import resolve_scalar
from signpost.records import dataclass
from signpost.workflow.authoring.source_tree import SourceNode, SourcePlace

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # not every build has the loader in C
_MERGE = "<<"


def parse_yaml_source(text: str, file: str) -> SourceNode:
    """Parse a YAML text. Raises MalformedSource."""
    try:
        return _Composer(yaml.parse(text, _LOADER), file).read_document()
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise MalformedSource(", ".join(filter(None, (fault.context, fault.problem))), line, column) from fault
    except yaml.reader.ReaderError as fault:
        raise MalformedSource(
            f"it has a character that YAML does not allow ({fault.reason})", *_place_of(text, fault)
        ) from fault


def _place_of(text: str, fault: yaml.reader.ReaderError) -> tuple[int, int]:
    before = text[: fault.position] if isinstance(fault.position, int) else ""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@dataclass(slots=True)
class _Anchor:
    value: SourceNode | None = None
    """None while the value is being read; an alias of it would then contain itself."""
    size: int = 0
    height: int = 0


@dataclass(slots=True)
class _Composer:
    events: Iterator[Any]
    file: str
    anchors: dict[str, _Anchor] = field(default_factory=dict[str, _Anchor])
    size: int = 0
    """The number of values read so far."""
    deepest: int = 0
    """The greatest depth in the value that is being read."""

    def read_document(self) -> SourceNode:
        next(self.events)  # the stream starts
        if isinstance(next(self.events), yaml.StreamEndEvent):
            return SourceNode(None, SourcePlace(self.file, 1, 1))
        document = self._read_value(next(self.events), 0)
        next(self.events)  # the document ends
        if not isinstance(event := next(self.events), yaml.StreamEndEvent):
            self._fail(event, "there is a second document (---): keep one in a file")
        return document

    def _read_value(self, event: Any, depth: int) -> SourceNode:
        if isinstance(event, yaml.AliasEvent):
            return self._read_alias(event, depth)
        if event.tag is not None:
            self._fail(event, f"the tag {event.tag} is not supported; remove it")
        size_before, deepest_before, anchor = self.size, self.deepest, _Anchor()
        if event.anchor is not None:
            self.anchors[event.anchor] = anchor
        self.deepest = depth
        self._count(event, 1, depth)
        anchor.value = self._read_content(event, depth)
        anchor.size, anchor.height = self.size - size_before, self.deepest - depth
        self.deepest = max(deepest_before, self.deepest)
        return anchor.value

    def _read_content(self, event: Any, depth: int) -> SourceNode:
        place = SourcePlace(self.file, event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.MappingStartEvent):
            return self._read_mapping(place, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            entries: list[SourceNode] = []
            while not isinstance(child := next(self.events), yaml.SequenceEndEvent):
                entries.append(self._read_value(child, depth + 1))
            return SourceNode(entries, place)
        return SourceNode(self._read_scalar(event), place)

    def _read_mapping(self, place: SourcePlace, depth: int) -> SourceNode:
        members, names, merged = dict[str, SourceNode](), dict[str, SourcePlace](), list[SourceNode]()
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._read_value(event, depth + 1)
            value = self._read_value(next(self.events), depth + 1)
            if key.text is None:
                shown = key.content if not isinstance(key.content, dict | list) else "a mapping or a list"
                self._fail(event, f"the name {shown!r} is not a text: put it into quotes")
            if key.text == _MERGE and not event.style:
                merged += self._merged_mappings(event, value)
            elif key.text in members:
                self._fail(event, f"{key.text!r} occurs twice")
            else:
                members[key.text], names[key.text] = value, key.place
        for mapping in merged:
            members = {**mapping.members, **members}
            names = {**mapping.name_places, **names}
        return SourceNode(members, place, names)

    def _merged_mappings(self, event: Any, value: SourceNode) -> Sequence[SourceNode]:
        mappings = value.entries or [value]
        if not all(mapping.is_mapping for mapping in mappings):
            self._fail(event, f"the value of {_MERGE} must be a mapping or a list of mappings")
        return mappings

    def _read_alias(self, event: Any, depth: int) -> SourceNode:
        anchor = self.anchors.get(event.anchor)
        if anchor is None:
            self._fail(event, f"the anchor &{event.anchor} is not defined before this alias")
        if anchor.value is None:
            self._fail(event, f"the anchor &{event.anchor} contains itself")
        self._count(event, anchor.size, depth + anchor.height)
        return anchor.value

    def _count(self, event: Any, values: int, depth: int) -> None:
        self.size += values
        self.deepest = max(self.deepest, depth)
        if self.deepest > DEEPEST:
            self._fail(event, f"values are nested more than {DEEPEST} deep")
        if self.size > MOST_VALUES:
            self._fail(event, f"there are more than {MOST_VALUES} values")

    def _read_scalar(self, event: Any) -> Any:
        try:
            return event.value if event.style else resolve_scalar(event.value)
        except ValueError as fault:
            self._fail(event, f"{event.value[:40]!r} is not a JSON number: put it into quotes", fault)

    def _fail(self, event: Any, message: str, cause: Exception | None = None) -> NoReturn:
        raise MalformedSource(message, event.start_mark.line + 1, event.start_mark.column + 1) from cause
