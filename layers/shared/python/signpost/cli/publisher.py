"""A publication on its way to the registry: what would change, then the bodies that are new, then all of it at once."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256

from signpost.cli.definitions import entries_of, rows_of, slice_of
from signpost.cli.failure import CommandFailed
from signpost.cli.publication import Publication
from signpost.model import JsonObject, as_object
from signpost.records import dataclass
from signpost.registry.digests import digest_of

LARGEST_INVOCATION = 5_500_000
"""Bytes; Lambda takes 6 MB."""
LARGEST_BATCH, MOST_AT_ONCE = 3_500_000, 100
"""Of bodies: bytes as JSON, and how many, so that keeping a batch takes a few seconds."""
SENT_AT_ONCE = 4

type Ask = Callable[[str, JsonObject], JsonObject]
"""Calls a function of the registry. Raises CommandFailed for what the registry refuses."""
type Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Change:
    sign: str
    """+ added, ~ changed, = the same, - removed."""
    name: str


PREFIXES = {
    "skills": "",
    "prompts": "prompt:",
    "triggers": "",
    "webhooks": "",
    "workflows": "workflow:",
    "capabilities": "capability:",
    "connections": "connection:",
    "policies": "policy:",
}
"""Of each kind. The names of triggers and webhooks begin with theirs."""
SIGNS = {"added": "+", "changed": "~", "same": "=", "removed": "-"}


class RemotePublisher:
    def __init__(self, ask: Ask, *, say: Say) -> None:
        self._ask = ask
        self._say = say

    def plan(self, publication: Publication, *, prune: bool) -> Sequence[Change]:
        """What would change, by name."""
        answer = self._ask("manifest::plan", _checked(_rows(publication, prune=prune)))
        found = [change for kind, prefix in PREFIXES.items() for change in _changes(answer, kind, prefix)]
        return sorted(found, key=lambda change: change.name)

    def publish(self, publication: Publication, planned: Sequence[Change], *, prune: bool) -> None:
        new = {change.name for change in planned if change.sign in "+~"}
        bodies = [
            {"id": skill_id, "skill": body} for skill_id, body in (publication.bodies or {}).items() if skill_id in new
        ]
        definitions = [
            one for one in entries_of(publication.definitions) if f"{PREFIXES[str(one['part'])]}{one['id']}" in new
        ]
        parts = [
            *self._send(bodies, "documents", lambda batch: {"skills": batch}),
            *self._send(self._unsent(publication), "files", lambda batch: {"files": batch}),
            *self._send(definitions, "definitions", lambda batch: {"definitions": slice_of(batch)}),
        ]
        rows = _rows(publication, prune=prune)
        self._ask("manifest::publish", _checked({**rows, "parts": parts}))

    def _unsent(self, publication: Publication) -> Sequence[JsonObject]:
        """Of the files, those that are not kept there."""
        if not publication.files:
            return []
        contents = {
            (path, sha256(body).hexdigest()): body
            for files in publication.files.values()
            for path, body in files.items()
        }
        unsent = self._ask("manifest::plan", _checked(_rows(publication, prune=False))).get("unsent")
        named = [as_object(one) for one in unsent] if isinstance(unsent, list) else []
        keys = [(str(one.get("path")), str(one.get("digest"))) for one in named]
        return [{"path": key[0], "base64": b64encode(contents[key]).decode()} for key in keys if key in contents]

    def _send(
        self, entries: Sequence[JsonObject], called: str, payload_of: Callable[[list[JsonObject]], JsonObject]
    ) -> list[str]:
        """The parts under which they are known there."""
        batches = list(_batches(entries))
        parts: list[str] = []
        sent = 0
        with ThreadPoolExecutor(SENT_AT_ONCE) as pool:
            answers = pool.map(partial(self._ask, "manifest::bodies"), map(payload_of, batches))
            for batch, answer in zip(batches, answers, strict=True):
                parts.append(str(answer.get("part")))
                sent += len(batch)
                if len(batches) > 1:
                    self._say(f"sent {sent} of {len(entries)} {called}")
        return parts


def _rows(publication: Publication, *, prune: bool) -> JsonObject:
    """All of it but the bodies."""
    bodies = publication.bodies
    listed = [
        {"id": skill_id, "digest": digest_of(body), **_files(publication.files.get(skill_id, {}))}
        for skill_id, body in (bodies or {}).items()
    ]
    skills: JsonObject = {} if bodies is None else {"skills": list[JsonObject](listed)}
    lists = {name: list(entries) for name, entries in publication.lists.items()}
    return {**skills, **lists, **rows_of(publication.definitions), "prune": prune}


def _files(files: Mapping[str, bytes]) -> JsonObject:
    named = [{"path": path, "digest": sha256(body).hexdigest()} for path, body in files.items()]
    return {"files": list[JsonObject](named)} if named else {}


def _checked(payload: JsonObject) -> JsonObject:
    if (size := _size(payload)) > LARGEST_INVOCATION:
        raise CommandFailed(
            f"This is too much for one publication: ids, prompts and connections make {size} bytes, at most "
            f"{LARGEST_INVOCATION}. Publish it in several, without --prune."
        )
    return payload


def _batches(entries: Sequence[JsonObject]) -> Iterator[list[JsonObject]]:
    batch: list[JsonObject] = []
    total = 0
    for entry in entries:
        size = _size(entry)
        if batch and (total + size > LARGEST_BATCH or len(batch) == MOST_AT_ONCE):
            yield batch
            batch, total = [], 0
        batch.append(entry)
        total += size
    if batch:
        yield batch


def _size(value: JsonObject) -> int:
    return len(json.dumps(value))


def _changes(answer: JsonObject, kind: str, prefix: str) -> Iterator[Change]:
    for what, names in as_object(answer.get(kind)).items():
        if isinstance(names, list):
            yield from (Change(SIGNS[what], f"{prefix}{name}") for name in names)
