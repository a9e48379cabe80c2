"""An archive of Agent Skills: each folder in it with a SKILL.md is one. Nothing is written to any disk, and no more is
unpacked than skills may have; of links, devices, modes and owners nothing is taken."""

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
from signpost.records import dataclass
from signpost.registry.refusals import quoted
from signpost.registry.skill_files import LARGEST_FILE, SKILL_FILE, problem_with_path
from signpost.registry.skill_trees import (
    Found,
    FoundSkill,
    folders_above,
    id_of,
    problems_with_sizes,
    root_of,
    roots_in,
    skill_of,
)

MOST_ENTRIES = 4096
LARGEST_ARCHIVE = LARGEST_UNPACKED = 64 * 1024 * 1024
LARGEST_RATIO = 200
"""How often as large as itself an archive may become, once it is larger than a megabyte."""
ALWAYS_UNPACKED = 1024 * 1024
LONGEST_TAR = LARGEST_UNPACKED + 2048 * MOST_ENTRIES
"""Bytes, with the headers."""

LINK = "is a link"
NOT_A_FILE = "is neither a file nor a folder"
ENCRYPTED = "is encrypted"
OTHER_SIZE = "has another size than the archive says"
_ENCRYPTED_BITS = 0x1 | 0x40 | 0x2000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (
    OSError, EOFError, ValueError, RuntimeError, NotImplementedError, OverflowError,
    struct.error, zlib.error, zipfile.BadZipFile, tarfile.TarError,
)  # fmt: skip


class _TooMuch(Exception):  # noqa: N818 - it names what happened
    """The message says of what."""


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    size: int
    """As the archive says."""
    problem: str | None
    read: Callable[[int], bytes]
    """At most so many bytes."""
    is_folder: bool = False


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def skills_in_archive(path: Path) -> Found:
    """Of a file whose name ends in one of ARCHIVES."""
    name = next(path.name.removesuffix(suffix) for suffix in ARCHIVES if path.name.endswith(suffix))
    unpacked = _Unpacked()
    try:
        largest = _largest(path.stat().st_size)
        with path.open("rb") as file:
            for member in _zip_members(file) if path.suffix == ".zip" else _tar_members(file, path.suffix):
                unpacked.add(member, largest=largest)
    except _TooMuch as fault:
        unpacked.problems.append(str(fault))
    except _DAMAGE as fault:
        unpacked.problems.append(f"cannot be read to its end: {fault}")
    skills, problems = _skills_of(unpacked, name, path)
    return Found(skills, [f"{path}: {problem}" for problem in problems])


def _largest(size: int) -> int:
    """What an archive of this size may become."""
    if size > LARGEST_ARCHIVE:
        raise _TooMuch(f"has {size} bytes; an archive has {LARGEST_ARCHIVE} at most")
    return max(ALWAYS_UNPACKED, min(LARGEST_UNPACKED, LARGEST_RATIO * size))


@dataclass(slots=True)
class _Unpacked:
    """What was taken out, and everything that was not."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    problems: list[str] = field(default_factory=list[str])
    seen: int = 0
    total: int = 0

    def add(self, member: _Member, *, largest: int) -> None:
        self.seen += 1
        if self.seen > MOST_ENTRIES:
            raise _TooMuch(f"has more than {MOST_ENTRIES} entries")
        path = member.name.removeprefix("./")
        if member.is_folder and path.rstrip("/") in ("", "."):
            return
        why = problem_with_path(path.rstrip("/") if member.is_folder else path) or member.problem
        if why is not None:
            self.problems.append(f"{quoted(member.name)} {why}")
        elif not (member.is_folder or is_hidden(path) or path.startswith("__MACOSX/")):
            self._take(path, member, largest)

    def _take(self, path: str, member: _Member, largest: int) -> None:
        if member.size > LARGEST_FILE:
            self.problems.append(f"{quoted(path)} has {member.size} bytes; a file has {LARGEST_FILE} at most")
            return
        body = member.read(LARGEST_FILE + 1)
        self.total += len(body)
        if self.total > largest:
            raise _TooMuch(f"unpacks to more than {largest} bytes, which is too much for an archive of its size")
        if len(body) != member.size:
            self.problems.append(f"{quoted(path)} {OTHER_SIZE}")
        elif path in self.files:
            self.problems.append(f"{quoted(path)} is there twice")
        else:
            self.files[path] = body


def _zip_members(file: IO[bytes]) -> Iterator[_Member]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            yield _Member(
                info.filename,
                info.file_size,
                _problem_with_zipped(info),
                lambda most, info=info: _read_zipped(archive, info, most),
                is_folder=info.is_dir(),
            )


def _problem_with_zipped(info: zipfile.ZipInfo) -> str | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if stat.S_ISLNK(kind):
        return LINK
    if kind not in (0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
        return NOT_A_FILE
    if info.flag_bits & _ENCRYPTED_BITS:
        return ENCRYPTED
    if info.orig_filename != info.filename:
        return "has two names"
    return None if info.compress_type in _METHODS else "is compressed in a way that is not known here"


def _read_zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    with archive.open(info) as file:
        return file.read(most)


def _tar_members(file: IO[bytes], suffix: str) -> Iterator[_Member]:
    """As a stream: what says how long a thing is comes with the thing, and may be a lie."""
    stream = _Bounded(file if suffix == ".tar" else gzip.GzipFile(fileobj=file), LONGEST_TAR)
    with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as archive:  # a stream is only read
        for info in archive:
            yield _Member(
                info.name,
                info.size,
                _problem_with_tarred(info),
                lambda most, info=info: _read_tarred(archive, info, most),
                is_folder=info.isdir(),
            )


def _problem_with_tarred(info: tarfile.TarInfo) -> str | None:
    if info.issym() or info.islnk():
        return LINK
    return None if (info.isreg() and not info.issparse()) or info.isdir() else NOT_A_FILE


def _read_tarred(archive: tarfile.TarFile, info: tarfile.TarInfo, most: int) -> bytes:
    file = archive.extractfile(info)
    return b"" if file is None else file.read(most)


class _Bounded:
    """Ends a stream that goes on for too long."""

    def __init__(self, stream: _Readable, left: int) -> None:
        self._stream = stream
        self._left = left

    def read(self, size: int) -> bytes:
        read = self._stream.read(min(size, self._left + 1))
        self._left -= len(read)
        if self._left < 0:
            raise _TooMuch(f"unpacks to more than {LONGEST_TAR} bytes")
        return read


def _skills_of(unpacked: _Unpacked, name: str, path: Path) -> tuple[Sequence[FoundSkill], Sequence[str]]:
    roots = roots_in(list(unpacked.files))
    trees = defaultdict[str, dict[str, bytes]](dict)
    problems = list(unpacked.problems)
    for one, body in unpacked.files.items():
        root = root_of(one, roots)
        if root is None:
            problems.append(f"{quoted(one)} lies in no folder with a {SKILL_FILE}")
        else:
            trees[root][one.removeprefix(f"{root}/")] = body
    if not roots and not problems:
        problems.append(f"has no {SKILL_FILE}")
    both = sorted(folders_above(roots) & unpacked.files.keys())
    problems += [f"{quoted(one)} is a file and a folder" for one in both]
    skills: list[FoundSkill] = []
    for root, contents in trees.items():
        skill_id = id_of(root, roots, name)
        found = _skill_of(skill_id, f"{path} ({skill_id})", contents)
        if isinstance(found, FoundSkill):
            skills.append(found)
        else:
            problems += [f"{skill_id}: {why}" for why in found]
    return skills, problems


def _skill_of(skill_id: str, place: str, contents: Mapping[str, bytes]) -> FoundSkill | Sequence[str]:
    return problems_with_sizes({path: len(body) for path, body in contents.items()}) or skill_of(
        skill_id, place, contents
    )
