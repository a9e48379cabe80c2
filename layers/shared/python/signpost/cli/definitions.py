"""What manifests define, put together as it is published, and in slices as it is sent."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from signpost.model import PROXY, Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.registry.digests import digest_of
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep
from signpost.workflow.configuration import Resolution, resolve
from signpost.workflow.problems import Problem, error
from signpost.workflow.proxy import READY, document_of
from signpost.workflow.story import text_of
from signpost.workflow.written import Place, Written, plain

type Part = Literal["workflows", "capabilities", "connections", "discovery", "audit", "policies"]

ONE_OF: Mapping[Part, str] = {
    "workflows": "workflow",
    "capabilities": "capability",
    "connections": "connection",
    "discovery": "setting of `discovery`",
    "audit": "setting of `audit`",
    "policies": "policy",
}
SENT_AHEAD: Sequence[Part] = ("workflows", "capabilities")
"""Under their digests; the rest is short, and goes with the publication itself."""
LARGEST_DEFINITION = 3_500_000
"""Bytes as JSON; an invocation of Lambda takes 6 MB."""
DEEPEST_DEFINITION = DEEPEST_VALUE - 8
"""What it is sent in is up to so much deeper."""

type Definitions = Mapping[Part, Mapping[str, Json]]
"""By part and name. A part that is not there is not spoken of. Capabilities are those that can be called: the
transitions of `proxy_default`."""


@dataclass(slots=True)
class Collected:
    """From several manifests, which may say the same, but nothing else of it."""

    definitions: dict[Part, dict[str, Json]] = field(default_factory=dict[Part, dict[str, Json]])
    problems: list[Problem] = field(default_factory=list[Problem])
    _places: dict[tuple[Part, str], Place] = field(default_factory=dict[tuple[Part, str], Place])

    def take(self, manifest: Written) -> None:
        """One in which no error was found."""
        resolution = resolve(manifest)
        for part in ONE_OF:
            written = _written(resolution, part)
            if written is not None:
                self.definitions.setdefault(part, {})
                self._add(part, written)

    def _add(self, part: Part, written: Written) -> None:
        there = self.definitions[part]
        for name, member in written.members.items():
            value, place, what = plain(member), written.place_of((name,)), f"the {ONE_OF[part]} {name!r}"
            if name in there and json.dumps(there[name]) != json.dumps(value):
                first = self._places[part, name]
                other = f"{first.file}:{first.line}:{first.column}"
                self.problems.append(error(place, f"{what} is another one in {other}: keep one of them"))
            elif (size := len(json.dumps(value))) > LARGEST_DEFINITION:
                message = f"{what} is too large: {size} bytes as JSON, at most {LARGEST_DEFINITION}"
                self.problems.append(error(place, message))
            elif is_too_deep(value, DEEPEST_DEFINITION):
                message = f"{what} is nested more than {DEEPEST_DEFINITION} deep"
                self.problems.append(error(place, message))
            else:
                there[name] = value
                self._places.setdefault((part, name), place)


def _written(resolution: Resolution, part: Part) -> Written | None:
    """None if the manifest does not speak of it."""
    if part == "capabilities":
        return _exposed(resolution)
    written = resolution.manifest.get(part)
    if part != "workflows" or written is None:
        return written
    return replace(written, content=resolution.workflows).without(PROXY)


def _exposed(resolution: Resolution) -> Written | None:
    """No exposure at all is not even a workflow."""
    node = resolution.workflows.get(PROXY)
    if node is None:
        proxy = resolution.manifest.get("proxy")
        return proxy and proxy.get("expose")
    for step in ("states", READY, "transitions"):
        node = node and node.get(step)
    return node


def rows_of(definitions: Definitions) -> JsonObject:
    """As they are published: what is sent ahead is only named."""
    named = {part: list(_named(definitions[part])) for part in SENT_AHEAD if part in definitions}
    return {**{part: members for part, members in definitions.items() if part not in SENT_AHEAD}, **named}


def _named(members: Mapping[str, Json]) -> Iterator[JsonObject]:
    for name, document in members.items():
        yield {"id": name, "digest": digest_of(text_of(as_object(document)))}


def entries_of(definitions: Definitions) -> Iterator[JsonObject]:
    """What is sent ahead, one by one."""
    for part in SENT_AHEAD:
        for name, document in definitions.get(part, {}).items():
            yield {"part": part, "id": name, "document": document}


def slice_of(entries: Sequence[JsonObject]) -> JsonObject:
    """A manifest of these entries."""
    workflows, capabilities = (
        {str(one["id"]): as_object(one["document"]) for one in entries if one["part"] == part} for part in SENT_AHEAD
    )
    proxy: JsonObject = {PROXY: document_of(capabilities)} if capabilities else {}
    return {"version": 1, "workflows": {**workflows, **proxy}}
