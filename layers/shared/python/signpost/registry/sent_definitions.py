"""What manifests say of the catalogue, as it is sent: definitions ahead of a publication, which then names them by
what they are made of."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from signpost.model import CatalogueItem, Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.registry import payloads
from signpost.registry.digests import DIGEST
from signpost.registry.refusals import Refused, quoted

type DefinedKind = Literal["workflow", "capability"]
type Wrong = tuple[DefinedKind | Literal["policy", "manifest"], str, str]
"""A kind, an id or a place, and a sentence."""

DEFINED: Mapping[str, DefinedKind] = {"workflows": "workflow", "capabilities": "capability"}
SETTINGS = ("connections", "discovery", "audit")
POLICIES = "policies"


@dataclass(frozen=True, slots=True)
class NamedDefinition:
    kind: DefinedKind
    id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Said:
    """What it does not speak of (None) stays as it is."""

    workflows: Sequence[NamedDefinition] | None = None
    capabilities: Sequence[NamedDefinition] | None = None
    connections: JsonObject | None = None
    discovery: JsonObject | None = None
    audit: JsonObject | None = None
    policies: JsonObject | None = None
    """Rules by name, and the default."""

    @property
    def is_nothing(self) -> bool:
        parts = (self.workflows, self.capabilities, self.connections, self.discovery, self.audit, self.policies)
        return all(part is None for part in parts)


NOTHING_SAID = Said()


@dataclass(frozen=True, slots=True)
class SentDefinitions:
    texts: Sequence[str]
    """Of workflows."""
    items: Sequence[CatalogueItem]
    transitions: Mapping[str, JsonObject]
    """Of capabilities, by digest."""


def sent_definitions(value: Json) -> SentDefinitions | Sequence[str]:
    """Of a manifest with capabilities in their places, or a part of one; or what is wrong with it."""
    from signpost.registry.defined import defined_in  # noqa: PLC0415 - slow to import, and only workflows need it

    return defined_in(value)


def said_in(payload: JsonObject) -> tuple[Said, Sequence[Wrong]]:
    """And what is wrong with it."""
    problems: list[Wrong] = []
    named = {part: _named(payload, part, problems) for part in DEFINED}
    settings = {name: _settings(payload, name, problems) for name in SETTINGS}
    if any(settings.values()):
        from signpost.registry.defined import problems_with_settings  # noqa: PLC0415 - slow to import

        said: JsonObject = {name: value for name, value in settings.items() if value is not None}
        problems.extend(("manifest", "manifest", message) for message in problems_with_settings(said))
    policies = _settings(payload, POLICIES, problems)
    if policies:
        from signpost.policy.written_rules import faults  # noqa: PLC0415 - few publications have any

        problems.extend(("policy", name, f"{fault[0].upper()}{fault[1:]}.") for name, fault in faults(policies))
    return Said(named["workflows"], named["capabilities"], policies=policies, **settings), problems


def _named(payload: JsonObject, part: str, problems: list[Wrong]) -> Sequence[NamedDefinition] | None:
    listed = payload.get(part)
    if listed is None:
        return None
    if not isinstance(listed, list):
        problems.append(("manifest", "manifest", f"`{part}` must be a list."))
        return []
    kind = DEFINED[part]
    found: list[NamedDefinition] = []
    for place, entry in enumerate(listed):
        one = _one(kind, entry)
        if isinstance(one, Refused):
            problems.append((kind, f"{part}[{place}]", one.message))
        else:
            found.append(one)
    problems.extend((kind, name, f"There is more than one {kind} of this name.") for name in _twice(found))
    return found


def _one(kind: DefinedKind, entry: Json) -> NamedDefinition | Refused:
    fields = payloads.texts(as_object(entry), "id", "digest")
    if isinstance(fields, Refused):
        return fields
    name, digest = fields
    if not DIGEST.fullmatch(digest):
        return Refused("invalid_payload", f"{quoted(name)}: `digest` must be a SHA-256, in lowercase hexadecimal.")
    return NamedDefinition(kind, name, digest)


def _twice(named: Sequence[NamedDefinition]) -> Iterator[str]:
    return (name for name, times in sorted(Counter(one.id for one in named).items()) if times > 1)


def _settings(payload: JsonObject, name: str, problems: list[Wrong]) -> JsonObject | None:
    said = payload.get(name)
    if said is None or isinstance(said, Mapping):
        return said
    problems.append(("manifest", "manifest", f"`{name}` must be an object."))
    return None
