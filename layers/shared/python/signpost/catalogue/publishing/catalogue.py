"""The catalogue's part of a publication: the next snapshot, its plan, and the events of changed workflows."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.catalogue.publishing.diff import (
    UNTOUCHED,
    Difference,
    PublicationPlan,
    canonical_texts,
    compare_entries,
    compare_members,
)
from signpost.catalogue.publishing.next_items import (
    CurrentCatalogue,
    build_next_connections,
    build_next_items,
    build_next_transitions,
)
from signpost.catalogue.publishing.parts import KnownContent
from signpost.catalogue.publishing.policies import NextPolicies, PolicyPublisher
from signpost.catalogue.publishing.request import PublishProblem, PublishRequest
from signpost.catalogue.publishing.schedules import (
    build_next_schedules,
    compare_sent_schedules,
    find_schedule_problems,
    switch_schedule,
)
from signpost.catalogue.publishing.sent_definitions import NamedDefinition, SentDefinitions
from signpost.catalogue.snapshot import EMPTY_SNAPSHOT, CatalogueSnapshot, from_text, to_text
from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.model import CatalogueChange, Change, Overtaken, WorkflowChange
from signpost.errors import Unavailable
from signpost.model import PROXY_WORKFLOW, CatalogueItem, JsonObject, Principal
from signpost.records import dataclass
from signpost.spelling import build_suggestion

if TYPE_CHECKING:
    from signpost.catalogue.publishing.rule_warnings import RuleContext
    from signpost.content.ports import ContentStore
    from signpost.ports import TextStore

MOST_ITEMS = 20_000
LARGEST_CATALOGUE = 20_000_000
"""Bytes. Every gateway that the tenant calls holds the catalogue and its search index in memory."""
ATTEMPTS = 8
"""Attempts of a publication that other requests overtake."""


@dataclass(frozen=True, slots=True)
class PublicationOrigin:
    """The tenant of a publication, its publisher and its time."""

    tenant: str
    publisher: Principal
    at: str
    """UTC, RFC 3339."""


class CataloguePublisher:
    """Builds the changes of a tenant's catalogue that a publication makes, and switches workflows off and on."""

    def __init__(self, *, content: "ContentStore", values: "TextStore", definitions: "TextStore") -> None:
        self._content = content
        self._values = values
        self._definitions = definitions
        self._rules = PolicyPublisher(definitions)

    def keep(self, sent: SentDefinitions, tenant: str) -> None:
        """Store definitions. They are stored before the catalogue: no reader may find a catalogue that names a missing
        definition."""
        for text in sent.texts:
            self._definitions.keep(tenant, text)

    def read_current(self, tenant: str) -> CurrentCatalogue:
        digest = self._content.catalogue(tenant)
        return CurrentCatalogue(digest, from_text(self._values.read(tenant, digest)) if digest else EMPTY_SNAPSHOT)

    def build_changes(
        self, request: PublishRequest, known: KnownContent, current: CurrentCatalogue, origin: PublicationOrigin
    ) -> Sequence[Change] | PublishProblem:
        """Build the changes that make the requested catalogue the current one. All definitions that the request names
        must be known. Unchanged workflows and policies have no event."""
        sent, before, tenant = request.catalogue, current.snapshot, origin.tenant
        items, proxy = build_next_items(sent, current, known, prune=request.prune), before.proxy
        if len(items) > MOST_ITEMS:
            message = f"A catalogue may have {MOST_ITEMS} items at most; this one would have {len(items)}."
            return PublishProblem("manifest", "manifest", message)
        if sent.capabilities is not None:
            proxy = self._keep_proxy(
                build_next_transitions(sent, items, known, self._read_transitions(proxy, tenant)), tenant
            )
        policies = self._next_policies(request, before, tenant)
        if isinstance(policies, PublishProblem):
            return policies
        after = CatalogueSnapshot(
            items=items,
            proxy=proxy,
            connections=build_next_connections(sent, before, prune=request.prune),
            discovery=before.discovery if sent.discovery is None else sent.discovery,
            audit=before.audit if sent.audit is None else sent.audit,
            switched_off=before.switched_off,
            policies=policies.digest,
            schedules=_next_schedules(request, before, origin),
            schedules_off=before.schedules_off,
        )
        changes = self._snapshot_changes(current, after, tenant)
        return changes if isinstance(changes, PublishProblem) else [*policies.changes, *changes]

    def read_rule_context(self, request: PublishRequest, known: KnownContent, tenant: str) -> "RuleContext | None":
        """Read the rules after the publication, with the entries that they can name. None if the request changes
        neither rules nor capabilities, or if there are no rules."""
        sent = request.catalogue
        if sent.policies is None and sent.capabilities is None:
            return None
        current = self.read_current(tenant)
        rules = self._rules.read_next(sent.policies, current.snapshot.policies, tenant, prune=request.prune)
        if not rules:
            return None
        from signpost.catalogue.publishing.rule_warnings import RuleContext  # noqa: PLC0415 - few tenants have rules

        items = build_next_items(sent, current, known, prune=request.prune)
        existing = self._read_transitions(current.snapshot.proxy, tenant)
        capabilities = build_next_transitions(sent, items, known, existing)
        named: dict[str, JsonObject] = {definition.id: {} for definition in sent.capabilities or ()}
        workflows = [name for item in items if item.kind == "workflow" for name in (item.id, item.title)]
        is_known = {definition.id for definition in sent.workflows or ()} <= set(workflows)
        return RuleContext(
            rules=rules,
            sent=list(sent.policies or ()),
            workflows=workflows if is_known else None,
            capabilities={**named, **capabilities},
            connections=[item.id.removeprefix("connection:") for item in items if item.kind == "connection"],
            checked=list(capabilities if sent.policies is not None else named),
        )

    def _next_policies(
        self, request: PublishRequest, before: CatalogueSnapshot, tenant: str
    ) -> NextPolicies | PublishProblem:
        sent = request.catalogue.policies
        if sent is None:
            return NextPolicies(before.policies, ())
        after = self._rules.build_next(sent, before.policies, tenant, prune=request.prune)
        return PublishProblem("policy", "policies", after) if isinstance(after, str) else after

    def _snapshot_changes(
        self, current: CurrentCatalogue, after: CatalogueSnapshot, tenant: str
    ) -> Sequence[Change] | PublishProblem:
        text = to_text(after)
        if (size := len(text.encode())) > LARGEST_CATALOGUE:
            message = (
                f"A catalogue may have {LARGEST_CATALOGUE} bytes at most; this one would have {size}. "
                "Shorten descriptions or publish fewer items."
            )
            return PublishProblem("manifest", "manifest", message)
        digest = self._values.keep(tenant, text)
        if digest == current.digest:
            return ()
        workflows = _workflow_changes(_startable_digests(current.snapshot), _startable_digests(after))
        wakes = _has_other_schedules(current.snapshot, after)
        return [*workflows, CatalogueChange(current.digest, digest, after.policies or None, wakes_schedules=wakes)]

    def find_schedule_problems(
        self, request: PublishRequest, known: KnownContent, current: CurrentCatalogue, origin: PublicationOrigin
    ) -> Sequence[PublishProblem]:
        """Find the problems of the schedules that the publication leaves, also of those that it does not send."""
        before, schedules = current.snapshot, _next_schedules(request, current.snapshot, origin)
        if not schedules:
            return ()
        items = build_next_items(request.catalogue, current, known, prune=request.prune)
        after = replace(before, items=items, schedules=schedules)
        return find_schedule_problems(request.catalogue, before, after, origin.publisher)

    def switch(self, workflow: str, tenant: str, *, enabled: bool) -> JsonObject | RegistryRefusal:
        """Switch a workflow on or off. It stays so when its author publishes again."""
        return retry_while_overtaken(lambda: self._switch(workflow, tenant, enabled=enabled))

    def _switch(self, workflow: str, tenant: str, *, enabled: bool) -> JsonObject | RegistryRefusal:
        current = self.read_current(tenant)
        item = current.items_of_kind("workflow").get(workflow)
        if item is None:
            return RegistryRefusal("not_found", _no_workflow_message(workflow, current))
        after = _switch_item(current.snapshot, item, enabled=enabled)
        answer: JsonObject = {"id": workflow, "enabled": enabled, "changed": item.switched_off == enabled}
        return self._replace(current, after, tenant) or answer

    def switch_schedule(self, schedule: str, tenant: str, now: str, *, enabled: bool) -> JsonObject | RegistryRefusal:
        """Switch a schedule on or off. It stays so when its author publishes again."""
        return retry_while_overtaken(lambda: self._switch_schedule(schedule, tenant, now, enabled=enabled))

    def _switch_schedule(self, schedule: str, tenant: str, now: str, *, enabled: bool) -> JsonObject | RegistryRefusal:
        current = self.read_current(tenant)
        schedules, was_off = current.snapshot.schedules, schedule in current.snapshot.schedules_off
        if schedule not in schedules:
            return RegistryRefusal(
                "not_found",
                f"There is no schedule {quote_text(schedule)}.{build_suggestion(schedule, schedules, quote_text)}",
            )
        after = switch_schedule(current.snapshot, schedule, now, enabled=enabled)
        answer: JsonObject = {"schedule": schedule, "enabled": enabled, "changed": was_off == enabled}
        return self._replace(current, after, tenant) or answer

    def _replace(self, current: CurrentCatalogue, after: CatalogueSnapshot, tenant: str) -> RegistryRefusal | None:
        """Make the snapshot the current one. Return the refusal if it is too large."""
        changes = self._snapshot_changes(current, after, tenant)
        if isinstance(changes, PublishProblem):
            return RegistryRefusal("too_much", changes.message)
        if changes:
            self._content.apply(tenant, changes)
        return None

    def plan(self, request: PublishRequest, current: CurrentCatalogue, tenant: str) -> PublicationPlan:
        sent, before = request.catalogue, current.snapshot
        rules = self._rules.compare(sent.policies, before.policies, tenant, prune=request.prune)
        schedules = compare_sent_schedules(sent.schedules, before, prune=request.prune)
        return {**_plan_entries(request, current), "policies": rules, "schedules": schedules}

    def _read_transitions(self, digest: str, tenant: str) -> Mapping[str, JsonObject]:
        """Read the transitions of the current capabilities, by name."""
        # Imported on first use: the modules of workflows are slow to import, and most publications do not need them.
        from signpost.workflow.proxy_default import transitions_in  # noqa: PLC0415

        return transitions_in(json.loads(self._definitions.read(tenant, digest))) if digest else {}

    def _keep_proxy(self, transitions: Mapping[str, JsonObject], tenant: str) -> str:
        from signpost.workflow.proxy_default import document_of  # noqa: PLC0415 - see _read_transitions
        from signpost.workflow.running.serialization import text_of  # noqa: PLC0415 - as above

        return self._definitions.keep(tenant, text_of(document_of(transitions))) if transitions else ""


def retry_while_overtaken[Result](attempt: Callable[[], Result]) -> Result:
    """Repeat an attempt while other requests change the catalogue between its read and its write."""
    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except Overtaken:
            continue
    raise Unavailable("Other requests kept changing the catalogue.")


def _no_workflow_message(name: str, current: CurrentCatalogue) -> str:
    others = [item.kind for item in current.snapshot.items if item.id == name]
    if others:
        return f"{quote_text(name)} is a {others[0]}; only workflows can be switched off and on."
    suggestion = build_suggestion(name, current.items_of_kind("workflow"), quote_text)
    return f"There is no workflow {quote_text(name)}.{suggestion}"


def _switch_item(snapshot: CatalogueSnapshot, item: CatalogueItem, *, enabled: bool) -> CatalogueSnapshot:
    off = {*snapshot.switched_off, item.id} - ({item.id} if enabled else set[str]())
    items = [replace(item, switched_off=not enabled) if other is item else other for other in snapshot.items]
    return replace(snapshot, items=items, switched_off=sorted(off))


def _plan_entries(request: PublishRequest, current: CurrentCatalogue) -> PublicationPlan:
    sent, prune = request.catalogue, request.prune
    return {
        "workflows": _compare_definitions(sent.workflows, current.items_of_kind("workflow"), prune=prune),
        "capabilities": _compare_definitions(sent.capabilities, current.items_of_kind("capability"), prune=prune),
        "connections": UNTOUCHED
        if sent.connections is None
        else compare_members(current.snapshot.connections, sent.connections, prune=prune),
    }


def _compare_definitions(
    named: Sequence[NamedDefinition] | None, before: Mapping[str, CatalogueItem], *, prune: bool
) -> Difference:
    if named is None:
        return UNTOUCHED
    digests = {item.id: item.definition for item in before.values()}
    return compare_entries(digests, {definition.id: definition.digest for definition in named}, prune=prune)


def _next_schedules(request: PublishRequest, before: CatalogueSnapshot, origin: PublicationOrigin) -> JsonObject:
    return build_next_schedules(request.catalogue, before, origin.publisher, origin.at, prune=request.prune)


def _has_other_schedules(before: CatalogueSnapshot, after: CatalogueSnapshot) -> bool:
    is_switched = list(before.schedules_off) != list(after.schedules_off)
    return is_switched or canonical_texts(before.schedules) != canonical_texts(after.schedules)


def _startable_digests(snapshot: CatalogueSnapshot) -> Mapping[str, str]:
    """Return the digests of the workflows that can be started, by id, including the workflow of all capabilities."""
    workflows = {item.id: item.definition for item in snapshot.items if item.kind == "workflow" and item.is_offered}
    return {**workflows, **({PROXY_WORKFLOW: snapshot.proxy} if snapshot.proxy else {})}


def _workflow_changes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[WorkflowChange]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield WorkflowChange(name, after.get(name))
