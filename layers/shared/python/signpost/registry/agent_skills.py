"""Skill documents as Agent Skills: `skill://<id>/SKILL.md`, digests, and directories that follow from the ids.

A document below another one is also a file of that one, because its directory lies in the other's.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

from signpost.content import Manifest, Skill
from signpost.errors import Unavailable
from signpost.model import AgentSkill, JsonObject, ListedSkill, SkillFile
from signpost.registry import manifests
from signpost.registry.callers import Caller
from signpost.registry.manifests import FORM, is_agent_skill
from signpost.registry.names import problem_with_skill_id
from signpost.registry.skills import Skills

SCHEME = "skill://"
SKILL_FILE = "/SKILL.md"
MOST_FILES = 512
LARGEST_SKILL = 16 * 1024 * 1024
"""Bytes. No client has to take a skill that is larger or has more files, so that no server should serve one."""
REMEMBERED_MANIFESTS = 10_000


@dataclass(frozen=True, slots=True)
class Child:
    """What is directly in a directory: another one, or SKILL.md with its front matter."""

    uri: str
    name: str
    front_matter: JsonObject | None = None


def uri_of(skill_id: str) -> str:
    return f"{SCHEME}{skill_id}{SKILL_FILE}"


def id_in(uri: str) -> str | None:
    """The id in the URI of a SKILL.md, taken as it is; None for any other URI."""
    if not (uri.startswith(SCHEME) and uri.endswith(SKILL_FILE)):
        return None
    skill_id = uri.removeprefix(SCHEME).removesuffix(SKILL_FILE)
    return skill_id if problem_with_skill_id(skill_id) is None and is_agent_skill(skill_id) else None


class _Tree:
    """The documents whose ids are names of Agent Skills, in the order of their ids. All that lies below an id stands in
    one piece, which begins at `id/` and ends before `id0`: `0` is the character after the slash."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._all = [skill for skill in skills if is_agent_skill(skill.id)]
        self._ids = [skill.id for skill in self._all]
        self._sizes = [0, *accumulate(map(_size, self._all))]

    def skills(self) -> Sequence[Skill]:
        return [skill for skill in self._all if self._is_servable(skill)]

    def skill(self, skill_id: str) -> Skill | None:
        found = self.document(skill_id)
        return found if found is not None and self._is_servable(found) else None

    def document(self, skill_id: str) -> Skill | None:
        place = bisect_left(self._ids, skill_id)
        return self._all[place] if self._ids[place : place + 1] == [skill_id] else None

    def below(self, skill_id: str) -> Sequence[Skill]:
        start, end = self._reach(skill_id)
        return self._all[start:end]

    def _is_servable(self, skill: Skill) -> bool:
        start, end = self._reach(skill.id)
        return end - start < MOST_FILES and _size(skill) + self._sizes[end] - self._sizes[start] <= LARGEST_SKILL

    def _reach(self, skill_id: str) -> tuple[int, int]:
        start = bisect_left(self._ids, f"{skill_id}/")
        return start, bisect_left(self._ids, f"{skill_id}0", start)


class AgentSkills:
    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._made: dict[tuple[str, str], Manifest] = {}

    def all(self, caller: Caller) -> Sequence[ListedSkill]:
        tree = _Tree(self._skills.all(caller))
        return [ListedSkill(uri_of(skill.id), partial(self._described, skill, tree, caller)) for skill in tree.skills()]

    def get(self, uri: str, caller: Caller) -> AgentSkill | None:
        """As it is now: who asks may have read a file that was changed since the skill was listed."""
        skill_id = id_in(uri)
        if skill_id is None:
            return None
        now = replace(caller, fresh=True)
        tree = _Tree(self._skills.all(now))
        skill = tree.skill(skill_id)
        return None if skill is None else self._described(skill, tree, now)

    def read(self, uri: str, caller: Caller) -> str | None:
        skill_id = id_in(uri)
        found = None if skill_id is None else self._skills.stored(skill_id, caller)
        return None if found is None else manifests.text_of(*found)

    def directory(self, uri: str, caller: Caller) -> Sequence[Child] | None:
        path = uri.removeprefix(SCHEME)
        if path == uri or not is_agent_skill(path):
            return None
        tree = _Tree(self._skills.all(caller))
        document, below = tree.document(path), tree.below(path)
        own = [] if document is None else [self._skill_file(document, caller)]
        # A dictionary keeps the order and each name once: many documents may lie in one directory.
        names = dict.fromkeys(nested.id[len(path) + 1 :].partition("/")[0] for nested in below)
        return [*own, *(Child(f"{SCHEME}{path}/{name}", name) for name in names)] or None

    def _described(self, skill: Skill, tree: _Tree, caller: Caller) -> AgentSkill:
        files = [skill, *tree.below(skill.id)]
        own, *nested = [self._manifest_of(file, caller) for file in files]
        return AgentSkill(
            uri=uri_of(skill.id),
            front_matter=manifests.front_matter_of(skill, own),
            files=[
                SkillFile(uri_of(file.id), manifest.digest, manifest.size)
                for file, manifest in zip(files, (own, *nested), strict=True)
            ],
        )

    def _skill_file(self, skill: Skill, caller: Caller) -> Child:
        fields = manifests.front_matter_of(skill, self._manifest_of(skill, caller))
        return Child(uri_of(skill.id), str(fields["name"]), fields)

    def _manifest_of(self, skill: Skill, caller: Caller) -> Manifest:
        """From its row; from its body if the row was written under other rules or none."""
        if skill.manifest is not None and skill.manifest.form == FORM:
            return skill.manifest
        key = skill.id, skill.digest
        if key not in self._made:
            if len(self._made) >= REMEMBERED_MANIFESTS:
                self._made.clear()
            self._made[key] = self._made_anew(skill, caller)
        return self._made[key]

    def _made_anew(self, skill: Skill, caller: Caller) -> Manifest:
        stored = self._skills.stored(skill.id, caller)
        manifest = None if stored is None else manifests.manifest_of(*stored)
        if stored is None or manifest is None or stored[0].digest != skill.digest:
            raise Unavailable(f"The skill {skill.id} was changed while it was being described.")
        return manifest


def _size(skill: Skill) -> int:
    return skill.size if skill.manifest is None else skill.manifest.size
