"""Folders in the Agent Skills format, as they were found somewhere: what is wrong with them, and what is in them."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.registry import manifests
from signpost.registry.names import problem_with_skill_id
from signpost.registry.refusals import quoted
from signpost.registry.skill_files import (
    LARGEST_FILE,
    LARGEST_SKILL,
    MOST_FILES,
    SKILL_FILE,
    collisions,
    is_skill_file,
    problem_with_file,
)


@dataclass(frozen=True, slots=True)
class FoundSkill:
    id: str
    place: str
    """Where it comes from, for whoever has to put something right."""
    body: str
    files: Mapping[str, bytes]
    """Beside the body, by their paths."""


@dataclass(frozen=True, slots=True)
class Found:
    skills: Sequence[FoundSkill]
    problems: Sequence[str]
    """Each with its place."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """What a deployment has for every tenant."""

    skills: Sequence[FoundSkill]
    prompts: Json
    problems: Sequence[str]

    def as_payload(self) -> JsonObject:
        """All that there is from now on, as a manifest."""
        files = [(path, body) for skill in self.skills for path, body in skill.files.items()]
        return {
            "skills": [_entry(skill) for skill in self.skills],
            "prompts": self.prompts,
            "files": [{"path": path, "base64": b64encode(body).decode()} for path, body in files],
            "prune": True,
        }


NOTHING_SHIPPED = Shipped([], [], [])


def _entry(skill: FoundSkill) -> JsonObject:
    named = [{"path": path, "digest": sha256(body).hexdigest()} for path, body in skill.files.items()]
    return {"id": skill.id, "skill": skill.body, "files": list[JsonObject](named)}


def roots_in(paths: Sequence[str]) -> frozenset[str]:
    """The folders that are skills."""
    return frozenset(path.removesuffix(SKILL_FILE).rstrip("/") for path in paths if _name(path) == SKILL_FILE)


def root_of(path: str, roots: frozenset[str]) -> str | None:
    """The innermost of these folders that it lies in; the folder of everything is called by no name."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in roots:
            return folder
    return None


def id_of(root: str, roots: frozenset[str], name: str) -> str:
    """Of the skill in a folder, where everything is in a folder of this name: if that is a skill, others lie in it."""
    return "/".join(part for part in ((name if "" in roots else ""), root) if part)


def folders_above(roots: frozenset[str]) -> frozenset[str]:
    """These folders and all that they lie in."""
    return frozenset(folder for root in roots for folder in accumulate(root.split("/"), "{}/{}".format))


def problems_with_sizes(sizes: Mapping[str, int]) -> Sequence[str]:
    """What is wrong with files of a skill before anybody reads them; by their paths, SKILL.md among them."""
    if len(sizes) > MOST_FILES:
        return [f"has {len(sizes)} files; a skill has {MOST_FILES} at most"]
    if (total := sum(sizes.values())) > LARGEST_SKILL:
        return [f"has {total} bytes; a skill has {LARGEST_SKILL} at most"]
    return list(_problems_with_files(sizes))


def _problems_with_files(sizes: Mapping[str, int]) -> Iterator[str]:
    for path, size in sizes.items():
        if path != SKILL_FILE and (why := problem_with_file(path)):
            yield f"{quoted(path)} {why}"
        elif size > LARGEST_FILE:
            yield f"{quoted(path)} has {size} bytes; a file has {LARGEST_FILE} at most"
    # What is spelled almost like SKILL.md was said already.
    others = [path for path in sizes if not is_skill_file(path)]
    yield from (f"{quoted(path)} {why}" for path, why in collisions(others))


def skill_of(skill_id: str, place: str, contents: Mapping[str, bytes]) -> FoundSkill | Sequence[str]:
    """The skill, or everything that is wrong with its SKILL.md."""
    try:
        body = contents[SKILL_FILE].decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        return [f"{SKILL_FILE} is no UTF-8 text (byte {fault.start})"]
    if problem := problem_with_skill_id(skill_id):
        return [problem]
    if not manifests.is_agent_skill(skill_id):
        return [f"{quoted(skill_id)} is no name of an Agent Skill: a-z and 0-9, and single - between them"]
    if problems := list(_problems_with_front_matter(skill_id, body)):
        return problems
    return FoundSkill(skill_id, place, body, {path: body for path, body in contents.items() if path != SKILL_FILE})


def _problems_with_front_matter(skill_id: str, body: str) -> Iterator[str]:
    found = manifests.front_matter_in(body)
    if found is None:
        yield f"{SKILL_FILE} must begin with a front matter: name and description as YAML between two lines of ---"
        return
    name, description = found[0].get("name"), found[0].get("description")
    if name != (called := _name(skill_id)):
        yield f"the name in {SKILL_FILE} is {quoted(str(name))}, but the skill is called {called}; make them the same"
    if not isinstance(description, str) or not description.strip():
        yield f"{SKILL_FILE} must have a description"
    elif len(description) > manifests.LONGEST_DESCRIPTION:
        yield f"the description in {SKILL_FILE} has more than {manifests.LONGEST_DESCRIPTION} characters"


def _name(path: str) -> str:
    return path.rpartition("/")[2]
