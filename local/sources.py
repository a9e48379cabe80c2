"""Digests of the files and settings from which a build is made."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_IGNORED = frozenset({"__pycache__", ".DS_Store"})


def digest_of_files(root: Path, names: Iterable[str]) -> str:
    """Return a digest of files and whole directories under `root`: their names, modes and contents."""
    digest = hashlib.sha256()
    for name in names:
        for path in _files(root / name):
            executable = path.stat().st_mode & 0o100
            digest.update(f"{path.relative_to(root)}\0{executable}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def digest_of_pairs(pairs: Mapping[str, str]) -> str:
    """Return a digest of names and values that does not depend on their order."""
    lines = (f"{name}={value}" for name, value in sorted(pairs.items()))
    return hashlib.sha256("\0".join(lines).encode()).hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir() and path.name not in _IGNORED:
        for entry in sorted(path.iterdir()):
            if entry.name not in _IGNORED:
                yield from _files(entry)
