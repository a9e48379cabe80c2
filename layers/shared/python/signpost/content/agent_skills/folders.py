"""Folders in the Agent Skills format: finding the skills in a list of paths, checking and parsing them."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import accumulate

from signpost.content.agent_skills import skill_md
from signpost.content.agent_skills.files import (
    LARGEST_FILE,
    LARGEST_SKILL,
    MOST_FILES,
    SKILL_FILE,
    find_collisions,
    is_skill_file,
    problem_with_file,
)
from signpost.content.api.errors import quote_text
from signpost.content.names import problem_with_skill_id
from signpost.model import Json, JsonObject
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class FoundSkill:
    id: str
    place: str
    """The location of its folder, for messages to the author."""
    body: str
    files: Mapping[str, bytes]
    """The files beside SKILL.md, by path."""


@dataclass(frozen=True, slots=True)
class FoundFolders:
    skills: Sequence[FoundSkill]
    problems: Sequence[str]
    """Messages, each with the place of the problem."""


@dataclass(frozen=True, slots=True)
class ShippedContent:
    """The documents and prompts that a deployment provides to every tenant."""

    skills: Sequence[FoundSkill]
    prompts: Json
    problems: Sequence[str]

    def as_payload(self) -> JsonObject:
        """Build the payload of a publish request that replaces all shipped content."""
        files = [(path, body) for skill in self.skills for path, body in skill.files.items()]
        return {
            "skills": [_payload_entry(skill) for skill in self.skills],
            "prompts": self.prompts,
            "files": [{"path": path, "base64": b64encode(body).decode()} for path, body in files],
            "prune": True,
        }


NOTHING_SHIPPED = ShippedContent([], [], [])


def _payload_entry(skill: FoundSkill) -> JsonObject:
    files = [{"path": path, "digest": sha256(body).hexdigest()} for path, body in skill.files.items()]
    return {"id": skill.id, "skill": skill.body, "files": list[JsonObject](files)}


def find_roots(paths: Sequence[str]) -> frozenset[str]:
    """Find the folders that are skills: those that contain a SKILL.md."""
    return frozenset(path.removesuffix(SKILL_FILE).rstrip("/") for path in paths if _name(path) == SKILL_FILE)


def find_root(path: str, roots: frozenset[str]) -> str | None:
    """Find the innermost of these folders that contains the path. The outermost folder is the empty text."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in roots:
            return folder
    return None


def id_of(root: str, roots: frozenset[str], name: str) -> str:
    """Return the id of the skill in a folder. `name` is the name of the outermost folder. If the outermost folder is
    itself a skill, the ids of all other skills begin with that name."""
    return "/".join(part for part in ((name if "" in roots else ""), root) if part)


def folders_above(roots: frozenset[str]) -> frozenset[str]:
    """Return these folders and all folders above them."""
    return frozenset(folder for root in roots for folder in accumulate(root.split("/"), "{}/{}".format))


def problems_with_sizes(sizes: Mapping[str, int]) -> Sequence[str]:
    """Return the problems with a skill's files that show before the files are read. The sizes are by path and include
    SKILL.md."""
    if len(sizes) > MOST_FILES:
        return [f"has {len(sizes)} files; a skill may have {MOST_FILES} at most"]
    if (total := sum(sizes.values())) > LARGEST_SKILL:
        return [f"has {total} bytes; a skill may have {LARGEST_SKILL} at most"]
    return list(_problems_with_files(sizes))


def _problems_with_files(sizes: Mapping[str, int]) -> Iterator[str]:
    for path, size in sizes.items():
        if path != SKILL_FILE and (problem := problem_with_file(path)):
            yield f"{quote_text(path)} {problem}"
        elif size > LARGEST_FILE:
            yield f"{quote_text(path)} has {size} bytes; a file may have {LARGEST_FILE} at most"
    # `problem_with_file` already reports paths that are spelled almost like SKILL.md.
    others = [path for path in sizes if not is_skill_file(path)]
    yield from (f"{quote_text(path)} {problem}" for path, problem in find_collisions(others))


def parse_skill(skill_id: str, place: str, contents: Mapping[str, bytes]) -> FoundSkill | Sequence[str]:
    """Parse the contents of a folder into a skill, or return all problems with its SKILL.md."""
    try:
        body = contents[SKILL_FILE].decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        return [f"{SKILL_FILE} is not valid UTF-8 (at byte {fault.start})"]
    if problem := problem_with_skill_id(skill_id):
        return [problem]
    if not skill_md.is_agent_skill(skill_id):
        return [f"{quote_text(skill_id)} is not a name of an Agent Skill: use a-z, 0-9 and single hyphens between"]
    if problems := list(_problems_with_front_matter(skill_id, body)):
        return problems
    return FoundSkill(skill_id, place, body, {path: body for path, body in contents.items() if path != SKILL_FILE})


def _problems_with_front_matter(skill_id: str, body: str) -> Iterator[str]:
    parsed = skill_md.front_matter_in(body)
    if parsed is None:
        yield f"{SKILL_FILE} must begin with a front matter: name and description as YAML between two lines of ---"
        return
    name, description = parsed[0].get("name"), parsed[0].get("description")
    if name != (expected := _name(skill_id)):
        yield (
            f"the name in {SKILL_FILE} is {quote_text(str(name))}, but the skill is called {expected}; "
            "make them the same"
        )
    if not isinstance(description, str) or not description.strip():
        yield f"{SKILL_FILE} must have a description"
    elif len(description) > skill_md.LONGEST_DESCRIPTION:
        yield f"the description in {SKILL_FILE} has more than {skill_md.LONGEST_DESCRIPTION} characters"


def _name(path: str) -> str:
    return path.rpartition("/")[2]
