"""The files of an Agent Skill beside its SKILL.md: rules for their paths and sizes, and their media types.

A client writes the files to its own disk, perhaps under another operating system than the author's. A path is refused
if on any such disk it leads out of the folder or coincides with the path of another file.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate
from unicodedata import normalize
from urllib.parse import quote, unquote

from signpost.content.markdown import MARKDOWN
from signpost.content.model import StoredFile

SKILL_FILE = "SKILL.md"
MOST_FILES = 512
"""Including SKILL.md."""
LARGEST_SKILL = 16 * 1024 * 1024
"""Bytes. A client need not accept a skill that is larger or has more files, so a server should not serve one."""
LARGEST_FILE = 3_000_000
"""Bytes. In base64 such a file just fits into an answer and into an invocation."""
LONGEST_PATH = 200
"""Bytes. The paths of all files are in one row of the table."""
DEEPEST_PATH = 8
"""Parts. The skill that a path belongs to is searched part by part."""

FORBIDDEN = '<>:"|?*%'
"""Characters that no path may have. Windows allows none of them in a name but `%`, which would give one file two
URIs."""
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
"""Media types by file name suffix. The table is fixed here because the one of the operating system varies."""
_TEXTS = frozenset({"application/json", "application/x-sh", "application/xml", "application/yaml", "image/svg+xml"})
TEXT, BINARY = "text/plain", "application/octet-stream"


def build_stored_file(path: str, body: bytes) -> StoredFile:
    return StoredFile(path, sha256(body).hexdigest(), len(body), mime_type_of(path, body))


def mime_type_of(path: str, body: bytes) -> str:
    dot, suffix = path.rpartition("/")[2].rpartition(".")[1:]
    mime_type = _TYPES.get(suffix.lower(), TEXT) if dot else TEXT
    return mime_type if not is_text(mime_type) or _is_utf8_text(body) else BINARY


def is_text(mime_type: str) -> bool:
    """Return whether a file of this media type is UTF-8 text."""
    return mime_type.startswith("text/") or mime_type in _TEXTS


def _is_utf8_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in body


def problem_with_path(path: str) -> str | None:
    """Return the reason why a path is not allowed, as a sentence without its subject, the path; None if it is
    allowed."""
    return next((problem for applies, problem in _RULES if applies(path)), None)


def _has_forbidden_character(path: str) -> bool:
    return any(character in path for character in FORBIDDEN)


def _has_dot_part(path: str) -> bool:
    return not {".", ".."}.isdisjoint(path.split("/"))


def _has_trimmed_part(path: str) -> bool:
    return any(part != part.strip(" ").rstrip(".") for part in path.split("/"))


def _has_device_part(path: str) -> bool:
    return any(map(_DEVICE.fullmatch, path.split("/")))


_RULES: Sequence[tuple[Callable[[str], object], str]] = (
    (lambda path: not path, "has no name"),
    (lambda path: not path.isprintable(), "has an unprintable character in its path"),
    (lambda path: path.startswith("/"), "is absolute; paths begin in the folder of the skill"),
    (lambda path: "\\" in path, "has a backslash; the parts of a path are separated by /"),
    (_DRIVE.match, "names a drive; paths begin in the folder of the skill"),
    (_has_forbidden_character, f"has one of {FORBIDDEN} in its path, which some operating systems do not allow"),
    (lambda path: "" in path.split("/"), "has an empty part in its path"),
    (_has_dot_part, "has a part . or ..; paths stay in the folder of the skill"),
    (_has_trimmed_part, "has a part with a space at an end or a dot at its end; some operating systems drop it"),
    (_has_device_part, "has a part that is a device name on some operating systems"),
)
"""The rules for paths, checked in this order. Printable text is also encodable: half a surrogate pair is not
printable."""


def problem_with_file(path: str) -> str | None:
    """Return the reason why a file beside a SKILL.md may not have this path, as `problem_with_path` does."""
    if problem := problem_with_path(path):
        return problem
    if len(path.encode()) > LONGEST_PATH or path.count("/") >= DEEPEST_PATH:
        return f"has a path of more than {LONGEST_PATH} bytes or {DEEPEST_PATH} parts"
    if is_skill_file(path):
        return f"has the name {SKILL_FILE}, which a skill has only once; put it into the folder of a skill of its own"
    return None


def is_skill_file(path: str) -> bool:
    """Return whether the file is named SKILL.md on a disk that ignores case."""
    return _fold(path.rpartition("/")[2]) == _fold(SKILL_FILE)


def find_collisions(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Find the paths that coincide with another one on some disk, each with the reason, as a sentence without its
    subject, the path."""
    spelled = dict[str, str]()
    folders = dict[str, str]()
    for path in paths:
        for folder in _folders_of(path):
            if folders.setdefault(_fold(folder), folder) != folder:
                yield path, f"lies in {folder}, which is {folders[_fold(folder)]} in another case or Unicode form"
        first = spelled.get(_fold(path))
        if first is not None:
            yield path, "occurs twice" if first == path else f"is {first} in another case or Unicode form"
        spelled.setdefault(_fold(path), path)
    for key in spelled.keys() & folders.keys():
        yield spelled[key], "is both a file and a folder"


def _folders_of(path: str) -> Iterator[str]:
    return accumulate(path.split("/")[:-1], "{}/{}".format)


def _fold(path: str) -> str:
    """Fold a path as a disk does that ignores case and the composition of letters when it compares names."""
    return normalize("NFKC", normalize("NFKC", path).casefold())


def uri_path(path: str) -> str:
    """Encode a path for a URI."""
    return quote(path, safe=_UNRESERVED, errors="replace")


def path_in(text: str) -> str | None:
    """Decode the path in a URI; None if it is encoded in another way than `uri_path` does. A path without any encoding
    is accepted too, as in a relative link."""
    path = unquote(text)
    return path if text in (path, uri_path(path)) else None


def possible_owners(path: str) -> Iterator[tuple[str, str]]:
    """List the ids of the skills that a file may belong to, innermost first, each with the file's path in it."""
    end = len(path)
    for _ in range(DEEPEST_PATH):
        end = path.rfind("/", 0, end)
        if end < 0:
            return
        yield path[:end], path[end + 1 :]


def problem_with_sizes(size_of_document: int, files: Sequence[StoredFile]) -> str | None:
    """Return the reason why a document and its files are too many or too large for one skill; None if they are not."""
    if len(files) >= MOST_FILES:
        return f"A skill may have {MOST_FILES} files at most, with {SKILL_FILE}; this one has {len(files) + 1}."
    if (total := size_of_document + sum(file.size for file in files)) > LARGEST_SKILL:
        return f"A skill may have {LARGEST_SKILL} bytes at most; this one has {total}."
    return None
