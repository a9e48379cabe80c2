"""The files of an Agent Skill beside its SKILL.md: what they may be called, how large they may be, what they are.

A client writes them to a disk, perhaps another one than the author's: a name that leads out of the folder there, or
that two files share there, is refused here.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate
from unicodedata import normalize
from urllib.parse import quote, unquote

from signpost.content import StoredFile
from signpost.registry.markdown import MARKDOWN

SKILL_FILE = "SKILL.md"
MOST_FILES = 512
"""With SKILL.md."""
LARGEST_SKILL = 16 * 1024 * 1024
"""Bytes. No client has to take a skill that is larger or has more files, so that no server should serve one."""
LARGEST_FILE = 3_000_000
"""Bytes. In base64 it just fits into an answer, and into an invocation."""
LONGEST_PATH = 200
"""Bytes. The paths of all files are in one row of the table."""
DEEPEST_PATH = 8
"""Parts. To whom a path belongs is found out part by part."""

FORBIDDEN = '<>:"|?*%'
"""Some of it no Windows has in a name; `%` would make two URIs of one."""
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_UNRESERVED = "/!$&'()*+,;=@~-._"

_TYPES = {
    "css": "text/css",
    "csv": "text/csv",
    "gif": "image/gif",
    "htm": "text/html",
    "html": "text/html",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "text/javascript",
    "json": "application/json",
    "md": MARKDOWN,
    "mjs": "text/javascript",
    "pdf": "application/pdf",
    "png": "image/png",
    "py": "text/x-python",
    "sh": "application/x-sh",
    "svg": "image/svg+xml",
    "ttf": "font/ttf",
    "webp": "image/webp",
    "woff2": "font/woff2",
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
}
"""By what follows the last dot. Our own: what a machine knows differs."""
_TEXTS = frozenset({"application/json", "application/x-sh", "application/xml", "application/yaml", "image/svg+xml"})
TEXT, BINARY = "text/plain", "application/octet-stream"


def described(path: str, body: bytes) -> StoredFile:
    return StoredFile(path, sha256(body).hexdigest(), len(body), mime_type_of(path, body))


def mime_type_of(path: str, body: bytes) -> str:
    dot, suffix = path.rpartition("/")[2].rpartition(".")[1:]
    known = _TYPES.get(suffix.lower(), TEXT) if dot else TEXT
    return known if not is_text(known) or _reads_as_text(body) else BINARY


def is_text(mime_type: str) -> bool:
    """Whether the bytes of a file of this type are UTF-8."""
    return mime_type.startswith("text/") or mime_type in _TEXTS


def _reads_as_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in body


def problem_with_path(path: str) -> str | None:
    """Why no file may lie there. The sentence begins behind the path."""
    return next((why for rule, why in _RULES if rule(path)), None)


def _has_forbidden(path: str) -> bool:
    return any(character in path for character in FORBIDDEN)


def _leads_elsewhere(path: str) -> bool:
    return not {".", ".."}.isdisjoint(path.split("/"))


def _is_trimmed_somewhere(path: str) -> bool:
    return any(part != part.strip(" ").rstrip(".") for part in path.split("/"))


def _is_device_somewhere(path: str) -> bool:
    return any(map(_DEVICE.fullmatch, path.split("/")))


_RULES: Sequence[tuple[Callable[[str], object], str]] = (
    (lambda path: not path, "has no name"),
    (lambda path: not path.isprintable(), "has a character in its path that cannot be seen"),
    (lambda path: path.startswith("/"), "is absolute; paths begin in the folder of the skill"),
    (lambda path: "\\" in path, "has a backslash; the parts of a path are separated by /"),
    (_DRIVE.match, "names a drive; paths begin in the folder of the skill"),
    (_has_forbidden, f"has one of {FORBIDDEN} in its path, which not every computer takes"),
    (lambda path: "" in path.split("/"), "has an empty part in its path"),
    (_leads_elsewhere, "leads out of its folder, or nowhere"),
    (_is_trimmed_somewhere, "has a part that begins or ends with a blank, or ends with a dot; some computers drop it"),
    (_is_device_somewhere, "has a part that is a device on some computers"),
)
"""In this order. What can be seen can be encoded, too: half a surrogate pair is no letter."""


def problem_with_file(path: str) -> str | None:
    """The same of a file beside the SKILL.md."""
    if problem := problem_with_path(path):
        return problem
    if len(path.encode()) > LONGEST_PATH or path.count("/") >= DEEPEST_PATH:
        return f"has a path of more than {LONGEST_PATH} bytes or {DEEPEST_PATH} parts"
    if is_skill_file(path):
        return f"is called like {SKILL_FILE}, which there is once; a folder with its own is a skill of its own"
    return None


def is_skill_file(path: str) -> bool:
    """On a disk that does not tell large letters from small ones."""
    return _folded(path.rpartition("/")[2]) == _folded(SKILL_FILE)


def collisions(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Paths that cannot be beside others on every disk, with why: the sentence begins behind the path."""
    spelled = dict[str, str]()
    folders = dict[str, str]()
    for path in paths:
        for folder in _folders_of(path):
            if folders.setdefault(_folded(folder), folder) != folder:
                yield path, f"lies in {folder}, which differs from {folders[_folded(folder)]} only in how it is written"
        first = spelled.get(_folded(path))
        if first is not None:
            yield path, "is there twice" if first == path else f"differs from {first} only in how it is written"
        spelled.setdefault(_folded(path), path)
    for key in spelled.keys() & folders.keys():
        yield spelled[key], "is a file and a folder"


def _folders_of(path: str) -> Iterator[str]:
    return accumulate(path.split("/")[:-1], "{}/{}".format)


def _folded(path: str) -> str:
    """As disks compare names that do not tell case, or one way to compose a letter from another."""
    return normalize("NFKC", normalize("NFKC", path).casefold())


def uri_path(path: str) -> str:
    """A path as it stands in a URI."""
    return quote(path, safe=_UNRESERVED, errors="replace")


def path_in(text: str) -> str | None:
    """The path that stands in a URI. What has to be encoded there may also stand as it is, as in a relative link."""
    path = unquote(text)
    return path if text in (path, uri_path(path)) else None


def owners(path: str) -> Iterator[tuple[str, str]]:
    """The skills that a file may belong to, the innermost first, and where it would lie in them."""
    end = len(path)
    for _ in range(DEEPEST_PATH):
        end = path.rfind("/", 0, end)
        if end < 0:
            return
        yield path[:end], path[end + 1 :]


def problem_with_sizes(size_of_document: int, files: Sequence[StoredFile]) -> str | None:
    """Why they cannot be one skill."""
    if len(files) >= MOST_FILES:
        return f"A skill has {MOST_FILES} files at most, with {SKILL_FILE}; these are {len(files) + 1}."
    if (total := size_of_document + sum(file.size for file in files)) > LARGEST_SKILL:
        return f"A skill has {LARGEST_SKILL} bytes at most; these are {total}."
    return None
