"""Files of skills as authors send them: their bodies by themselves, and their names with the skill they belong to."""

import binascii
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.registry import payloads
from signpost.registry.digests import DIGEST
from signpost.registry.manifests import is_agent_skill
from signpost.registry.refusals import Refused, quoted
from signpost.registry.skill_files import LARGEST_FILE, MOST_FILES, collisions, problem_with_file

NOT_NAMES = "Files need an id whose parts are names of Agent Skills: a-z and 0-9, and single - between them."


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file of a skill, whose body is sent by itself."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class SentFile:
    path: str
    body: bytes


def sent_file(entry: Json) -> SentFile | Refused:
    if not isinstance(entry, Mapping):
        return Refused("invalid_payload", "A file is {path, base64}.")
    fields = payloads.texts(entry, "path", "base64")
    if isinstance(fields, Refused):
        return fields
    path, text = fields
    if problem := problem_with_file(path):
        return Refused("invalid_content", f"{quoted(path)} {problem}.")
    try:
        body = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return Refused("invalid_payload", "`base64` must be the bytes of the file in base64.")
    if len(body) > LARGEST_FILE:
        return Refused("invalid_content", f"The file is too large: {len(body)} bytes, at most {LARGEST_FILE}.")
    return SentFile(path, body)


def named_files(skill_id: str, value: Json) -> tuple[Sequence[NamedFile], Sequence[str]]:
    """Those that can be read, and everything that is wrong with them."""
    if not isinstance(value, list):
        return (), ["`files` must be a list."]
    read = [_named_file(entry, f"files[{place}]") for place, entry in enumerate(value)]
    named = [one for one in read if isinstance(one, NamedFile)]
    problems = [one.message for one in read if isinstance(one, Refused)]
    problems += [f"{quoted(path)} {why}." for path, why in collisions([one.path for one in named])]
    if value and not is_agent_skill(skill_id):
        problems.append(NOT_NAMES)
    if len(value) >= MOST_FILES:
        problems.append(f"A skill has {MOST_FILES} files at most, with its SKILL.md.")
    return named, problems


def _named_file(entry: Json, place: str) -> NamedFile | Refused:
    fields = payloads.texts(entry, "path", "digest") if isinstance(entry, Mapping) else None
    if fields is None or isinstance(fields, Refused):
        return Refused("invalid_payload", f"`{place}` must be {{path, digest}}.")
    path, digest = fields
    if problem := problem_with_file(path):
        return Refused("invalid_content", f"{quoted(path)} {problem}.")
    if not DIGEST.fullmatch(digest):
        return Refused(
            "invalid_payload", f"`{place}.digest` must be the SHA-256 of the file, in lowercase hexadecimal."
        )
    return NamedFile(path, digest)


def overlaps(files: Mapping[str, Sequence[NamedFile]]) -> Iterator[tuple[str, str]]:
    """Files, by the id of their skill, that stand in the way of another skill below it."""
    if not any(files.values()):
        return
    folders = {folder for skill_id in files for folder in accumulate(skill_id.split("/"), "{}/{}".format)}
    places = Counter(f"{skill_id}/{one.path}" for skill_id, named in files.items() for one in named)
    for skill_id, named in files.items():
        for one in named:
            place = f"{skill_id}/{one.path}"
            if place in folders or places[place] > 1:
                yield skill_id, f"{quoted(one.path)} is where another skill or a file of one is."


def listed(files: Sequence[NamedFile]) -> Sequence[JsonObject]:
    return [{"path": one.path, "digest": one.digest} for one in files]
