"""Publications: everything that an author has, as one change that is seen whole or not at all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace

from signpost.content import (
    CatalogueChange,
    Change,
    PromptChange,
    Skill,
    SkillChange,
    StoredPrompt,
    SubscriberKind,
    Subscription,
    SubscriptionChange,
)
from signpost.model import Json, JsonObject
from signpost.ports import Bodies, ContentStore, Timestamps
from signpost.records import dataclass
from signpost.registry import catalogue_publisher, payloads, subscriptions
from signpost.registry.callers import Caller
from signpost.registry.catalogue_publisher import CataloguePublisher, anew_while_overtaken
from signpost.registry.differences import UNTOUCHED, Difference, Plan, difference
from signpost.registry.manifest import Document, Manifest, Problem, read, refusal_for
from signpost.registry.parts import Parts, Seen
from signpost.registry.refusals import Refused
from signpost.registry.sent_files import NamedFile, listed

SUBSCRIBED = ("triggers", "webhooks")

SWITCH = "manifest::switch"

type Answer = Json | Refused


class Publisher:
    def __init__(
        self, *, content: ContentStore, bodies: Bodies, catalogues: CataloguePublisher, timestamps: Timestamps
    ) -> None:
        self._content = content
        self._catalogues = catalogues
        self._bodies = bodies
        self._timestamps = timestamps
        self._parts = Parts(bodies)

    def plan(self, manifest: Manifest, tenant: str | None) -> Plan:
        """What a publication would do. Nothing changes."""
        plan = self._plan(manifest, self._skills(tenant, manifest), tenant)
        if tenant is None or manifest.said.is_nothing:
            return plan
        return {**plan, **self._catalogues.plan(manifest, self._catalogues.current(tenant), tenant)}

    def unsent(self, manifest: Manifest, tenant: str | None) -> Sequence[NamedFile]:
        """The files whose bodies have to be sent before the publication."""
        seen = self._parts.seen(manifest, self._skills(tenant, manifest), tenant)
        return seen.unsent(manifest) if isinstance(seen, Seen) else ()

    def keep(self, manifest: Manifest, tenant: str | None) -> str:
        """Keeps the bodies. Answers the part that a publication names."""
        if manifest.definitions is not None and tenant is not None:
            self._catalogues.keep(manifest.definitions, tenant)
        return self._parts.keep(manifest, tenant)

    def publish(self, manifest: Manifest, tenant: str | None) -> JsonObject | Sequence[Problem]:
        """All of it or nothing. What is the same is registered again too: its time is that of the publication, and
        whoever follows the changes hears of it; a workflow is told of only if it is another one."""
        return anew_while_overtaken(lambda: self._published(manifest, tenant))

    def _published(self, manifest: Manifest, tenant: str | None) -> JsonObject | Sequence[Problem]:
        there = self._skills(tenant, manifest)
        seen = self._parts.seen(manifest, there, tenant)
        if isinstance(seen, Problem):
            return [seen]
        catalogue = self._catalogue(manifest, seen, tenant)
        problems = (*_problems(manifest, seen), *self._too_many(manifest, tenant), *catalogue.problems)
        if problems:
            return problems
        self._keep_new(manifest, there, tenant)
        plan = self._plan(manifest, there, tenant)
        now = self._timestamps.now()
        changes = [
            *_registrations(manifest, seen, now),
            *(SkillChange(skill_id, None) for skill_id in plan["skills"].removed),
            *(PromptChange(name, None) for name in plan["prompts"].removed),
            *(SubscriptionChange(name, None) for kind in SUBSCRIBED for name in plan[kind].removed),
            *catalogue.changes,
        ]
        sequences = self._content.apply(tenant, changes) if changes else ()
        done = {**shown({**plan, **catalogue.plan}), "registered_at": now}
        return {**done, "sequence": _last_told(changes, sequences)}

    def _catalogue(self, manifest: Manifest, seen: Seen, tenant: str | None) -> "_Catalogue":
        """The part of a publication that is of the catalogue."""
        if manifest.said.is_nothing:
            return _Catalogue()
        if tenant is None:
            return _Catalogue([Problem("manifest", "manifest", "Workflows and capabilities are a tenant's.")])
        current = self._catalogues.current(tenant)
        if problems := catalogue_publisher.unsent(manifest.said, seen, current):
            return _Catalogue(problems)
        changes = self._catalogues.changes(manifest, seen, current, tenant)
        if isinstance(changes, Problem):
            return _Catalogue([changes])
        return _Catalogue(changes=changes, plan=self._catalogues.plan(manifest, current, tenant))

    def switch(self, workflow: str, tenant: str, *, enabled: bool) -> JsonObject | Refused:
        return self._catalogues.switch(workflow, tenant, enabled=enabled)

    def subscriptions(self, tenant: str | None) -> Sequence[Subscription]:
        return self._content.subscriptions(tenant)

    def _keep_new(self, manifest: Manifest, there: Mapping[str, Skill], tenant: str | None) -> None:
        """Bodies go first: a row without its body must never be seen."""
        for one in manifest.skills or ():
            if one.body is not None and (one.id not in there or there[one.id].digest != one.digest):
                self._bodies.keep(tenant, one.digest, one.body.encode())
        self._parts.keep_files(manifest, tenant)

    def _skills(self, tenant: str | None, manifest: Manifest) -> Mapping[str, Skill]:
        """What the tenant has itself: what is shipped to it is not its to change."""
        return {skill.id: skill for skill in self._content.skills(tenant)} if manifest.skills is not None else {}

    def _plan(self, manifest: Manifest, there: Mapping[str, Skill], tenant: str | None) -> Plan:
        return {
            "skills": self._difference_of_skills(manifest, there),
            "prompts": self._difference_of_prompts(manifest, tenant),
            **self._differences_of_subscriptions(manifest, tenant),
        }

    def _differences_of_subscriptions(self, manifest: Manifest, tenant: str | None) -> Plan:
        if manifest.triggers is None and manifest.webhooks is None:
            return dict.fromkeys(SUBSCRIBED, UNTOUCHED)
        there = self._content.subscriptions(tenant)
        return {
            "triggers": _difference_of(there, "trigger", manifest.triggers, prune=manifest.prune),
            "webhooks": _difference_of(there, "webhook", manifest.webhooks, prune=manifest.prune),
        }

    def _too_many(self, manifest: Manifest, tenant: str | None) -> Sequence[Problem]:
        plan = self._differences_of_subscriptions(manifest, tenant)
        added = sum(len(difference.added) - len(difference.removed) for difference in plan.values())
        if not added or len(self._content.subscriptions(tenant)) + added <= subscriptions.MOST_SUBSCRIPTIONS:
            return ()
        message = f"A tenant has {subscriptions.MOST_SUBSCRIPTIONS} triggers and webhooks at most."
        return [Problem("manifest", "manifest", message)]

    def _difference_of_skills(self, manifest: Manifest, there: Mapping[str, Skill]) -> Difference:
        if manifest.skills is None:
            return UNTOUCHED
        before = {skill.id: _compared(skill) for skill in there.values()}
        return difference(before, {one.id: _compared(one) for one in manifest.skills}, prune=manifest.prune)

    def _difference_of_prompts(self, manifest: Manifest, tenant: str | None) -> Difference:
        if manifest.prompts is None:
            return UNTOUCHED
        before = {prompt.name: _timeless(prompt) for prompt in self._content.prompts(tenant)}
        return difference(before, {one.name: _timeless(one) for one in manifest.prompts}, prune=manifest.prune)


@dataclass(frozen=True, slots=True)
class _Catalogue:
    problems: Sequence[Problem] = ()
    changes: Sequence[Change] = ()
    plan: Plan = field(default_factory=dict[str, Difference])


def _problems(manifest: Manifest, seen: Seen) -> Sequence[Problem]:
    return [Problem("skill", one.id, message) for one in manifest.skills or () for message in seen.problems_with(one)]


def _compared(skill: Skill | Document) -> tuple[str, Sequence[tuple[str, str]]]:
    """What makes it another one."""
    return skill.digest, sorted((file.path, file.digest) for file in skill.files)


def _registrations(manifest: Manifest, seen: Seen, now: str) -> Iterator[Change]:
    for one in manifest.skills or ():
        yield SkillChange(one.id, replace(seen.row_of(one), registered_at=now))
    for prompt in manifest.prompts or ():
        yield PromptChange(prompt.name, replace(prompt, registered_at=now))
    for one in (*(manifest.triggers or ()), *(manifest.webhooks or ())):
        yield SubscriptionChange(one.name, replace(one, registered_at=now))


def _last_told(changes: Sequence[Change], sequences: Sequence[int | None]) -> int | None:
    """The number of the last change that subscribers hear of."""
    untold = SubscriptionChange | CatalogueChange
    told = [one for change, one in zip(changes, sequences, strict=False) if not isinstance(change, untold)]
    return max((sequence for sequence in told if sequence is not None), default=None)


def _difference_of(
    there: Sequence[Subscription], kind: SubscriberKind, wanted: Sequence[Subscription] | None, *, prune: bool
) -> Difference:
    if wanted is None:
        return UNTOUCHED
    before = {one.name: replace(one, registered_at="") for one in there if one.kind == kind}
    return difference(before, {one.name: replace(one, registered_at="") for one in wanted}, prune=prune)


def _timeless(prompt: StoredPrompt) -> StoredPrompt:
    return replace(prompt, registered_at="", arguments=tuple(prompt.arguments))


def shown(plan: Plan) -> JsonObject:
    return {kind: asdict(difference) for kind, difference in plan.items()}


class ManifestFunctions:
    """Beside the thirteen, and on no list: what `signpost publish` calls."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._by_id: Mapping[str, Callable[[Manifest, Caller], Answer]] = {
            "manifest::bodies": self._keep,
            "manifest::plan": self._plan,
            "manifest::publish": self._publish,
            "manifest::subscriptions": self._subscriptions,
        }

    @property
    def ids(self) -> Sequence[str]:
        return [*self._by_id, SWITCH]

    def call(self, function_id: str, payload: Json, caller: Caller) -> Answer:
        """One of `ids`."""
        checked = payloads.payload_of(payload)
        if isinstance(checked, Refused):
            return checked
        if not payloads.is_encodable(checked):
            return Refused("invalid_content", "The payload has half of a surrogate pair, which no text can have.")
        if function_id == SWITCH:
            return self._switch(checked, caller)
        manifest = read(checked)
        return self._by_id[function_id](manifest, caller) if isinstance(manifest, Manifest) else refusal_for(manifest)

    def _switch(self, payload: JsonObject, caller: Caller) -> Answer:
        workflow, enabled = payload.get("id"), payload.get("enabled")
        if not isinstance(workflow, str) or not isinstance(enabled, bool) or caller.tenant is None:
            return Refused("invalid_payload", "To switch a workflow off or on again send {id: text, enabled: boolean}.")
        return self._publisher.switch(workflow, caller.tenant, enabled=enabled)

    def _keep(self, manifest: Manifest, caller: Caller) -> Answer:
        documents = manifest.skills or ()
        return {
            "part": self._publisher.keep(manifest, caller.tenant),
            "kept": [{"id": one.id, "digest": one.digest} for one in documents if one.body is not None],
        }

    def _plan(self, manifest: Manifest, caller: Caller) -> Answer:
        unsent = self._publisher.unsent(manifest, caller.tenant)
        return {**shown(self._publisher.plan(manifest, caller.tenant)), "unsent": listed(unsent)}

    def _subscriptions(self, _manifest: Manifest, caller: Caller) -> Answer:
        there = self._publisher.subscriptions(caller.tenant)
        return {
            f"{kind}s": [subscriptions.listed(one) for one in there if one.kind == kind]
            for kind in ("trigger", "webhook")
        }

    def _publish(self, manifest: Manifest, caller: Caller) -> Answer:
        published = self._publisher.publish(manifest, caller.tenant)
        return published if isinstance(published, Mapping) else refusal_for(published)
