"""Publications: everything that an author has, as one change that is seen whole or not at all."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from signpost import content as stored
from signpost.content import Change, PromptChange, Skill, SkillChange, StoredPrompt
from signpost.model import Json, JsonObject
from signpost.ports import Bodies, ContentStore, Timestamps
from signpost.registry import payloads, skills
from signpost.registry.callers import Caller
from signpost.registry.manifest import Document, Manifest, Problem, digest_of, read, refusal_for
from signpost.registry.refusals import Refused

PART = "part-"
"""What the name of a part begins with: no body of a document is ever kept under such a name, so none can pose as one.
To whoever collects old bodies a part is a body that no row names."""
UNSEEN = "Its body was not sent, or somebody has changed it meanwhile: publish again."
LOST = "This part is not kept here: publish again."

type Answer = Json | Refused
type Seen = Mapping[tuple[str, str], Skill]
"""What is known here of documents, by id and digest."""


@dataclass(frozen=True, slots=True)
class Difference:
    added: Sequence[str]
    changed: Sequence[str]
    same: Sequence[str]
    removed: Sequence[str]


UNTOUCHED = Difference([], [], [], [])


def difference[Value](before: Mapping[str, Value], after: Mapping[str, Value], *, prune: bool) -> Difference:
    there = sorted(after.keys() & before.keys())
    return Difference(
        added=sorted(after.keys() - before.keys()),
        changed=[key for key in there if before[key] != after[key]],
        same=[key for key in there if before[key] == after[key]],
        removed=sorted(before.keys() - after.keys()) if prune else [],
    )


class Publisher:
    def __init__(self, *, content: ContentStore, bodies: Bodies, timestamps: Timestamps) -> None:
        self._content = content
        self._bodies = bodies
        self._timestamps = timestamps

    def plan(self, manifest: Manifest, tenant: str | None) -> tuple[Difference, Difference]:
        """What a publication would do to documents and prompts. Nothing changes."""
        return (
            self._difference_of_skills(manifest, self._skills(tenant, manifest)),
            self._difference_of_prompts(manifest, tenant),
        )

    def keep(self, documents: Sequence[Document], tenant: str | None) -> str:
        """Keeps the bodies. Answers the part that a publication names."""
        rows: list[JsonObject] = []
        for document in documents:
            if document.body is not None:
                rows.append(asdict(skills.described(document.id, document.body, "")))
                self._bodies.keep(tenant, document.digest, document.body.encode())
        part = json.dumps(rows, ensure_ascii=False)
        name = digest_of(part)
        self._bodies.keep(tenant, f"{PART}{name}", part.encode())
        return name

    def publish(self, manifest: Manifest, tenant: str | None) -> JsonObject | Sequence[Problem]:
        """All of it or nothing. What is the same is registered again too: its time is that of the publication, and
        whoever follows the changes hears of it."""
        there = self._skills(tenant, manifest)
        seen = self._seen(manifest, there, tenant)
        problems = seen if isinstance(seen, Sequence) else _unseen(manifest, seen)
        if problems or isinstance(seen, Sequence):
            return problems
        self._keep_new(manifest, there, tenant)
        of_skills = self._difference_of_skills(manifest, there)
        of_prompts = self._difference_of_prompts(manifest, tenant)
        now = self._timestamps.now()
        changes = [
            *_registrations(manifest, seen, now),
            *(SkillChange(skill_id, None) for skill_id in of_skills.removed),
            *(PromptChange(name, None) for name in of_prompts.removed),
        ]
        sequences = self._content.apply(tenant, changes) if changes else ()
        last = max((sequence for sequence in sequences if sequence is not None), default=None)
        return {**shown(of_skills, of_prompts), "registered_at": now, "sequence": last}

    def _seen(self, manifest: Manifest, there: Mapping[str, Skill], tenant: str | None) -> Seen | Sequence[Problem]:
        seen = {(skill.id, skill.digest): skill for skill in there.values()}
        for name in manifest.parts:
            try:
                seen.update(((skill.id, skill.digest), skill) for skill in self._part(name, tenant))
            except LookupError:
                return [Problem("manifest", name, LOST)]
        return seen

    def _part(self, name: str, tenant: str | None) -> Iterator[Skill]:
        rows = json.loads(self._bodies.read(tenant, f"{PART}{name}"))
        for row in rows:
            manifest = row.pop("manifest", None)
            yield Skill(**row, manifest=None if manifest is None else stored.Manifest(**manifest))

    def _keep_new(self, manifest: Manifest, there: Mapping[str, Skill], tenant: str | None) -> None:
        """Bodies go first: a row without its body must never be seen."""
        for one in manifest.skills or ():
            if one.body is not None and (one.id not in there or there[one.id].digest != one.digest):
                self._bodies.keep(tenant, one.digest, one.body.encode())

    def _skills(self, tenant: str | None, manifest: Manifest) -> Mapping[str, Skill]:
        """What the tenant has itself: what is shipped to it is not its to change."""
        return {skill.id: skill for skill in self._content.skills(tenant)} if manifest.skills is not None else {}

    def _difference_of_skills(self, manifest: Manifest, there: Mapping[str, Skill]) -> Difference:
        if manifest.skills is None:
            return UNTOUCHED
        before = {skill.id: skill.digest for skill in there.values()}
        return difference(before, {one.id: one.digest for one in manifest.skills}, prune=manifest.prune)

    def _difference_of_prompts(self, manifest: Manifest, tenant: str | None) -> Difference:
        if manifest.prompts is None:
            return UNTOUCHED
        before = {prompt.name: _timeless(prompt) for prompt in self._content.prompts(tenant)}
        return difference(before, {one.name: _timeless(one) for one in manifest.prompts}, prune=manifest.prune)


def _unseen(manifest: Manifest, seen: Seen) -> Sequence[Problem]:
    documents = manifest.skills or ()
    return [
        Problem("skill", one.id, UNSEEN) for one in documents if one.body is None and (one.id, one.digest) not in seen
    ]


def _registrations(manifest: Manifest, seen: Seen, now: str) -> Iterator[Change]:
    for one in manifest.skills or ():
        yield SkillChange(one.id, replace(_described(one, seen), registered_at=now))
    for prompt in manifest.prompts or ():
        yield PromptChange(prompt.name, replace(prompt, registered_at=now))


def _described(document: Document, seen: Seen) -> Skill:
    if document.body is None:
        return seen[document.id, document.digest]
    return skills.described(document.id, document.body, "")


def _timeless(prompt: StoredPrompt) -> StoredPrompt:
    return replace(prompt, registered_at="", arguments=tuple(prompt.arguments))


def shown(of_skills: Difference, of_prompts: Difference) -> JsonObject:
    return {"skills": asdict(of_skills), "prompts": asdict(of_prompts)}


class ManifestFunctions:
    """Beside the thirteen, and on no list: what `signpost publish` calls."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._by_id: Mapping[str, Callable[[Manifest, Caller], Answer]] = {
            "manifest::bodies": self._keep,
            "manifest::plan": self._plan,
            "manifest::publish": self._publish,
        }

    @property
    def ids(self) -> Sequence[str]:
        return list(self._by_id)

    def call(self, function_id: str, payload: Json, caller: Caller) -> Answer:
        """One of `ids`."""
        checked = payloads.payload_of(payload)
        if isinstance(checked, Refused):
            return checked
        manifest = read(checked)
        return self._by_id[function_id](manifest, caller) if isinstance(manifest, Manifest) else refusal_for(manifest)

    def _keep(self, manifest: Manifest, caller: Caller) -> Answer:
        documents = manifest.skills or ()
        return {
            "part": self._publisher.keep(documents, caller.tenant),
            "kept": [{"id": one.id, "digest": one.digest} for one in documents if one.body is not None],
        }

    def _plan(self, manifest: Manifest, caller: Caller) -> Answer:
        return shown(*self._publisher.plan(manifest, caller.tenant))

    def _publish(self, manifest: Manifest, caller: Caller) -> Answer:
        published = self._publisher.publish(manifest, caller.tenant)
        return published if isinstance(published, Mapping) else refusal_for(published)
