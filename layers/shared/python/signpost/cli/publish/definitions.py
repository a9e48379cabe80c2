"""Collects the definitions of manifests, and writes them in the form of a publication and of the slices sent ahead."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from signpost.cli.publish.checking import format_place
from signpost.content.digests import digest_of
from signpost.model import PROXY_WORKFLOW, Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep
from signpost.workflow.authoring.compile import ManifestResolution, resolve_manifest
from signpost.workflow.authoring.problems import Problem, error
from signpost.workflow.authoring.source_tree import SourceNode, SourcePlace, to_json
from signpost.workflow.proxy_default import READY, document_of
from signpost.workflow.running.serialization import text_of

type DefinitionPart = Literal["workflows", "capabilities", "connections", "discovery", "audit", "policies", "schedules"]

PART_SINGULARS: Mapping[DefinitionPart, str] = {
    "workflows": "workflow",
    "capabilities": "capability",
    "connections": "connection",
    "discovery": "setting of `discovery`",
    "audit": "setting of `audit`",
    "policies": "policy",
    "schedules": "schedule",
}
SENT_AHEAD: Sequence[DefinitionPart] = ("workflows", "capabilities")
"""The parts with documents that are sent before the publication, which names them by digest. The other parts are short
and are sent in the publication itself."""
LARGEST_DEFINITION = 3_500_000
"""In bytes as JSON. The payload of a Lambda invocation is limited to 6 MB."""
DEEPEST_DEFINITION = DEEPEST_VALUE - 8
"""The message in which a definition is sent adds up to eight levels."""

type DefinitionsByPart = Mapping[DefinitionPart, Mapping[str, Json]]
"""Documents by part and name. A part without a key is not in the manifests.

The capabilities are those that clients can call: the transitions of `proxy_default`."""


@dataclass(slots=True)
class DefinitionCollector:
    """Collects definitions from several manifests.

    Two manifests may contain the same definition, but not different definitions of the same name."""

    definitions: dict[DefinitionPart, dict[str, Json]] = field(default_factory=dict[DefinitionPart, dict[str, Json]])
    problems: list[Problem] = field(default_factory=list[Problem])
    _places: dict[tuple[DefinitionPart, str], SourcePlace] = field(
        default_factory=dict[tuple[DefinitionPart, str], SourcePlace]
    )

    def add_manifest(self, manifest: SourceNode) -> None:
        """Add the definitions of a manifest in which no error was found."""
        resolution = resolve_manifest(manifest)
        for part in PART_SINGULARS:
            node = _find_part(resolution, part)
            if node is not None:
                self.definitions.setdefault(part, {})
                self._add_part(part, node)

    def _add_part(self, part: DefinitionPart, node: SourceNode) -> None:
        definitions = self.definitions[part]
        for name, member in node.members.items():
            value, place, label = to_json(member), node.place_of((name,)), f"the {PART_SINGULARS[part]} {name!r}"
            if name in definitions and json.dumps(definitions[name]) != json.dumps(value):
                first = self._places[part, name]
                message = f"{label} is defined differently in {format_place(first)}: keep one of them"
                self.problems.append(error(place, message))
            elif (size := len(json.dumps(value))) > LARGEST_DEFINITION:
                message = f"{label} is too large: {size} bytes as JSON, at most {LARGEST_DEFINITION}"
                self.problems.append(error(place, message))
            elif is_too_deep(value, DEEPEST_DEFINITION):
                message = f"{label} is nested more than {DEEPEST_DEFINITION} deep"
                self.problems.append(error(place, message))
            else:
                definitions[name] = value
                self._places.setdefault((part, name), place)


def _find_part(resolution: ManifestResolution, part: DefinitionPart) -> SourceNode | None:
    """Return a part of the manifest, or None if the manifest does not have it."""
    if part == "capabilities":
        return _find_capabilities(resolution)
    node = resolution.manifest.get(part)
    if part != "workflows" or node is None:
        return node
    return replace(node, content=resolution.workflows).without(PROXY_WORKFLOW)


def _find_capabilities(resolution: ManifestResolution) -> SourceNode | None:
    """Return the transitions of `proxy_default`. Without any exposed capability there is no such workflow."""
    node = resolution.workflows.get(PROXY_WORKFLOW)
    if node is None:
        proxy = resolution.manifest.get("proxy")
        return proxy and proxy.get("expose")
    for step in ("states", READY, "transitions"):
        node = node and node.get(step)
    return node


def rows_of(definitions: DefinitionsByPart) -> JsonObject:
    """Return the fields of a publication. Definitions that are sent ahead are named by id and digest only."""
    digest_rows = {part: list(_digest_rows(definitions[part])) for part in SENT_AHEAD if part in definitions}
    return {**{part: members for part, members in definitions.items() if part not in SENT_AHEAD}, **digest_rows}


def _digest_rows(members: Mapping[str, Json]) -> Iterator[JsonObject]:
    for name, document in members.items():
        yield {"id": name, "digest": digest_of(text_of(as_object(document)))}


def entries_of(definitions: DefinitionsByPart) -> Iterator[JsonObject]:
    """Yield the definitions that are sent ahead, one by one."""
    for part in SENT_AHEAD:
        for name, document in definitions.get(part, {}).items():
            yield {"part": part, "id": name, "document": document}


def slice_of(entries: Sequence[JsonObject]) -> JsonObject:
    """Build a manifest that contains these entries."""
    workflows, capabilities = (
        {str(entry["id"]): as_object(entry["document"]) for entry in entries if entry["part"] == part}
        for part in SENT_AHEAD
    )
    proxy: JsonObject = {PROXY_WORKFLOW: document_of(capabilities)} if capabilities else {}
    return {"version": 1, "workflows": {**workflows, **proxy}}
