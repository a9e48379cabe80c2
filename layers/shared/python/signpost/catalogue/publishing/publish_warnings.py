"""Collects the warnings about a publication. Those about a body are found when the body is received, and kept in its
part: the publication then names the body only."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from signpost.catalogue.publishing.references import BodyKey
from signpost.catalogue.publishing.request import PublishProblem, PublishRequest
from signpost.content.content_warnings import (
    find_document_warnings,
    find_file_name_warnings,
    find_file_warnings,
    find_name_warnings,
    find_prompt_warnings,
)
from signpost.hazards.model import EntryKind, PublicationWarning, describe_warning, warn_about
from signpost.hazards.names import find_look_alikes
from signpost.hazards.secrets import find_secrets
from signpost.model import Json, JsonObject
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.content.model import Subscription

type BodyWarnings = Mapping[BodyKey, Sequence[PublicationWarning]]


@dataclass(frozen=True, slots=True)
class ExistingNames:
    """The names that stay in the tenant's catalogue beside those of a publication."""

    skills: Sequence[str] = ()
    prompts: Sequence[str] = ()
    entries: Sequence[str] = ()
    """The ids of workflows, capabilities and connections."""


def find_body_warnings(request: PublishRequest) -> BodyWarnings:
    """Find the warnings about the bodies in a request."""
    found: dict[BodyKey, Sequence[PublicationWarning]] = {}
    for document in request.skills or ():
        if document.body is not None:
            found["skill", document.id, document.digest] = find_document_warnings(document.id, document.body)
    for file in request.files:
        found["file", file.path, sha256(file.body).hexdigest()] = find_file_warnings(file.path, file.body)
    if request.definitions is not None:
        found.update(request.definitions.warnings)
    return {key: warnings for key, warnings in found.items() if warnings}


def find_publication_warnings(
    request: PublishRequest, bodies: BodyWarnings, existing: ExistingNames
) -> Sequence[PublicationWarning]:
    """Find the warnings about all entries of a publication, of which the bodies were sent now or before."""
    found = [warning for key in named_bodies(request) for warning in bodies.get(key, ())]
    for document in request.skills or ():
        found += find_file_name_warnings(file.path for file in document.files)
    for prompt in request.prompts or ():
        found += find_prompt_warnings(prompt)
    found += find_name_warnings("skill", [document.id for document in request.skills or ()], existing.skills)
    found += find_name_warnings("prompt", [prompt.name for prompt in request.prompts or ()], existing.prompts)
    kinds = _entry_kinds(request)
    for name, hazard in find_look_alikes(kinds, existing.entries):
        found += warn_about(kinds[name], name, [hazard])
    found += _find_connection_warnings(request.catalogue.connections or {})
    for trigger in request.triggers or ():
        found += _find_trigger_warnings(trigger)
    return list(dict.fromkeys(found))


def problems_of(warnings: Iterable[PublicationWarning]) -> Sequence[PublishProblem]:
    """Build the problems for which a strict publication is refused."""
    return [PublishProblem(warning.kind, warning.id, describe_warning(warning)) for warning in warnings]


def to_rows(bodies: BodyWarnings) -> list[Json]:
    """Write the warnings about bodies as JSON, for a part."""
    return [[*key, [warning.to_json() for warning in warnings]] for key, warnings in bodies.items()]


def from_rows(rows: Sequence[Any]) -> BodyWarnings:
    return {(kind, name, digest): [PublicationWarning(**fields) for fields in listed]
            for kind, name, digest, listed in rows}  # fmt: skip


def named_bodies(request: PublishRequest) -> Iterator[BodyKey]:
    for document in request.skills or ():
        yield "skill", document.id, document.digest
        for file in document.files:
            yield "file", file.path, file.digest
    for definition in (*(request.catalogue.workflows or ()), *(request.catalogue.capabilities or ())):
        yield definition.kind, definition.id, definition.digest


def _entry_kinds(request: PublishRequest) -> Mapping[str, EntryKind]:
    """Return the kinds of the connections, capabilities and workflows of a request by their names."""
    catalogue = request.catalogue
    definitions = (*(catalogue.capabilities or ()), *(catalogue.workflows or ()))
    connections: dict[str, EntryKind] = dict.fromkeys(catalogue.connections or (), "connection")
    return {**connections, **{definition.id: definition.kind for definition in definitions}}


def _find_connection_warnings(connections: JsonObject) -> Iterator[PublicationWarning]:
    if connections:
        from signpost.workflow.authoring.lint.hazards import check_settings  # noqa: PLC0415 - slow, and few have any

        for finding in check_settings(connections):
            if finding.code is not None:
                yield PublicationWarning(finding.code, "connection", str(finding.at[0]), finding.message)


def _find_trigger_warnings(trigger: "Subscription") -> Iterator[PublicationWarning]:
    for name, value in (("config", trigger.config), ("metadata", trigger.metadata)):
        for secret in find_secrets(value, (name,)):
            yield from warn_about("trigger", trigger.target, [secret.hazard])
