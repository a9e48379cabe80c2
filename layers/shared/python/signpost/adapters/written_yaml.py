"""YAML with the place of every value, by the core schema of YAML 1.2, where `no` and `on` are texts.

It is read event by event: the library's own way into nested values recurses in C, and a file of nothing but brackets
would take the process down.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, NoReturn

import yaml

from signpost.adapters.written_files import DEEPEST, MOST_VALUES, Misread
from signpost.records import dataclass
from signpost.registry.yaml_block import resolved
from signpost.workflow.written import Place, Written

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # the one in C is not in every build
_MERGE = "<<"


def written_yaml(text: str, file: str) -> Written:
    """Raises Misread."""
    try:
        return _Composer(yaml.parse(text, _LOADER), file).document()
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise Misread(", ".join(filter(None, (fault.context, fault.problem))), line, column) from fault
    except yaml.reader.ReaderError as fault:
        raise Misread(f"it has a character that YAML does not allow ({fault.reason})", *_place(text, fault)) from fault


def _place(text: str, fault: yaml.reader.ReaderError) -> tuple[int, int]:
    before = text[: fault.position] if isinstance(fault.position, int) else ""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@dataclass(slots=True)
class _Anchored:
    value: Written | None = None
    """None while it is being read: it would contain itself."""
    size: int = 0
    height: int = 0


@dataclass(slots=True)
class _Composer:
    events: Iterator[Any]
    file: str
    anchors: dict[str, _Anchored] = field(default_factory=dict[str, _Anchored])
    size: int = 0
    """Of everything so far."""
    deepest: int = 0
    """Of what is being read."""

    def document(self) -> Written:
        next(self.events)  # the stream starts
        if isinstance(next(self.events), yaml.StreamEndEvent):
            return Written(None, Place(self.file, 1, 1))
        document = self._value(next(self.events), 0)
        next(self.events)  # the document ends
        if not isinstance(event := next(self.events), yaml.StreamEndEvent):
            self._fail(event, "there is a second document (---): keep one in a file")
        return document

    def _value(self, event: Any, depth: int) -> Written:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        if event.tag is not None:
            self._fail(event, f"the tag {event.tag} means nothing here")
        before, above, anchored = self.size, self.deepest, _Anchored()
        if event.anchor is not None:
            self.anchors[event.anchor] = anchored
        self.deepest = depth
        self._count(event, 1, depth)
        anchored.value = self._content(event, depth)
        anchored.size, anchored.height = self.size - before, self.deepest - depth
        self.deepest = max(above, self.deepest)
        return anchored.value

    def _content(self, event: Any, depth: int) -> Written:
        place = Place(self.file, event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(place, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            entries: list[Written] = []
            while not isinstance(child := next(self.events), yaml.SequenceEndEvent):
                entries.append(self._value(child, depth + 1))
            return Written(entries, place)
        return Written(self._scalar(event), place)

    def _mapping(self, place: Place, depth: int) -> Written:
        members, names, below = dict[str, Written](), dict[str, Place](), list[Written]()
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._value(event, depth + 1)
            value = self._value(next(self.events), depth + 1)
            if key.text is None:
                shown = key.content if not isinstance(key.content, dict | list) else "a mapping or a list"
                self._fail(event, f"{shown!r} is no text, and names are texts: put them into quotes")
            if key.text == _MERGE and not event.style:
                below += self._merged(event, value)
            elif key.text in members:
                self._fail(event, f"{key.text!r} is there twice")
            else:
                members[key.text], names[key.text] = value, key.place
        for one in below:
            members = {**one.members, **members}
            names = {**one.names, **names}
        return Written(members, place, names)

    def _merged(self, event: Any, value: Written) -> Sequence[Written]:
        mappings = value.entries or [value]
        if not all(one.is_mapping for one in mappings):
            self._fail(event, f"behind {_MERGE} there must be mappings")
        return mappings

    def _alias(self, event: Any, depth: int) -> Written:
        anchored = self.anchors.get(event.anchor)
        if anchored is None:
            self._fail(event, f"there is no &{event.anchor} before it")
        if anchored.value is None:
            self._fail(event, f"&{event.anchor} contains itself")
        self._count(event, anchored.size, depth + anchored.height)
        return anchored.value

    def _count(self, event: Any, values: int, depth: int) -> None:
        self.size += values
        self.deepest = max(self.deepest, depth)
        if self.deepest > DEEPEST:
            self._fail(event, f"values are more than {DEEPEST} deep")
        if self.size > MOST_VALUES:
            self._fail(event, f"there are more than {MOST_VALUES} values")

    def _scalar(self, event: Any) -> Any:
        try:
            return event.value if event.style else resolved(event.value)
        except ValueError as fault:
            self._fail(event, f"{event.value[:40]!r} is no number of JSON: put it into quotes", fault)

    def _fail(self, event: Any, message: str, cause: Exception | None = None) -> NoReturn:
        raise Misread(message, event.start_mark.line + 1, event.start_mark.column + 1) from cause
