"""Reads an archive of Agent Skills: each folder in it with a SKILL.md is one skill.

The archive is unpacked in memory, at most to the size that skills may have. Links and devices are refused, and modes
and owners are ignored.
"""

import gzip
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import IO, Protocol, cast

from signpost.adapters.skill_folder import ARCHIVES, is_hidden
from signpost.content.agent_skills.files import LARGEST_FILE, SKILL_FILE, problem_with_path
from signpost.content.agent_skills.folders import (
    FoundFolders,
    FoundSkill,
    find_root,
    find_roots,
    folders_above,
    id_of,
    parse_skill,
    problems_with_sizes,
)
from signpost.content.api.errors import quote_text
from signpost.records import dataclass

MOST_ENTRIES = 4096
LARGEST_ARCHIVE = LARGEST_UNPACKED = 64 * 1024 * 1024
LARGEST_RATIO = 200
"""The largest ratio of unpacked to packed size, for an archive that unpacks to more than a megabyte."""
ALWAYS_UNPACKED = 1024 * 1024
LONGEST_TAR = LARGEST_UNPACKED + 2048 * MOST_ENTRIES
"""Bytes of an unpacked tar stream, with its headers."""

LINK = "is a link"
NOT_A_FILE = "is neither a file nor a folder"
ENCRYPTED = "is encrypted"
OTHER_SIZE = "differs in size from the size stated in the archive"
_ENCRYPTED_BITS = 0x1 | 0x40 | 0x2000
_COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE_ERRORS = (
    OSError, EOFError, ValueError, RuntimeError, NotImplementedError, OverflowError,
    struct.error, zlib.error, zipfile.BadZipFile, tarfile.TarError,
)  # fmt: skip


class _ArchiveTooLarge(Exception):  # noqa: N818 - named after the failure
    """Raised when an archive exceeds a limit; the message names the limit."""


@dataclass(frozen=True, slots=True)
class _ArchiveEntry:
    name: str
    size: int
    """The size that the archive states."""
    problem: str | None
    read: Callable[[int], bytes]
    """Reads at most a number of bytes."""
    is_folder: bool = False


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def skills_in_archive(path: Path) -> FoundFolders:
    """Find the skills in an archive, a file with a name that ends in one of ARCHIVES."""
    name = next(path.name.removesuffix(suffix) for suffix in ARCHIVES if path.name.endswith(suffix))
    unpacked = _UnpackedArchive()
    try:
        largest = _largest_unpacked(path.stat().st_size)
        with path.open("rb") as file:
            for member in _zip_entries(file) if path.suffix == ".zip" else _tar_entries(file, path.suffix):
                unpacked.add(member, largest=largest)
    except _ArchiveTooLarge as fault:
        unpacked.problems.append(str(fault))
    except _DAMAGE_ERRORS as fault:
        unpacked.problems.append(f"is damaged: {fault}")
    skills, problems = _find_skills(unpacked, name, path)
    return FoundFolders(skills, [f"{path}: {problem}" for problem in problems])


def _largest_unpacked(size: int) -> int:
    """Return the largest unpacked size of an archive of this size."""
    if size > LARGEST_ARCHIVE:
        raise _ArchiveTooLarge(f"has {size} bytes; an archive may have {LARGEST_ARCHIVE} at most")
    return max(ALWAYS_UNPACKED, min(LARGEST_UNPACKED, LARGEST_RATIO * size))


@dataclass(slots=True)
class _UnpackedArchive:
    """The files unpacked so far, and the problems with entries that were not."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    problems: list[str] = field(default_factory=list[str])
    entry_count: int = 0
    total: int = 0

    def add(self, member: _ArchiveEntry, *, largest: int) -> None:
        self.entry_count += 1
        if self.entry_count > MOST_ENTRIES:
            raise _ArchiveTooLarge(f"has more than {MOST_ENTRIES} entries")
        path = member.name.removeprefix("./")
        if member.is_folder and path.rstrip("/") in ("", "."):
            return
        problem = problem_with_path(path.rstrip("/") if member.is_folder else path) or member.problem
        if problem is not None:
            self.problems.append(f"{quote_text(member.name)} {problem}")
        elif not (member.is_folder or is_hidden(path) or path.startswith("__MACOSX/")):
            self._unpack(path, member, largest)

    def _unpack(self, path: str, member: _ArchiveEntry, largest: int) -> None:
        if member.size > LARGEST_FILE:
            self.problems.append(f"{quote_text(path)} has {member.size} bytes; a file may have {LARGEST_FILE} at most")
            return
        body = member.read(LARGEST_FILE + 1)
        self.total += len(body)
        if self.total > largest:
            raise _ArchiveTooLarge(
                f"unpacks to more than {largest} bytes, which is too much for an archive of its size"
            )
        if len(body) != member.size:
            self.problems.append(f"{quote_text(path)} {OTHER_SIZE}")
        elif path in self.files:
            self.problems.append(f"{quote_text(path)} occurs twice")
        else:
            self.files[path] = body


def _zip_entries(file: IO[bytes]) -> Iterator[_ArchiveEntry]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            yield _ArchiveEntry(
                info.filename,
                info.file_size,
                _problem_with_zip_entry(info),
                lambda most, info=info: _read_zip_entry(archive, info, most),
                is_folder=info.is_dir(),
            )


def _problem_with_zip_entry(info: zipfile.ZipInfo) -> str | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if stat.S_ISLNK(kind):
        return LINK
    if kind not in (0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
        return NOT_A_FILE
    if info.flag_bits & _ENCRYPTED_BITS:
        return ENCRYPTED
    if info.orig_filename != info.filename:
        return "has two names"
    return (
        None if info.compress_type in _COMPRESSION_METHODS else "uses an unsupported compression; use deflate or none"
    )


def _read_zip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    with archive.open(info) as file:
        return file.read(most)


def _tar_entries(file: IO[bytes], suffix: str) -> Iterator[_ArchiveEntry]:
    """Yield the entries of a tar archive, read as a stream with a limit: the sizes that it states may be wrong."""
    stream = _BoundedStream(file if suffix == ".tar" else gzip.GzipFile(fileobj=file), LONGEST_TAR)
    with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as archive:  # this mode only reads the stream
        for info in archive:
            yield _ArchiveEntry(
                info.name,
                info.size,
                _problem_with_tar_entry(info),
                lambda most, info=info: _read_tar_entry(archive, info, most),
                is_folder=info.isdir(),
            )


def _problem_with_tar_entry(info: tarfile.TarInfo) -> str | None:
    if info.issym() or info.islnk():
        return LINK
    return None if (info.isreg() and not info.issparse()) or info.isdir() else NOT_A_FILE


def _read_tar_entry(archive: tarfile.TarFile, info: tarfile.TarInfo, most: int) -> bytes:
    file = archive.extractfile(info)
    return b"" if file is None else file.read(most)


class _BoundedStream:
    """A stream that raises _ArchiveTooLarge after a number of bytes."""

    def __init__(self, stream: _Readable, left: int) -> None:
        self._stream = stream
        self._left = left

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise _ArchiveTooLarge(f"unpacks to more than {LONGEST_TAR} bytes")
        return data


def _find_skills(unpacked: _UnpackedArchive, name: str, path: Path) -> tuple[Sequence[FoundSkill], Sequence[str]]:
    roots = find_roots(list(unpacked.files))
    trees = defaultdict[str, dict[str, bytes]](dict)
    problems = list(unpacked.problems)
    for file, body in unpacked.files.items():
        root = find_root(file, roots)
        if root is None:
            problems.append(f"{quote_text(file)} is not in a folder with a {SKILL_FILE}")
        else:
            trees[root][file.removeprefix(f"{root}/")] = body
    if not roots and not problems:
        problems.append(f"has no {SKILL_FILE}")
    ambiguous = sorted(folders_above(roots) & unpacked.files.keys())
    problems += [f"{quote_text(file)} is both a file and a folder" for file in ambiguous]
    skills: list[FoundSkill] = []
    for root, contents in trees.items():
        skill_id = id_of(root, roots, name)
        checked = _check_skill(skill_id, f"{path} ({skill_id})", contents)
        if isinstance(checked, FoundSkill):
            skills.append(checked)
        else:
            problems += [f"{skill_id}: {problem}" for problem in checked]
    return skills, problems


def _check_skill(skill_id: str, place: str, contents: Mapping[str, bytes]) -> FoundSkill | Sequence[str]:
    return problems_with_sizes({path: len(body) for path, body in contents.items()}) or parse_skill(
        skill_id, place, contents
    )
