"""Computes the items of the next catalogue from those of the current one and those that a publication sends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from signpost.catalogue.publishing.parts import KnownContent
from signpost.catalogue.publishing.request import PublishProblem, PublishRequest
from signpost.catalogue.publishing.schedules import describe_missing_workflow
from signpost.catalogue.publishing.sent_definitions import NamedDefinition, SentCatalogue
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.model import CatalogueItem, JsonObject
from signpost.records import dataclass

DEFINITION_UNKNOWN = (
    "The gateway has no definition with this digest. Send it by `manifest::bodies` and name the returned part. "
    "If you did, update the client: it compiles the definition to another text than this gateway."
)


@dataclass(frozen=True)  # no slots: cached properties need a `__dict__`
class CurrentCatalogue:
    """The snapshot that a publication changes."""

    digest: str | None
    snapshot: CatalogueSnapshot

    def items_of_kind(self, kind: str) -> Mapping[str, CatalogueItem]:
        return self._by_kind.get(kind, {})

    @cached_property
    def _by_kind(self) -> Mapping[str, Mapping[str, CatalogueItem]]:
        by_kind: dict[str, dict[str, CatalogueItem]] = {}
        for item in self.snapshot.items:
            by_kind.setdefault(item.kind, {})[item.id] = item
        return by_kind


def find_unsent_definitions(
    sent: SentCatalogue, known: KnownContent, current: CurrentCatalogue
) -> Sequence[PublishProblem]:
    """Return a problem for each definition that the request names and that is not known."""
    named = (*(sent.workflows or ()), *(sent.capabilities or ()))
    return [
        PublishProblem(definition.kind, definition.id, DEFINITION_UNKNOWN)
        for definition in named
        if _find_item(definition, current, known) is None
    ]


def find_unknown_workflows(
    request: PublishRequest, known: KnownContent, current: CurrentCatalogue, targets: Sequence[str]
) -> Sequence[PublishProblem]:
    """Return a problem for each workflow that triggers start and that does not exist after the publication."""
    sent = request.catalogue.workflows
    workflows = {item.id for item in _list_items_of_kind("workflow", sent, current, known, prune=request.prune)}
    return [
        PublishProblem("trigger", target, describe_missing_workflow(target, workflows))
        for target in targets
        if target not in workflows
    ]


def build_next_items(
    sent: SentCatalogue, current: CurrentCatalogue, known: KnownContent, *, prune: bool
) -> Sequence[CatalogueItem]:
    """Return the items of the next snapshot, sorted by id. All named definitions must be known."""
    items = [
        *_list_items_of_kind("workflow", sent.workflows, current, known, prune=prune),
        *_list_items_of_kind("capability", sent.capabilities, current, known, prune=prune),
        *_next_connection_items(sent, current, prune=prune),
    ]
    return sorted(items, key=lambda item: (item.id, item.kind))


def _list_items_of_kind(
    kind: str, named: Sequence[NamedDefinition] | None, current: CurrentCatalogue, known: KnownContent, *, prune: bool
) -> Iterator[CatalogueItem]:
    kept = {} if prune and named is not None else dict(current.items_of_kind(kind))
    new = {
        definition.id: item
        for definition in named or ()
        if (item := _find_item(definition, current, known)) is not None
    }
    yield from {**kept, **new}.values()


def _find_item(named: NamedDefinition, current: CurrentCatalogue, known: KnownContent) -> CatalogueItem | None:
    """Find the item of a named definition; None if the definition is not known."""
    before = current.items_of_kind(named.kind).get(named.id)
    if before is not None and before.definition == named.digest:
        return before
    item = known.items.get((named.kind, named.id, named.digest))
    is_off = named.kind == "workflow" and named.id in current.snapshot.switched_off
    return item and replace(item, switched_off=is_off)


def _next_connection_items(sent: SentCatalogue, current: CurrentCatalogue, *, prune: bool) -> Sequence[CatalogueItem]:
    if sent.connections is None:
        return list(current.items_of_kind("connection").values())
    from signpost.catalogue.items import connection_items  # noqa: PLC0415 - it imports the compiler

    return connection_items(build_next_connections(sent, current.snapshot, prune=prune))


def build_next_transitions(
    sent: SentCatalogue, items: Sequence[CatalogueItem], known: KnownContent, existing: Mapping[str, JsonObject]
) -> Mapping[str, JsonObject]:
    """Return the transitions of the next capabilities: the existing ones in their order, then the new ones in the order
    of the request."""
    digests = {item.id: item.definition for item in items if item.kind == "capability"}
    new = [definition.id for definition in sent.capabilities or () if definition.id not in existing]
    return {
        name: known.transitions[digests[name]] if digests[name] in known.transitions else existing[name]
        for name in (*existing, *new)
        if name in digests
    }


def build_next_connections(sent: SentCatalogue, before: CatalogueSnapshot, *, prune: bool) -> JsonObject:
    if sent.connections is None:
        return before.connections
    return sent.connections if prune else {**before.connections, **sent.connections}
