"""Parses the files of skills as authors send them: bodies apart from the skills, and names with the skill of each."""

import binascii
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from signpost.content.agent_skills.files import LARGEST_FILE, MOST_FILES, find_collisions, problem_with_file
from signpost.content.agent_skills.skill_md import is_agent_skill
from signpost.content.api import payloads
from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.digests import DIGEST
from signpost.model import Json, JsonObject
from signpost.records import dataclass

INVALID_SKILL_NAME = (
    "A skill with files needs an id whose parts are names of Agent Skills: a-z, 0-9 and single hyphens between them."
)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file as a skill names it. Its body is sent apart from the skill."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file with its body, sent apart from the skill that names it."""

    path: str
    body: bytes


def parse_sent_file(entry: Json) -> SentFile | RegistryRefusal:
    if not isinstance(entry, Mapping):
        return RegistryRefusal("invalid_payload", "A file must be {path, base64}.")
    fields = payloads.text_fields(entry, "path", "base64")
    if isinstance(fields, RegistryRefusal):
        return fields
    path, text = fields
    if problem := problem_with_file(path):
        return RegistryRefusal("invalid_content", f"{quote_text(path)} {problem}.")
    try:
        body = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return RegistryRefusal("invalid_payload", "`base64` must be the bytes of the file in base64.")
    if len(body) > LARGEST_FILE:
        return RegistryRefusal("invalid_content", f"The file is too large: {len(body)} bytes, at most {LARGEST_FILE}.")
    return SentFile(path, body)


def parse_named_files(skill_id: str, value: Json) -> tuple[Sequence[NamedFile], Sequence[str]]:
    """Parse the list of files of a skill. Returns the files that could be parsed, and the messages of all problems."""
    if not isinstance(value, list):
        return (), ["`files` must be a list."]
    parsed = [_parse_named_file(entry, f"files[{place}]") for place, entry in enumerate(value)]
    named = [file for file in parsed if isinstance(file, NamedFile)]
    problems = [refusal.message for refusal in parsed if isinstance(refusal, RegistryRefusal)]
    problems += [f"{quote_text(path)} {problem}." for path, problem in find_collisions([file.path for file in named])]
    if value and not is_agent_skill(skill_id):
        problems.append(INVALID_SKILL_NAME)
    if len(value) >= MOST_FILES:
        problems.append(f"A skill may have {MOST_FILES} files at most, with its SKILL.md.")
    return named, problems


def _parse_named_file(entry: Json, place: str) -> NamedFile | RegistryRefusal:
    fields = payloads.text_fields(entry, "path", "digest") if isinstance(entry, Mapping) else None
    if fields is None or isinstance(fields, RegistryRefusal):
        return RegistryRefusal("invalid_payload", f"`{place}` must be {{path, digest}}.")
    path, digest = fields
    if problem := problem_with_file(path):
        return RegistryRefusal("invalid_content", f"{quote_text(path)} {problem}.")
    if not DIGEST.fullmatch(digest):
        return RegistryRefusal(
            "invalid_payload", f"`{place}.digest` must be the SHA-256 of the file, in lowercase hexadecimal."
        )
    return NamedFile(path, digest)


def find_overlaps(files: Mapping[str, Sequence[NamedFile]]) -> Iterator[tuple[str, str]]:
    """Find files at the path of another skill or of a file of another skill. Yields the id of the file's skill and a
    message."""
    if not any(files.values()):
        return
    folders = {folder for skill_id in files for folder in accumulate(skill_id.split("/"), "{}/{}".format)}
    places = Counter(f"{skill_id}/{file.path}" for skill_id, named in files.items() for file in named)
    for skill_id, named in files.items():
        for file in named:
            place = f"{skill_id}/{file.path}"
            if place in folders or places[place] > 1:
                yield skill_id, f"{quote_text(file.path)} is also the path of another skill or of one of its files."


def entries_of(files: Sequence[NamedFile]) -> Sequence[JsonObject]:
    return [{"path": file.path, "digest": file.digest} for file in files]
