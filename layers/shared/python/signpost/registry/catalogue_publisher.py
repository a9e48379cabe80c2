"""What a publication makes of a tenant's catalogue: the next snapshot, and who hears of it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from signpost.content import CatalogueChange, Change, Overtaken, WorkflowChange
from signpost.errors import Unavailable
from signpost.model import PROXY, CatalogueItem, JsonObject
from signpost.ports import ContentStore, Texts
from signpost.records import dataclass
from signpost.registry import publication
from signpost.registry.differences import UNTOUCHED, Difference, Plan, difference
from signpost.registry.manifest import Manifest, Problem
from signpost.registry.parts import Seen
from signpost.registry.policy_publisher import NextPolicies, PolicyPublisher
from signpost.registry.publication import NOTHING, Published
from signpost.registry.refusals import Refused, quoted
from signpost.registry.sent_definitions import NamedDefinition, Said, SentDefinitions
from signpost.spelling import meant

MOST_ITEMS = 20_000
LARGEST_CATALOGUE = 20_000_000
"""Bytes. Every gateway that the tenant calls holds it, and its search index."""
UNSENT = (
    "Its definition was not sent under this digest. Send it by `manifest::bodies`, and name the part that is answered; "
    "if you did, update the client: it makes another text of it than this gateway."
)
ATTEMPTS = 8


@dataclass(frozen=True)  # no slots: what is worked out once is kept
class Current:
    digest: str | None
    published: Published

    def of_kind(self, kind: str) -> Mapping[str, CatalogueItem]:
        return self._by_kind.get(kind, {})

    @cached_property
    def _by_kind(self) -> Mapping[str, Mapping[str, CatalogueItem]]:
        by_kind: dict[str, dict[str, CatalogueItem]] = {}
        for item in self.published.items:
            by_kind.setdefault(item.kind, {})[item.id] = item
        return by_kind


class CataloguePublisher:
    def __init__(self, *, content: ContentStore, values: Texts, definitions: Texts) -> None:
        self._content = content
        self._values = values
        self._definitions = definitions
        self._rules = PolicyPublisher(definitions)

    def keep(self, sent: SentDefinitions, tenant: str) -> None:
        """Definitions go first: a catalogue that names what is not there must never be seen."""
        for text in sent.texts:
            self._definitions.keep(tenant, text)

    def current(self, tenant: str) -> Current:
        digest = self._content.catalogue(tenant)
        return Current(digest, publication.from_text(self._values.read(tenant, digest)) if digest else NOTHING)

    def changes(self, manifest: Manifest, seen: Seen, current: Current, tenant: str) -> Sequence[Change] | Problem:
        """Those that lead to what is to be there, each of it sent. Nothing is told of what stays the same."""
        said, before = manifest.said, current.published
        items, proxy = _items(said, current, seen, prune=manifest.prune), before.proxy
        if len(items) > MOST_ITEMS:
            message = f"A catalogue has {MOST_ITEMS} items at most, these are {len(items)}."
            return Problem("manifest", "manifest", message)
        if said.capabilities is not None:
            proxy = self._proxy(_transitions(said, items, seen, self._transitions(proxy, tenant)), tenant)
        policies = self._policies(manifest, before, tenant)
        if isinstance(policies, Problem):
            return policies
        after = Published(
            items=items,
            proxy=proxy,
            connections=_connections(said, before, prune=manifest.prune),
            discovery=before.discovery if said.discovery is None else said.discovery,
            audit=before.audit if said.audit is None else said.audit,
            switched_off=before.switched_off,
            policies=policies.digest,
        )
        moved = self._move(current, after, tenant)
        return moved if isinstance(moved, Problem) else [*policies.told, *moved]

    def _policies(self, manifest: Manifest, before: Published, tenant: str) -> NextPolicies | Problem:
        said = manifest.said.policies
        if said is None:
            return NextPolicies(before.policies, ())
        after = self._rules.next(said, before.policies, tenant, prune=manifest.prune)
        return Problem("policy", "policies", after) if isinstance(after, str) else after

    def _move(self, current: Current, after: Published, tenant: str) -> Sequence[Change] | Problem:
        text = publication.to_text(after)
        if (size := len(text.encode())) > LARGEST_CATALOGUE:
            message = f"A catalogue has {LARGEST_CATALOGUE} bytes at most, and this one would have {size}: say less."
            return Problem("manifest", "manifest", message)
        digest = self._values.keep(tenant, text)
        if digest == current.digest:
            return ()
        told = _told(_offered(current.published), _offered(after))
        return [*told, CatalogueChange(current.digest, digest, after.policies or None)]

    def switch(self, workflow: str, tenant: str, *, enabled: bool) -> JsonObject | Refused:
        """Whether a workflow is offered, whatever its author publishes."""
        return anew_while_overtaken(lambda: self._switch(workflow, tenant, enabled=enabled))

    def _switch(self, workflow: str, tenant: str, *, enabled: bool) -> JsonObject | Refused:
        current = self.current(tenant)
        item = current.of_kind("workflow").get(workflow)
        if item is None:
            return Refused("not_found", _no_workflow(workflow, current))
        changes = self._move(current, _switched(current.published, item, enabled=enabled), tenant)
        if isinstance(changes, Problem):
            return Refused("too_much", changes.message)
        if changes:
            self._content.apply(tenant, changes)
        return {"id": workflow, "enabled": enabled, "changed": item.switched_off == enabled}

    def plan(self, manifest: Manifest, current: Current, tenant: str) -> Plan:
        said, before = manifest.said.policies, current.published.policies
        rules = self._rules.difference(said, before, tenant, prune=manifest.prune)
        return {**_plan(manifest, current), "policies": rules}

    def _transitions(self, digest: str, tenant: str) -> Mapping[str, JsonObject]:
        """Of the capabilities that are there, by name."""
        # Only here, and what knows workflows is slow to import.
        from signpost.workflow.proxy import transitions_in  # noqa: PLC0415

        return transitions_in(json.loads(self._definitions.read(tenant, digest))) if digest else {}

    def _proxy(self, transitions: Mapping[str, JsonObject], tenant: str) -> str:
        from signpost.workflow.proxy import document_of  # noqa: PLC0415 - see _transitions
        from signpost.workflow.story import text_of  # noqa: PLC0415 - as above

        return self._definitions.keep(tenant, text_of(document_of(transitions))) if transitions else ""


def anew_while_overtaken[Done](attempt: Callable[[], Done]) -> Done:
    """Who finds another catalogue than the one that was decided by decides anew."""
    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except Overtaken:
            continue
    raise Unavailable("Others are publishing all the time.")


def unsent(said: Said, seen: Seen, current: Current) -> Sequence[Problem]:
    """What it names, and nobody has sent."""
    named = (*(said.workflows or ()), *(said.capabilities or ()))
    return [Problem(one.kind, one.id, UNSENT) for one in named if _item_of(one, current, seen) is None]


def _no_workflow(name: str, current: Current) -> str:
    others = [item.kind for item in current.published.items if item.id == name]
    if others:
        return f"{quoted(name)} is a {others[0]}, and only workflows are switched."
    close = meant(name, current.of_kind("workflow"))
    advice = f" Did you mean {quoted(close)}?" if close else ""
    return f"There is no workflow {quoted(name)}.{advice}"


def _switched(published: Published, item: CatalogueItem, *, enabled: bool) -> Published:
    off = {*published.switched_off, item.id} - ({item.id} if enabled else set[str]())
    items = [replace(item, switched_off=not enabled) if one is item else one for one in published.items]
    return replace(published, items=items, switched_off=sorted(off))


def _plan(manifest: Manifest, current: Current) -> Plan:
    said, prune = manifest.said, manifest.prune
    return {
        "workflows": _difference(said.workflows, current.of_kind("workflow"), prune=prune),
        "capabilities": _difference(said.capabilities, current.of_kind("capability"), prune=prune),
        "connections": UNTOUCHED
        if said.connections is None
        else difference(_texts(current.published.connections), _texts(said.connections), prune=prune),
    }


def _texts(members: JsonObject) -> Mapping[str, str]:
    """Compared as they are written: for Python 1 and true are the same."""
    return {name: json.dumps(member) for name, member in members.items()}


def _difference(
    named: Sequence[NamedDefinition] | None, before: Mapping[str, CatalogueItem], *, prune: bool
) -> Difference:
    if named is None:
        return UNTOUCHED
    digests = {item.id: item.definition for item in before.values()}
    return difference(digests, {one.id: one.digest for one in named}, prune=prune)


def _items(said: Said, current: Current, seen: Seen, *, prune: bool) -> Sequence[CatalogueItem]:
    """All of them by id, each seen."""
    items = [
        *_of_kind("workflow", said.workflows, current, seen, prune=prune),
        *_of_kind("capability", said.capabilities, current, seen, prune=prune),
        *_of_connections(said, current, prune=prune),
    ]
    return sorted(items, key=lambda item: (item.id, item.kind))


def _of_kind(
    kind: str, named: Sequence[NamedDefinition] | None, current: Current, seen: Seen, *, prune: bool
) -> Iterator[CatalogueItem]:
    stays = {} if prune and named is not None else dict(current.of_kind(kind))
    found = {one.id: item for one in named or () if (item := _item_of(one, current, seen)) is not None}
    yield from {**stays, **found}.values()


def _item_of(one: NamedDefinition, current: Current, seen: Seen) -> CatalogueItem | None:
    """None if its definition was not sent."""
    before = current.of_kind(one.kind).get(one.id)
    if before is not None and before.definition == one.digest:
        return before
    sent = seen.items.get((one.kind, one.id, one.digest))
    is_off = one.kind == "workflow" and one.id in current.published.switched_off
    return sent and replace(sent, switched_off=is_off)


def _of_connections(said: Said, current: Current, *, prune: bool) -> Sequence[CatalogueItem]:
    if said.connections is None:
        return list(current.of_kind("connection").values())
    from signpost.registry.defined import connection_items  # noqa: PLC0415 - see _proxy

    return connection_items(_connections(said, current.published, prune=prune))


def _transitions(
    said: Said, items: Sequence[CatalogueItem], seen: Seen, there: Mapping[str, JsonObject]
) -> Mapping[str, JsonObject]:
    """Those that stay in their order, then the new ones in theirs."""
    digests = {item.id: item.definition for item in items if item.kind == "capability"}
    new = [one.id for one in said.capabilities or () if one.id not in there]
    return {
        name: seen.transitions[digests[name]] if digests[name] in seen.transitions else there[name]
        for name in (*there, *new)
        if name in digests
    }


def _connections(said: Said, before: Published, *, prune: bool) -> JsonObject:
    if said.connections is None:
        return before.connections
    return said.connections if prune else {**before.connections, **said.connections}


def _offered(published: Published) -> Mapping[str, str]:
    """The digests of what can be started, by id."""
    workflows = {item.id: item.definition for item in published.items if item.kind == "workflow" and item.is_offered}
    return {**workflows, **({PROXY: published.proxy} if published.proxy else {})}


def _told(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[WorkflowChange]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield WorkflowChange(name, after.get(name))
