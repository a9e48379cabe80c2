"""Reads a folder of skill documents: `a/b.md` is the document `a/b`, and `a/index.md` is `a`.

A folder in it with a SKILL.md is an Agent Skill, with all its files.
"""

import os
import stat
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from signpost.adapters.regular_files import read_regular_file
from signpost.content.agent_skills.files import LARGEST_FILE, SKILL_FILE
from signpost.content.agent_skills.folders import (
    FoundFolders,
    FoundSkill,
    find_root,
    find_roots,
    id_of,
    parse_skill,
    problems_with_sizes,
)
from signpost.content.documents import LARGEST_BODY

SUFFIX = ".md"
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")
"""The suffixes of packed folders."""
INDEX = "index"
LINK = "is a link; put the file itself into the folder of the skill"
NOT_A_FILE = "is neither a file nor a folder"


def skills_in(folder: Path, name: str = "") -> FoundFolders:
    """Find the skills in a folder, in the order of their files.

    Links out of the folder are not followed, and hidden files are ignored. With a name, the folder itself may be an
    Agent Skill of that name. A folder that cannot be read is a problem: its documents would look as if they were gone.
    """
    try:
        return _find_skills(folder, name)
    except OSError as fault:
        return FoundFolders([], [f"{fault.filename}: cannot be read ({fault.strerror})"])


def _find_skills(folder: Path, name: str) -> FoundFolders:
    paths = {path.relative_to(folder).as_posix(): path for path in _find_files(folder)}
    roots = find_roots(list(paths))
    trees, documents = defaultdict[str, dict[str, Path]](dict), dict[str, Path]()
    for relative, path in paths.items():
        root = find_root(relative, roots)
        if root is None:
            documents[relative] = path
        else:
            trees[root][relative.removeprefix(f"{root}/")] = path
    found = [_read_tree(id_of(root, roots, name), folder / root, members) for root, members in trees.items()]
    found += [_read_document(relative, path) for relative, path in documents.items() if _is_document(path, folder)]
    return _drop_duplicates(found)


def list_unread_files(folder: Path) -> Sequence[Path]:
    """List the files that are neither documents nor part of an Agent Skill, without hidden ones. Raises OSError."""
    paths = {path.relative_to(folder).as_posix(): path for path in _find_files(folder)}
    roots = find_roots(list(paths))
    alone = [path for relative, path in paths.items() if find_root(relative, roots) is None]
    return [path for path in alone if not _is_document(path, folder)]


def text_of(path: Path) -> str:
    """Return the file's text unchanged, but without a byte order mark. Raises UnicodeDecodeError and OSError."""
    return read_regular_file(path, LARGEST_BODY + len(BOM_UTF8)).decode("utf-8-sig")


def is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _find_files(folder: Path) -> Iterator[Path]:
    """Yield every path that is not hidden and not a folder; a link to a folder counts as a file."""
    found = list[Path]()
    for parent, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not is_hidden(name)]
        paths = (Path(parent, name) for name in (*folders, *files) if not is_hidden(name))
        found += (path for path in paths if path.is_symlink() or not path.is_dir())
    yield from sorted(found)


def _raise(fault: OSError) -> None:
    raise fault


def _is_document(path: Path, folder: Path) -> bool:
    if path.suffix != SUFFIX or not path.is_file():
        return False
    # Only the last part of the path may be a link: no link to a folder was followed.
    return not path.is_symlink() or path.resolve().is_relative_to(folder.resolve())


def _read_document(relative: str, path: Path) -> FoundSkill | Sequence[str]:
    parts = relative.removesuffix(SUFFIX).split("/")
    skill_id = "/".join(parts[:-1] if parts[-1] == INDEX else parts)
    try:
        return FoundSkill(skill_id, str(path), text_of(path), {})
    except OSError as fault:
        return [f"{path}: cannot be read ({fault.strerror})"]
    except UnicodeDecodeError as fault:
        return [f"{path}: is not valid UTF-8 (at byte {fault.start})"]


def _read_tree(skill_id: str, folder: Path, members: Mapping[str, Path]) -> FoundSkill | Sequence[str]:
    if not skill_id:
        return [f"{folder / SKILL_FILE}: put the skill into a folder of its own with the name of the skill"]
    irregular = [
        f"{folder}: {path!r} {problem}" for path, file in members.items() if (problem := _problem_with_file(file))
    ]
    sizes = {path: file.lstat().st_size for path, file in members.items()}
    if problems := [*irregular, *(f"{folder}: {problem}" for problem in problems_with_sizes(sizes))]:
        return problems
    try:
        contents = {path: _read_file(file) for path, file in members.items()}
    except OSError as fault:
        return [f"{fault.filename}: cannot be read ({fault.strerror})"]
    found = parse_skill(skill_id, str(folder), contents)
    return found if isinstance(found, FoundSkill) else [f"{folder}: {problem}" for problem in found]


def _problem_with_file(path: Path) -> str | None:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return LINK
    return None if stat.S_ISREG(mode) else NOT_A_FILE


def _read_file(path: Path) -> bytes:
    """Read a file, no more than a file may have, without following a link or waiting for a pipe.

    It was a regular file when it was checked, but may have been replaced since.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read(LARGEST_FILE)


def _drop_duplicates(found: Sequence[FoundSkill | Sequence[str]]) -> FoundFolders:
    skills, problems = dict[str, FoundSkill](), list[str]()
    for skill in found:
        if not isinstance(skill, FoundSkill):
            problems += skill
        elif skill.id in skills:
            problems.append(f"{skill.place}: the document {skill.id!r} is already in {skills[skill.id].place}")
        else:
            skills[skill.id] = skill
    return FoundFolders(list(skills.values()), problems)
