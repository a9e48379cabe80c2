"""Serves skill documents as Agent Skills: `skill://<id>/SKILL.md`, the files beside it, digests, and the directories
that follow from ids and paths.

A document below another one is also a file of the outer one, because its directory lies in the outer directory. If a
file of the outer document and a file of the inner document have the same path, the file of the inner one is served.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

from signpost.content.agent_skills import skill_md
from signpost.content.agent_skills.files import (
    LARGEST_SKILL,
    MOST_FILES,
    SKILL_FILE,
    path_in,
    possible_owners,
    uri_path,
)
from signpost.content.agent_skills.skill_md import FORM, is_agent_skill
from signpost.content.callers import Caller
from signpost.content.documents import Skills
from signpost.content.markdown import MARKDOWN
from signpost.content.model import AgentSkill, ListedSkill, Skill, SkillFile, SkillMd, StoredFile
from signpost.content.names import problem_with_skill_id
from signpost.errors import Unavailable
from signpost.records import dataclass

SCHEME = "skill://"
DIRECTORY = "inode/directory"
REMEMBERED_SKILL_MDS = 10_000


@dataclass(frozen=True, slots=True)
class DirectoryChild:
    """One entry of a directory: another directory, a SKILL.md, or a file beside it."""

    uri: str
    name: str
    mime_type: str = DIRECTORY
    description: str | None = None


def uri_of(skill_id: str) -> str:
    return f"{SCHEME}{skill_id}/{SKILL_FILE}"


def uri_of_file(skill_id: str, path: str) -> str:
    return f"{SCHEME}{skill_id}/{uri_path(path)}"


def id_in(uri: str) -> str | None:
    """Return the id in the URI of a SKILL.md, without decoding it; None for any other URI."""
    if not (uri.startswith(SCHEME) and uri.endswith(f"/{SKILL_FILE}")):
        return None
    skill_id = uri.removeprefix(SCHEME).removesuffix(f"/{SKILL_FILE}")
    return skill_id if _is_skill_name(skill_id) else None


def _is_skill_name(skill_id: str) -> bool:
    return problem_with_skill_id(skill_id) is None and is_agent_skill(skill_id)


def _path_in(uri: str) -> str | None:
    """Return the path in the URI of a file or a directory; None for any other URI."""
    return path_in(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else None


class _SkillTree:
    """The documents with ids that are names of Agent Skills, sorted by id. All documents below an id form one range,
    from `id/` to before `id0`, because `0` is the character after the slash."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._all = [skill for skill in skills if is_agent_skill(skill.id)]
        self._ids = [skill.id for skill in self._all]
        self._sizes = [0, *accumulate(map(_size, self._all))]
        self._counts = [0, *accumulate(map(_count, self._all))]

    def servable_skills(self) -> Sequence[Skill]:
        return [skill for skill in self._all if self._is_servable(skill)]

    def servable_skill(self, skill_id: str) -> Skill | None:
        skill = self.find_document(skill_id)
        return skill if skill is not None and self._is_servable(skill) else None

    def find_document(self, skill_id: str) -> Skill | None:
        position = bisect_left(self._ids, skill_id)
        return self._all[position] if self._ids[position : position + 1] == [skill_id] else None

    def skills_below(self, skill_id: str) -> Sequence[Skill]:
        start, end = self._range_below(skill_id)
        return self._all[start:end]

    def files_in(self, directory: str) -> Iterator[tuple[str, StoredFile]]:
        """List the files in a directory, each with its path in that directory; files of the innermost skill first."""
        for skill_id, rest in ((directory, ""), *possible_owners(directory)):
            skill, prefix = self.find_document(skill_id), f"{rest}/" if rest else ""
            for file in skill.files if skill is not None else ():
                if file.path.startswith(prefix):
                    yield file.path.removeprefix(prefix), file

    def _is_servable(self, skill: Skill) -> bool:
        start, end = self._range_below(skill.id)
        count = _count(skill) + self._counts[end] - self._counts[start]
        return count <= MOST_FILES and _size(skill) + self._sizes[end] - self._sizes[start] <= LARGEST_SKILL

    def _range_below(self, skill_id: str) -> tuple[int, int]:
        start = bisect_left(self._ids, f"{skill_id}/")
        return start, bisect_left(self._ids, f"{skill_id}0", start)


class AgentSkills:
    """Lists, describes and reads Agent Skills, their files and directories."""

    def __init__(self, skills: Skills) -> None:
        self._skills = skills
        self._skill_mds: dict[tuple[str, str], SkillMd] = {}

    def list_skills(self, caller: Caller) -> Sequence[ListedSkill]:
        tree = _SkillTree(self._skills.list_readable(caller))
        return [
            ListedSkill(uri_of(skill.id), partial(self._describe, skill, tree, caller))
            for skill in tree.servable_skills()
        ]

    def get(self, uri: str, caller: Caller) -> AgentSkill | None:
        """Describe the current state of a skill, without the usual lag: the client may already have read a file that
        was changed after the skill was listed."""
        skill_id = id_in(uri)
        if skill_id is None:
            return None
        fresh_caller = replace(caller, fresh=True)
        tree = _SkillTree(self._skills.list_readable(fresh_caller))
        skill = tree.servable_skill(skill_id)
        return None if skill is None else self._describe(skill, tree, fresh_caller)

    def read(self, uri: str, caller: Caller) -> str | None:
        skill_id = id_in(uri)
        document = None if skill_id is None else self._skills.read_document(skill_id, caller)
        return None if document is None else skill_md.text_of(*document)

    def read_file(self, uri: str, caller: Caller) -> tuple[StoredFile, bytes] | None:
        """Read a file beside a SKILL.md; None if the URI does not lead to one."""
        path = _path_in(uri)
        candidates = (
            self._skills.read_file(skill_id, rest, caller)
            for skill_id, rest in possible_owners(path or "")
            if _is_skill_name(skill_id)
        )
        return next((file for file in candidates if file is not None), None)

    def list_directory(self, uri: str, caller: Caller) -> Sequence[DirectoryChild] | None:
        path = _path_in(uri)
        if not path or path.endswith("/"):
            return None
        tree = _SkillTree(self._skills.list_readable(caller))
        document = tree.find_document(path)
        own = [] if document is None else [self._skill_md_child(document, caller)]
        # Keyed by name, so that each child is listed once: several documents and files may lie in one directory.
        children = {child.name: child for child in (_child_of(path, *entry) for entry in tree.files_in(path))}
        children |= {
            child.name: child
            for child in (_child_of(path, skill.id[len(path) + 1 :]) for skill in tree.skills_below(path))
        }
        return [*own, *(children[name] for name in sorted(children))] or None

    def _describe(self, skill: Skill, tree: _SkillTree, caller: Caller) -> AgentSkill:
        own, files = self._skill_md_of(skill, caller), dict[str, SkillFile]()
        for member in (skill, *tree.skills_below(skill.id)):
            member_md = self._skill_md_of(member, caller)
            files[uri_of(member.id)] = SkillFile(uri_of(member.id), member_md.digest, member_md.size)
            for file in member.files:
                uri = uri_of_file(member.id, file.path)
                files[uri] = SkillFile(uri, file.digest, file.size)
        return AgentSkill(
            uri=uri_of(skill.id),
            front_matter=skill_md.front_matter_of(skill, own),
            files=list(files.values()),
        )

    def _skill_md_child(self, skill: Skill, caller: Caller) -> DirectoryChild:
        fields = skill_md.front_matter_of(skill, self._skill_md_of(skill, caller))
        return DirectoryChild(uri_of(skill.id), str(fields["name"]), MARKDOWN, str(fields["description"]))

    def _skill_md_of(self, skill: Skill, caller: Caller) -> SkillMd:
        """Return the SKILL.md of a skill from its row, or build it from the body if the row has none or one that was
        built by other rules."""
        if skill.manifest is not None and skill.manifest.form == FORM:
            return skill.manifest
        key = skill.id, skill.digest
        if key not in self._skill_mds:
            if len(self._skill_mds) >= REMEMBERED_SKILL_MDS:
                self._skill_mds.clear()
            self._skill_mds[key] = self._rebuild_skill_md(skill, caller)
        return self._skill_mds[key]

    def _rebuild_skill_md(self, skill: Skill, caller: Caller) -> SkillMd:
        stored = self._skills.read_document(skill.id, caller)
        rebuilt = None if stored is None else skill_md.build_skill_md(*stored)
        if stored is None or rebuilt is None or stored[0].digest != skill.digest:
            raise Unavailable(f"The skill {skill.id} was changed while it was being described.")
        return rebuilt


def _child_of(directory: str, rest: str, file: StoredFile | None = None) -> DirectoryChild:
    """Return the child of a directory that the path `rest` in it begins with."""
    name, is_directory, _ = rest.partition("/")
    uri = f"{SCHEME}{uri_path(f'{directory}/{name}')}"
    return DirectoryChild(uri, name) if file is None or is_directory else DirectoryChild(uri, name, file.mime_type)


def _size(skill: Skill) -> int:
    own = skill.size if skill.manifest is None else skill.manifest.size
    return own + sum(file.size for file in skill.files)


def _count(skill: Skill) -> int:
    return 1 + len(skill.files)
