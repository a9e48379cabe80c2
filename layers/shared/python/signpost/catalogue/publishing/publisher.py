"""Publications: applies everything that an author sends as one atomic change."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING

from signpost.catalogue.publishing.catalogue import CataloguePublisher, PublicationOrigin, retry_while_overtaken
from signpost.catalogue.publishing.diff import UNTOUCHED, Difference, PublicationPlan, compare_entries
from signpost.catalogue.publishing.next_items import find_unknown_workflows, find_unsent_definitions
from signpost.catalogue.publishing.parts import KnownContent, Parts
from signpost.catalogue.publishing.publish_warnings import (
    ExistingNames,
    find_publication_warnings,
    problems_of,
)
from signpost.catalogue.publishing.reference_warnings import PublishedNames
from signpost.catalogue.publishing.request import (
    PublishProblem,
    PublishRequest,
    SentDocument,
)
from signpost.catalogue.publishing.sent_files import NamedFile
from signpost.content import subscriptions
from signpost.content.api.errors import RegistryRefusal
from signpost.content.changes import ENTRY_LISTS, SUBSCRIPTIONS, kind_of
from signpost.content.model import (
    Change,
    PromptChange,
    Skill,
    SkillChange,
    StoredPrompt,
    SubscriberKind,
    Subscription,
    SubscriptionChange,
)
from signpost.content.subscriptions import TRIGGER_KINDS, WEBHOOK_KINDS
from signpost.hazards.model import PublicationWarning, warnings_field
from signpost.model import JsonObject
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.catalogue.publishing.reference_warnings import ReferenceJudge
    from signpost.content.ports import Bodies, ContentStore
    from signpost.ports import Timestamps

SUBSCRIPTION_LISTS = [name for name, kind in ENTRY_LISTS.items() if kind is SUBSCRIPTIONS]


class Publisher:
    """Plans and applies publish requests."""

    def __init__(
        self,
        *,
        content: "ContentStore",
        bodies: "Bodies",
        catalogues: CataloguePublisher,
        timestamps: "Timestamps",
        references: "ReferenceJudge | None" = None,
    ) -> None:
        """`references` is None where nothing is known of the executors of a deployment: no reference is judged then."""
        self._references = references
        self._content = content
        self._catalogues = catalogues
        self._bodies = bodies
        self._timestamps = timestamps
        self._parts = Parts(bodies)

    def plan(self, request: PublishRequest, tenant: str | None) -> PublicationPlan:
        """Compute the changes that a publication would make, without making them."""
        plan = self._plan(request, self._skills(tenant, request), tenant)
        if tenant is None or request.catalogue.is_empty:
            return plan
        return {**plan, **self._catalogues.plan(request, self._catalogues.read_current(tenant), tenant)}

    def unsent_files(self, request: PublishRequest, tenant: str | None) -> Sequence[NamedFile]:
        """List the files of which the bodies must be sent before the publication."""
        known = self._parts.collect_known_content(request, self._skills(tenant, request), tenant)
        return known.unsent_files(request) if isinstance(known, KnownContent) else ()

    def keep(self, request: PublishRequest, tenant: str | None) -> str:
        """Store the bodies and definitions in the request. Returns the name of the part that a publication names."""
        if request.definitions is not None and tenant is not None:
            self._catalogues.keep(request.definitions, tenant)
        return self._parts.keep(request, tenant)

    def publish(self, request: PublishRequest, tenant: str | None) -> JsonObject | Sequence[PublishProblem]:
        """Publish all of the request or nothing. Unchanged entries are registered again too: they get the time of the
        publication, and subscribers receive their events. A workflow has an event only if it changed.

        A dry run has the same problems and warnings, and changes nothing."""
        return retry_while_overtaken(lambda: self._publish_once(request, tenant))

    def _publish_once(self, request: PublishRequest, tenant: str | None) -> JsonObject | Sequence[PublishProblem]:
        existing = self._skills(tenant, request)
        known = self._parts.collect_known_content(request, existing, tenant)
        if isinstance(known, PublishProblem):
            return [known]
        now = self._timestamps.now()
        catalogue = self._plan_catalogue(request, known, tenant, now)
        problems = (
            *_skill_problems(request, known),
            *self._subscription_problems(request, tenant),
            *self._trigger_problems(request, known, tenant),
            *catalogue.problems,
        )
        if problems:
            return problems
        warnings = self._find_warnings(request, known, existing, tenant)
        if request.strict and warnings:
            return problems_of(warnings)
        plan = self._plan(request, existing, tenant)
        if request.dry_run:
            return {**plan_as_json({**plan, **catalogue.plan}), **warnings_field(warnings)}
        self._keep_new(request, existing, tenant)
        changes = [
            *_registrations(request, known, now),
            *(kind.build(name, None) for part, kind in ENTRY_LISTS.items() for name in plan[part].removed),
            *catalogue.changes,
        ]
        sequences = self._content.apply(tenant, changes) if changes else ()
        result = {**plan_as_json({**plan, **catalogue.plan}), "registered_at": now}
        sequence: JsonObject = {"sequence": _last_event_sequence(changes, sequences)}
        return {**result, **sequence, **warnings_field(warnings)}

    def find_warnings(self, request: PublishRequest, tenant: str | None) -> Sequence[PublicationWarning]:
        """Find the warnings about a publication. Those about a body that the registry does not have yet are missing."""
        existing = self._skills(tenant, request)
        known = self._parts.collect_known_content(request, existing, tenant)
        return self._find_warnings(request, known, existing, tenant) if isinstance(known, KnownContent) else ()

    def _find_warnings(
        self, request: PublishRequest, known: KnownContent, existing: Mapping[str, Skill], tenant: str | None
    ) -> Sequence[PublicationWarning]:
        beside = self._names_beside(request, existing, tenant)
        found = find_publication_warnings(request, known.warnings, beside)
        return [*found, *self._judge_references(request, known, beside, tenant)]

    def _judge_references(
        self, request: PublishRequest, known: KnownContent, beside: ExistingNames, tenant: str | None
    ) -> Sequence[PublicationWarning]:
        """Judge the references of the bodies that were sent for this publication. References of shipped
        content are not judged: they lead to other shipped content."""
        if self._references is None or tenant is None:
            return ()
        names = PublishedNames(
            references=known.references,
            documents={*beside.skills, *(document.id for document in request.skills or ())},
            rules=self._catalogues.read_rule_context(request, known, tenant),
        )
        return list(dict.fromkeys(self._references.find_warnings(request, names, tenant)))

    def _names_beside(
        self, request: PublishRequest, existing: Mapping[str, Skill], tenant: str | None
    ) -> ExistingNames:
        """List the names that the publication leaves in place: those of the tenant, without pruned ones, and the
        shipped ones."""
        has_own = tenant is not None and not request.prune
        skills, prompts = list(existing) if has_own else [], list[str]()
        if request.skills is not None and tenant is not None:
            skills += (skill.id for skill in self._content.skills(None))
        if request.prompts is not None:
            scopes = ((tenant,) if has_own else ()) + ((None,) if tenant is not None else ())
            prompts += (prompt.name for scope in scopes for prompt in self._content.prompts(scope))
        return ExistingNames(skills, prompts, self._entries_beside(request, tenant))

    def _entries_beside(self, request: PublishRequest, tenant: str | None) -> Sequence[str]:
        if request.catalogue.is_empty or tenant is None:
            return ()
        sent = {"workflow": request.catalogue.workflows, "capability": request.catalogue.capabilities,
                "connection": request.catalogue.connections}  # fmt: skip
        items = self._catalogues.read_current(tenant).snapshot.items
        kept = [item for item in items if not request.prune or sent.get(item.kind) is None]
        return [item.id.removeprefix("connection:") if item.kind == "connection" else item.id for item in kept]

    def _plan_catalogue(
        self, request: PublishRequest, known: KnownContent, tenant: str | None, now: str
    ) -> "_CatalogueResult":
        """Compute the catalogue's part of a publication: problems, or changes and their plan."""
        if request.catalogue.is_empty:
            return _CatalogueResult()
        if tenant is None:
            return _CatalogueResult(
                [
                    PublishProblem(
                        "manifest", "manifest", "Workflows and capabilities belong to a tenant and cannot be shipped."
                    )
                ]
            )
        current = self._catalogues.read_current(tenant)
        if problems := find_unsent_definitions(request.catalogue, known, current):
            return _CatalogueResult(problems)
        origin = PublicationOrigin(tenant, request.publisher, now)
        if problems := self._catalogues.find_schedule_problems(request, known, current, origin):
            return _CatalogueResult(problems)
        changes = self._catalogues.build_changes(request, known, current, origin)
        if isinstance(changes, PublishProblem):
            return _CatalogueResult([changes])
        return _CatalogueResult(changes=changes, plan=self._catalogues.plan(request, current, tenant))

    def switch(self, workflow: str, tenant: str, *, enabled: bool) -> JsonObject | RegistryRefusal:
        return self._catalogues.switch(workflow, tenant, enabled=enabled)

    def switch_schedule(self, schedule: str, tenant: str, *, enabled: bool) -> JsonObject | RegistryRefusal:
        return self._catalogues.switch_schedule(schedule, tenant, self._timestamps.now(), enabled=enabled)

    def subscriptions(self, tenant: str | None) -> Sequence[Subscription]:
        return self._content.subscriptions(tenant)

    def _keep_new(self, request: PublishRequest, existing: Mapping[str, Skill], tenant: str | None) -> None:
        """Store the new bodies before the rows: no reader may find a row without its body."""
        for document in request.skills or ():
            is_new = document.id not in existing or existing[document.id].digest != document.digest
            if document.body is not None and is_new:
                self._bodies.keep(tenant, document.digest, document.body.encode())
        self._parts.keep_files(request, tenant)

    def _skills(self, tenant: str | None, request: PublishRequest) -> Mapping[str, Skill]:
        """Read the tenant's own skills by id, if the request names skills. A tenant cannot change shipped skills."""
        return {skill.id: skill for skill in self._content.skills(tenant)} if request.skills is not None else {}

    def _plan(self, request: PublishRequest, existing: Mapping[str, Skill], tenant: str | None) -> PublicationPlan:
        return {
            "skills": self._difference_of_skills(request, existing),
            "prompts": self._difference_of_prompts(request, tenant),
            **self._differences_of_subscriptions(request, tenant),
        }

    def _differences_of_subscriptions(self, request: PublishRequest, tenant: str | None) -> PublicationPlan:
        if request.triggers is None and request.webhooks is None:
            return dict.fromkeys(SUBSCRIPTION_LISTS, UNTOUCHED)
        existing = self._content.subscriptions(tenant)
        return {
            "triggers": _compare_subscriptions(existing, TRIGGER_KINDS, request.triggers, prune=request.prune),
            "webhooks": _compare_subscriptions(existing, WEBHOOK_KINDS, request.webhooks, prune=request.prune),
        }

    def _subscription_problems(self, request: PublishRequest, tenant: str | None) -> Sequence[PublishProblem]:
        plan = self._differences_of_subscriptions(request, tenant)
        added = sum(len(difference.added) - len(difference.removed) for difference in plan.values())
        if not added or len(self._content.subscriptions(tenant)) + added <= subscriptions.MOST_SUBSCRIPTIONS:
            return ()
        message = f"A tenant has {subscriptions.MOST_SUBSCRIPTIONS} triggers and webhooks at most. Remove some first."
        return [PublishProblem("manifest", "manifest", message)]

    def _trigger_problems(
        self, request: PublishRequest, known: KnownContent, tenant: str | None
    ) -> Sequence[PublishProblem]:
        """Find the triggers whose workflow does not exist after the publication."""
        named = [trigger for trigger in request.triggers or () if trigger.kind == "workflow"]
        if not named:
            return ()
        if tenant is None:
            message = "A workflow belongs to a tenant, so no shipped trigger can start it."
            return [PublishProblem("trigger", trigger.target, message) for trigger in named]
        current = self._catalogues.read_current(tenant)
        return find_unknown_workflows(request, known, current, [one.target for one in named])

    def _difference_of_skills(self, request: PublishRequest, existing: Mapping[str, Skill]) -> Difference:
        if request.skills is None:
            return UNTOUCHED
        before = {skill.id: _identity_of(skill) for skill in existing.values()}
        after = {document.id: _identity_of(document) for document in request.skills}
        return compare_entries(before, after, prune=request.prune)

    def _difference_of_prompts(self, request: PublishRequest, tenant: str | None) -> Difference:
        if request.prompts is None:
            return UNTOUCHED
        before = {prompt.name: _without_time(prompt) for prompt in self._content.prompts(tenant)}
        after = {prompt.name: _without_time(prompt) for prompt in request.prompts}
        return compare_entries(before, after, prune=request.prune)


@dataclass(frozen=True, slots=True)
class _CatalogueResult:
    problems: Sequence[PublishProblem] = ()
    changes: Sequence[Change] = ()
    plan: PublicationPlan = field(default_factory=dict[str, Difference])


def _skill_problems(request: PublishRequest, known: KnownContent) -> Sequence[PublishProblem]:
    return [
        PublishProblem("skill", document.id, message)
        for document in request.skills or ()
        for message in known.problems_with(document)
    ]


def _identity_of(skill: Skill | SentDocument) -> tuple[str, Sequence[tuple[str, str]]]:
    """Return the digests that a changed skill differs in: those of its body and of its files."""
    return skill.digest, sorted((file.path, file.digest) for file in skill.files)


def _registrations(request: PublishRequest, known: KnownContent, now: str) -> Iterator[Change]:
    for document in request.skills or ():
        yield SkillChange(document.id, replace(known.row_of(document), registered_at=now))
    for prompt in request.prompts or ():
        yield PromptChange(prompt.name, replace(prompt, registered_at=now))
    for subscription in (*(request.triggers or ()), *(request.webhooks or ())):
        yield SubscriptionChange(subscription.name, replace(subscription, registered_at=now))


def _last_event_sequence(changes: Sequence[Change], sequences: Sequence[int | None]) -> int | None:
    """Return the sequence number of the last change that has an event; None if no change has one."""
    with_event = [
        sequence for change, sequence in zip(changes, sequences, strict=False) if kind_of(change).event is not None
    ]
    return max((sequence for sequence in with_event if sequence is not None), default=None)


def _compare_subscriptions(
    existing: Sequence[Subscription],
    kinds: Sequence[SubscriberKind],
    sent: Sequence[Subscription] | None,
    *,
    prune: bool,
) -> Difference:
    if sent is None:
        return UNTOUCHED
    before = {entry.name: replace(entry, registered_at="") for entry in existing if entry.kind in kinds}
    return compare_entries(before, {entry.name: replace(entry, registered_at="") for entry in sent}, prune=prune)


def _without_time(prompt: StoredPrompt) -> StoredPrompt:
    return replace(prompt, registered_at="", arguments=tuple(prompt.arguments))


def plan_as_json(plan: PublicationPlan) -> JsonObject:
    return {kind: asdict(difference) for kind, difference in plan.items()}
