"""A folder of skill documents: `a/b.md` is the document `a/b`, and `a/index.md` is `a`. A folder in it that has a
SKILL.md is an Agent Skill with everything in it."""

import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from signpost.registry.skill_files import LARGEST_FILE, SKILL_FILE
from signpost.registry.skill_trees import Found, FoundSkill, id_of, problems_with_sizes, root_of, roots_in, skill_of

SUFFIX = ".md"
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
"""What the name of a packed folder ends in."""
INDEX = "index"
LINK = "is a link; files of a skill lie in its folder"
NOT_A_FILE = "is neither a file nor a folder"


def skills_in(folder: Path, name: str = "") -> Found:
    """In the order of their files. What lies outside of the folder is not followed, and what is hidden does not count.
    With a name, the folder itself may be an Agent Skill, which is called so."""
    paths = {path.relative_to(folder).as_posix(): path for path in _entries(folder)}
    roots = roots_in(list(paths))
    trees, documents = defaultdict[str, dict[str, Path]](dict), dict[str, Path]()
    for relative, path in paths.items():
        root = root_of(relative, roots)
        if root is None:
            documents[relative] = path
        else:
            trees[root][relative.removeprefix(f"{root}/")] = path
    found = [_tree(id_of(root, roots, name), folder / root, members) for root, members in trees.items()]
    found += [_document(relative, path) for relative, path in documents.items() if _counts(path, folder)]
    return _each_once(found)


def text_of(path: Path) -> str:
    """To the letter, line ends included, but for a mark that some editors put in front. Raises UnicodeDecodeError."""
    return path.read_bytes().decode("utf-8-sig")


def is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _entries(folder: Path) -> Iterator[Path]:
    """Everything but folders; a link is no folder, wherever it leads."""
    for path in sorted(folder.rglob("*")):
        if not is_hidden(path.relative_to(folder).as_posix()) and (path.is_symlink() or not path.is_dir()):
            yield path


def _counts(path: Path, folder: Path) -> bool:
    return path.suffix == SUFFIX and path.is_file() and path.resolve().is_relative_to(folder.resolve())


def _document(relative: str, path: Path) -> FoundSkill | Sequence[str]:
    parts = relative.removesuffix(SUFFIX).split("/")
    skill_id = "/".join(parts[:-1] if parts[-1] == INDEX else parts)
    try:
        return FoundSkill(skill_id, str(path), text_of(path), {})
    except OSError as fault:
        return [f"{path}: cannot be read ({fault.strerror})"]
    except UnicodeDecodeError as fault:
        return [f"{path}: is no UTF-8 text (byte {fault.start})"]


def _tree(skill_id: str, folder: Path, members: Mapping[str, Path]) -> FoundSkill | Sequence[str]:
    if not skill_id:
        return [f"{folder / SKILL_FILE}: give the skill a folder of its own, called like the skill"]
    strange = [f"{folder}: {path!r} {why}" for path, one in members.items() if (why := _strangeness(one))]
    sizes = {path: one.lstat().st_size for path, one in members.items()}
    if problems := [*strange, *(f"{folder}: {why}" for why in problems_with_sizes(sizes))]:
        return problems
    try:
        contents = {path: _read(one) for path, one in members.items()}
    except OSError as fault:
        return [f"{fault.filename}: cannot be read ({fault.strerror})"]
    found = skill_of(skill_id, str(folder), contents)
    return found if isinstance(found, FoundSkill) else [f"{folder}: {why}" for why in found]


def _strangeness(path: Path) -> str | None:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return LINK
    return None if stat.S_ISREG(mode) else NOT_A_FILE


def _read(path: Path) -> bytes:
    """What was looked at a moment ago may be a link or a pipe by now. No more than a file may have is read."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read(LARGEST_FILE)


def _each_once(found: Sequence[FoundSkill | Sequence[str]]) -> Found:
    skills, problems = dict[str, FoundSkill](), list[str]()
    for one in found:
        if not isinstance(one, FoundSkill):
            problems += one
        elif one.id in skills:
            problems.append(f"{one.place}: {skills[one.id].place} is the document {one.id!r} already")
        else:
            skills[one.id] = one
    return Found(list(skills.values()), problems)
