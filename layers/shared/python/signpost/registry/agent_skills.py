"""Skill documents as Agent Skills: `skill://<id>/SKILL.md`, the files beside it, digests, and directories that follow
from ids and paths.

A document below another one is also a file of that one, because its directory lies in the other's. Where a file of the
outer one and one of the inner one have the same place, it is the inner one's.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

from signpost.content import AgentSkill, ListedSkill, Manifest, Skill, SkillFile, StoredFile
from signpost.errors import Unavailable
from signpost.records import dataclass
from signpost.registry import manifests
from signpost.registry.callers import Caller
from signpost.registry.manifests import FORM, is_agent_skill
from signpost.registry.markdown import MARKDOWN
from signpost.registry.names import problem_with_skill_id
from signpost.registry.skill_files import LARGEST_SKILL, MOST_FILES, SKILL_FILE, owners, path_in, uri_path
from signpost.registry.skills import Skills

SCHEME = "skill://"
DIRECTORY = "inode/directory"
REMEMBERED_MANIFESTS = 10_000


@dataclass(frozen=True, slots=True)
class Child:
    """What is directly in a directory: another one, SKILL.md, or a file beside it."""

    uri: str
    name: str
    mime_type: str = DIRECTORY
    description: str | None = None


def uri_of(skill_id: str) -> str:
    return f"{SCHEME}{skill_id}/{SKILL_FILE}"


def uri_of_file(skill_id: str, path: str) -> str:
    return f"{SCHEME}{skill_id}/{uri_path(path)}"


def id_in(uri: str) -> str | None:
    """The id in the URI of a SKILL.md, taken as it is; None for any other URI."""
    if not (uri.startswith(SCHEME) and uri.endswith(f"/{SKILL_FILE}")):
        return None
    skill_id = uri.removeprefix(SCHEME).removesuffix(f"/{SKILL_FILE}")
    return skill_id if _names_skill(skill_id) else None


def _names_skill(skill_id: str) -> bool:
    return problem_with_skill_id(skill_id) is None and is_agent_skill(skill_id)


def _path_in(uri: str) -> str | None:
    """Of a file or a directory."""
    return path_in(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else None


class _Tree:
    """The documents whose ids are names of Agent Skills, in the order of their ids. All that lies below an id stands in
    one piece, which begins at `id/` and ends before `id0`: `0` is the character after the slash."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._all = [skill for skill in skills if is_agent_skill(skill.id)]
        self._ids = [skill.id for skill in self._all]
        self._sizes = [0, *accumulate(map(_size, self._all))]
        self._counts = [0, *accumulate(map(_count, self._all))]

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

    def files_in(self, directory: str) -> Iterator[tuple[str, StoredFile]]:
        """With where they lie in it; those of the innermost skill first."""
        for skill_id, rest in ((directory, ""), *owners(directory)):
            skill, start = self.document(skill_id), f"{rest}/" if rest else ""
            for file in skill.files if skill is not None else ():
                if file.path.startswith(start):
                    yield file.path.removeprefix(start), file

    def _is_servable(self, skill: Skill) -> bool:
        start, end = self._reach(skill.id)
        count = _count(skill) + self._counts[end] - self._counts[start]
        return count <= MOST_FILES and _size(skill) + self._sizes[end] - self._sizes[start] <= LARGEST_SKILL

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

    def file(self, uri: str, caller: Caller) -> tuple[StoredFile, bytes] | None:
        """What is at the URI, if it is a file beside a SKILL.md."""
        path = _path_in(uri)
        found = (
            self._skills.file(skill_id, rest, caller) for skill_id, rest in owners(path or "") if _names_skill(skill_id)
        )
        return next((file for file in found if file is not None), None)

    def directory(self, uri: str, caller: Caller) -> Sequence[Child] | None:
        path = _path_in(uri)
        if not path or path.endswith("/"):
            return None
        tree = _Tree(self._skills.all(caller))
        document = tree.document(path)
        own = [] if document is None else [self._skill_file(document, caller)]
        # By name, so that each is there once: many documents and files may lie in one directory.
        children = {child.name: child for child in (_child(path, *one) for one in tree.files_in(path))}
        children |= {child.name: child for child in (_child(path, one.id[len(path) + 1 :]) for one in tree.below(path))}
        return [*own, *(children[name] for name in sorted(children))] or None

    def _described(self, skill: Skill, tree: _Tree, caller: Caller) -> AgentSkill:
        own, files = self._manifest_of(skill, caller), dict[str, SkillFile]()
        for one in (skill, *tree.below(skill.id)):
            manifest = self._manifest_of(one, caller)
            files[uri_of(one.id)] = SkillFile(uri_of(one.id), manifest.digest, manifest.size)
            for file in one.files:
                uri = uri_of_file(one.id, file.path)
                files[uri] = SkillFile(uri, file.digest, file.size)
        return AgentSkill(
            uri=uri_of(skill.id),
            front_matter=manifests.front_matter_of(skill, own),
            files=list(files.values()),
        )

    def _skill_file(self, skill: Skill, caller: Caller) -> Child:
        fields = manifests.front_matter_of(skill, self._manifest_of(skill, caller))
        return Child(uri_of(skill.id), str(fields["name"]), MARKDOWN, str(fields["description"]))

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


def _child(directory: str, rest: str, file: StoredFile | None = None) -> Child:
    """What the first part of a path in a directory is."""
    name, is_directory, _ = rest.partition("/")
    uri = f"{SCHEME}{uri_path(f'{directory}/{name}')}"
    return Child(uri, name) if file is None or is_directory else Child(uri, name, file.mime_type)


def _size(skill: Skill) -> int:
    own = skill.size if skill.manifest is None else skill.manifest.size
    return own + sum(file.size for file in skill.files)


def _count(skill: Skill) -> int:
    return 1 + len(skill.files)
