"""A publication on its way to the registry: what would change, then the bodies that are new, then all of it at once."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from signpost.cli.failure import CommandFailed
from signpost.cli.publication_files import Publication
from signpost.model import JsonObject, as_object
from signpost.registry.manifest import digest_of

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


SIGNS = {"added": "+", "changed": "~", "same": "=", "removed": "-"}


class RemotePublisher:
    def __init__(self, ask: Ask, *, say: Say) -> None:
        self._ask = ask
        self._say = say

    def plan(self, publication: Publication, *, prune: bool) -> Sequence[Change]:
        """What would change, by name."""
        answer = self._ask("manifest::plan", _checked(_rows(publication, prune=prune)))
        found = [*_changes(answer, "skills", ""), *_changes(answer, "prompts", "prompt:")]
        return sorted(found, key=lambda change: change.name)

    def publish(self, publication: Publication, planned: Sequence[Change], *, prune: bool) -> None:
        new = {change.name for change in planned if change.sign in "+~"}
        parts = self._send({key: body for key, body in (publication.bodies or {}).items() if key in new})
        rows = _rows(publication, prune=prune)
        self._ask("manifest::publish", _checked({**rows, "parts": parts}))

    def _send(self, bodies: Mapping[str, str]) -> list[str]:
        """The parts under which they are known there."""
        batches = list(_batches(bodies))
        parts: list[str] = []
        sent = 0
        with ThreadPoolExecutor(SENT_AT_ONCE) as pool:
            for batch, answer in zip(batches, pool.map(self._keep, batches), strict=True):
                parts.append(str(answer.get("part")))
                sent += len(batch)
                if len(batches) > 1:
                    self._say(f"sent {sent} of {len(bodies)} documents")
        return parts

    def _keep(self, batch: list[JsonObject]) -> JsonObject:
        return self._ask("manifest::bodies", {"skills": list(batch)})


def _rows(publication: Publication, *, prune: bool) -> JsonObject:
    """All of it but the bodies."""
    bodies, prompts = publication.bodies, publication.prompts
    listed = [{"id": skill_id, "digest": digest_of(body)} for skill_id, body in (bodies or {}).items()]
    skills: JsonObject = {} if bodies is None else {"skills": list[JsonObject](listed)}
    return {**skills, **({} if prompts is None else {"prompts": list(prompts)}), "prune": prune}


def _checked(payload: JsonObject) -> JsonObject:
    if (size := _size(payload)) > LARGEST_INVOCATION:
        raise CommandFailed(
            f"This is too much for one publication: ids and prompts make {size} bytes, at most {LARGEST_INVOCATION}. "
            "Publish it in several, without --prune."
        )
    return payload


def _batches(bodies: Mapping[str, str]) -> Iterator[list[JsonObject]]:
    batch: list[JsonObject] = []
    total = 0
    for skill_id, body in bodies.items():
        entry: JsonObject = {"id": skill_id, "skill": body}
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
