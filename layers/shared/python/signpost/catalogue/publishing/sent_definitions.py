"""Parses the catalogue's part of a publish request. Definitions are sent ahead of the publication, which then names
them by their digests."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal

from signpost.catalogue.publishing.references import BodyKey, BodyReferences, Reference
from signpost.content.api import payloads
from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.digests import DIGEST
from signpost.hazards.model import EntryKind, PublicationWarning
from signpost.model import CatalogueItem, Json, JsonObject, as_object
from signpost.records import dataclass

type DefinedKind = Literal["workflow", "capability"]
type SentProblem = tuple[DefinedKind | Literal["policy", "schedule", "manifest"], str, str]
"""A problem: the kind of the entry, its id or place, and a message."""

DEFINED_KINDS: Mapping[str, DefinedKind] = {"workflows": "workflow", "capabilities": "capability"}
SETTINGS = ("connections", "discovery", "audit")
POLICIES = "policies"
SCHEDULES = "schedules"


@dataclass(frozen=True, slots=True)
class NamedDefinition:
    """A definition that a publish request names by its digest."""

    kind: DefinedKind
    id: str
    digest: str


@dataclass(frozen=True, slots=True)
class SentCatalogue:
    """The workflows, capabilities, settings, policies and schedules in a publish request. A kind that is None stays
    unchanged."""

    workflows: Sequence[NamedDefinition] | None = None
    capabilities: Sequence[NamedDefinition] | None = None
    connections: JsonObject | None = None
    discovery: JsonObject | None = None
    audit: JsonObject | None = None
    policies: JsonObject | None = None
    """The rules by name, and the default."""
    schedules: JsonObject | None = None

    @property
    def is_empty(self) -> bool:
        settings = (self.connections, self.discovery, self.audit, self.policies, self.schedules)
        return all(part is None for part in (self.workflows, self.capabilities, *settings))


EMPTY_SENT_CATALOGUE = SentCatalogue()


@dataclass(frozen=True, slots=True)
class SentDefinitions:
    """Compiled definitions, sent ahead of the publication that names them."""

    texts: Sequence[str]
    """The texts of the workflows."""
    items: Sequence[CatalogueItem]
    transitions: Mapping[str, JsonObject]
    """The transitions of the capabilities, by digest."""
    warnings: Mapping[tuple[EntryKind, str, str], Sequence[PublicationWarning]] = field(
        default_factory=dict[tuple[EntryKind, str, str], Sequence[PublicationWarning]]
    )
    """The warnings about the definitions, by kind, id and digest."""
    references: BodyReferences = field(default_factory=dict[BodyKey, Sequence[Reference]])
    """The functions and kinds of executors that the definitions name."""


def parse_definitions(value: Json) -> SentDefinitions | Sequence[str]:
    """Compile a manifest, or a part of one, in which all capabilities are written out. Returns the messages of its
    problems if it has any."""
    from signpost.catalogue.items import compile_definitions  # noqa: PLC0415 - slow to import, and only workflows need it

    return compile_definitions(value)


def parse_catalogue(payload: JsonObject) -> tuple[SentCatalogue, Sequence[SentProblem]]:
    """Parse the catalogue's part of a payload. Returns it together with all its problems."""
    problems: list[SentProblem] = []
    named = {part: _parse_named_definitions(payload, part, problems) for part in DEFINED_KINDS}
    settings = {name: _parse_settings(payload, name, problems) for name in SETTINGS}
    if any(settings.values()):
        from signpost.catalogue.items import problems_with_settings  # noqa: PLC0415 - slow to import

        sent: JsonObject = {name: value for name, value in settings.items() if value is not None}
        problems.extend(("manifest", "manifest", message) for message in problems_with_settings(sent))
    policies = _parse_settings(payload, POLICIES, problems)
    if policies:
        from signpost.policy.rules_format import find_faults  # noqa: PLC0415 - few publications have any

        problems.extend(("policy", name, f"{fault[0].upper()}{fault[1:]}.") for name, fault in find_faults(policies))
    schedules = _parse_settings(payload, SCHEDULES, problems)
    problems.extend(_find_schedule_faults(schedules or {}))
    sent_catalogue = SentCatalogue(
        named["workflows"], named["capabilities"], policies=policies, schedules=schedules, **settings
    )
    return sent_catalogue, problems


def _find_schedule_faults(schedules: JsonObject) -> Iterator[SentProblem]:
    if schedules:
        from signpost.workflow.schedules import (  # noqa: PLC0415 - few publications have any
            describe_fault,
            find_schedule_faults,
        )

        for name, fault in find_schedule_faults(schedules):
            message = describe_fault(fault)
            yield "schedule", name, f"{message[0].upper()}{message[1:]}{'' if message.endswith('?') else '.'}"


def _parse_named_definitions(
    payload: JsonObject, part: str, problems: list[SentProblem]
) -> Sequence[NamedDefinition] | None:
    listed = payload.get(part)
    if listed is None:
        return None
    if not isinstance(listed, list):
        problems.append(("manifest", "manifest", f"`{part}` must be a list."))
        return []
    kind = DEFINED_KINDS[part]
    named: list[NamedDefinition] = []
    for place, entry in enumerate(listed):
        definition = _parse_named_definition(kind, entry)
        if isinstance(definition, RegistryRefusal):
            problems.append((kind, f"{part}[{place}]", definition.message))
        else:
            named.append(definition)
    duplicates = find_duplicates(definition.id for definition in named)
    problems.extend(
        (kind, name, f"More than one {kind} has this name. Rename or remove all but one.") for name in duplicates
    )
    return named


def _parse_named_definition(kind: DefinedKind, entry: Json) -> NamedDefinition | RegistryRefusal:
    fields = payloads.text_fields(as_object(entry), "id", "digest")
    if isinstance(fields, RegistryRefusal):
        return fields
    name, digest = fields
    if not DIGEST.fullmatch(digest):
        return RegistryRefusal(
            "invalid_payload", f"{quote_text(name)}: `digest` must be a SHA-256, in lowercase hexadecimal."
        )
    return NamedDefinition(kind, name, digest)


def find_duplicates(names: Iterable[str]) -> Sequence[str]:
    """Return the names that occur more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def _parse_settings(payload: JsonObject, name: str, problems: list[SentProblem]) -> JsonObject | None:
    value = payload.get(name)
    if value is None or isinstance(value, Mapping):
        return value
    problems.append(("manifest", "manifest", f"`{name}` must be an object."))
    return None
