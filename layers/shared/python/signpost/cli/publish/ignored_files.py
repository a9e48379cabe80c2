"""Finds the files of a folder that are not read although their names or contents resemble those of files that are."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from signpost.adapters.skill_folder import SUFFIX, list_unread_files
from signpost.adapters.source_files import SUFFIXES, UnreadableFile, read_source
from signpost.cli.publish.collection import LISTS, SKILLS
from signpost.cli.publish.manifest_files import MANIFEST_FIELDS
from signpost.content.agent_skills.files import SKILL_FILE
from signpost.spelling import suggest_name
from signpost.workflow.authoring.problems import Problem, warning
from signpost.workflow.authoring.source_tree import SourcePlace

ALMOST_EQUAL = 85
"""The similarity from which a name counts as a mistyped one, of at most 100."""


def find_ignored_files(path: Path) -> Sequence[Problem]:
    """Find the files of a folder that look as if they were to be published, and are not read."""
    if not path.is_dir() or (path / SKILL_FILE).is_file():
        return ()
    return list(_find_in_folder(path))


def _find_in_folder(folder: Path) -> Iterator[Problem]:
    for path in sorted(folder.iterdir()):
        is_foreign = path.is_symlink() and not path.resolve().is_relative_to(folder.resolve())
        if path.name.startswith(".") or is_foreign:
            continue
        if path.is_dir():
            yield from _check_folder_name(path)
        elif path.suffix.lower() in SUFFIXES and path.is_file():
            yield from _check_file(path)
    if (folder / SKILLS).is_dir():
        with suppress(OSError):  # reported when the folder is read
            yield from map(_describe_unread, list_unread_files(folder / SKILLS))


def _check_folder_name(path: Path) -> Iterator[Problem]:
    if path.name != SKILLS and _find_similar(path.name, [SKILLS]) and any(path.rglob(f"*{SUFFIX}")):
        yield _warn_about(path, f"this folder is not read; did you mean {SKILLS!r}?")


def _check_file(path: Path) -> Iterator[Problem]:
    if path.suffix in SUFFIXES and path.stem in LISTS:
        return
    if (name := _find_similar(path.stem, LISTS)) is not None:
        yield _warn_about(path, f"this file is not read; did you mean {f'{name}{path.suffix.lower()}'!r}?")
    elif path.suffix in SUFFIXES:
        yield from _check_fields(path)


def _check_fields(path: Path) -> Iterator[Problem]:
    """Check the fields of a file that is no manifest for mistyped fields of manifests."""
    try:
        source = read_source(path)
    except UnreadableFile:
        return  # one that looks like a manifest is read as one, and reported
    if any(name in MANIFEST_FIELDS for name in source.members):
        return
    for name in source.members:
        if (field := _find_similar(name, MANIFEST_FIELDS)) is not None:
            message = f"this file is not read: {name!r} is no field of a manifest; did you mean {field!r}?"
            yield warning(source.place_of_name(name), message, "unread_setting")


def _describe_unread(path: Path) -> Problem:
    if path.suffix.lower() == SUFFIX and path.suffix != SUFFIX:
        return _warn_about(path, f"this file is not read; did you mean {path.with_suffix(SUFFIX).name!r}?")
    return _warn_about(
        path, f"this file is not read: documents end in {SUFFIX}, and other files belong to a {SKILL_FILE}"
    )


def _warn_about(path: Path, message: str) -> Problem:
    return warning(SourcePlace(str(path), 1, 1), message, "unread_setting")


def _find_similar(name: str, names: Iterable[str]) -> str | None:
    return suggest_name(name.lower(), names, ALMOST_EQUAL)
