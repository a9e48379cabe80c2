"""A folder of skill documents: `a/b.md` is the document `a/b`, and `a/index.md` is `a`."""

from collections.abc import Sequence
from pathlib import Path

SUFFIX = ".md"
INDEX = "index"


def files_in(folder: Path) -> Sequence[tuple[str, Path]]:
    """Ids and files, sorted by file. An id may be none that can be registered, or be there twice. What lies outside of
    the folder is not followed, and what is hidden does not count."""
    top = folder.resolve()
    found = sorted(path for path in folder.rglob(f"*{SUFFIX}") if path.is_file())
    return [
        (_id_of(path.relative_to(folder)), path)
        for path in found
        if not _is_hidden(path.relative_to(folder)) and path.resolve().is_relative_to(top)
    ]


def texts_in(folder: Path) -> Sequence[tuple[str, str]]:
    """Ids and bodies. Raises UnicodeDecodeError."""
    return [(skill_id, text_of(path)) for skill_id, path in files_in(folder)]


def text_of(path: Path) -> str:
    """To the letter, line ends included, but for a mark that some editors put in front. Raises UnicodeDecodeError."""
    return path.read_bytes().decode("utf-8-sig")


def _id_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return "/".join(parts[:-1] if parts[-1] == INDEX else parts)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
