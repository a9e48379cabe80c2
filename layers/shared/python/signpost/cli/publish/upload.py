"""Sends a publication to the registry: asks for the changes, sends new bodies ahead, and then publishes it whole."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256

from signpost.cli.failure import CommandFailed
from signpost.cli.publish.collection import CollectedPublication
from signpost.cli.publish.definitions import entries_of, rows_of, slice_of
from signpost.cli.terminal import ShowLine, make_printable
from signpost.content.digests import digest_of
from signpost.model import JsonObject, as_object
from signpost.records import dataclass

LARGEST_INVOCATION = 5_500_000
"""In bytes; the limit of Lambda is 6 MB."""
LARGEST_BATCH, MOST_AT_ONCE = 3_500_000, 100
"""The size of a batch of bodies: bytes as JSON, and number. The registry stores such a batch in a few seconds."""
SENT_AT_ONCE = 4
"""The number of batches that are sent in parallel."""

type RegistryCall = Callable[[str, JsonObject], JsonObject]
"""Calls a function of the registry. Raises CommandFailed if the registry refuses the call."""


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One line of the plan of a publication."""

    sign: str
    """+ added, ~ changed, = the same, - removed."""
    name: str


NAME_PREFIXES = {
    "skills": "",
    "prompts": "prompt:",
    "triggers": "",
    "webhooks": "",
    "workflows": "workflow:",
    "capabilities": "capability:",
    "connections": "connection:",
    "policies": "policy:",
    "schedules": "schedule:",
}
"""The prefix of the names of each kind. The names of triggers and webhooks contain their prefix already."""
SIGNS = {"added": "+", "changed": "~", "same": "=", "removed": "-"}


class RemotePublisher:
    """Plans and publishes publications by calls of the registry function."""

    def __init__(self, call_registry: RegistryCall, *, show_line: ShowLine) -> None:
        self._call_registry = call_registry
        self._show_line = show_line
        self._shown: list[str] = []
        """The warnings of the registry that were shown."""

    def plan(
        self,
        publication: CollectedPublication,
        *,
        prune: bool,
        tenant: str | None = None,
        functions_follow: bool = False,
    ) -> Sequence[ChangeLine]:
        """Return the changes that the publication would make, sorted by name. With `tenant`, raises CommandFailed if
        the registry would publish for another tenant. With `functions_follow`, functions that no executor hosts yet are
        placed before the publication."""
        rows = {**_publication_rows(publication, prune=prune), **_following(functions_follow=functions_follow)}
        answer = self._call_registry("manifest::plan", _check_size(rows))
        _check_tenant(answer, tenant)
        self._show_warnings(answer, publication)
        changes = [change for kind, prefix in NAME_PREFIXES.items() for change in _changes(answer, kind, prefix)]
        return sorted(changes, key=lambda change: change.name)

    def preview(
        self,
        publication: CollectedPublication,
        planned: Sequence[ChangeLine],
        *,
        prune: bool,
        functions_follow: bool = False,
    ) -> Sequence[JsonObject]:
        """Show and return the warnings of a planned publication, without publishing it. Raises CommandFailed if the
        registry would refuse it. The bodies that are new or changed are sent, since the registry judges only
        bodies that it has received."""
        rows = {
            **_publication_rows(publication, prune=prune),
            **_following(functions_follow=functions_follow),
            "parts": self._send_bodies(publication, planned),
            "dry_run": True,
        }
        answer = self._call_registry("manifest::publish", _check_size(rows))
        self._show_warnings(answer, publication)
        return warnings_of(answer)

    def publish(self, publication: CollectedPublication, planned: Sequence[ChangeLine], *, prune: bool) -> None:
        """Send the bodies that are new or changed, and then the publication, which refers to them."""
        rows = {**_publication_rows(publication, prune=prune), "parts": self._send_bodies(publication, planned)}
        answer = self._call_registry("manifest::publish", _check_size(rows))
        self._show_warnings(answer, publication)

    def _send_bodies(self, publication: CollectedPublication, planned: Sequence[ChangeLine]) -> list[str]:
        """Send the bodies that are new or changed, and return the ids of their parts."""
        new = {change.name for change in planned if change.sign in "+~"}
        bodies = [
            {"id": skill_id, "skill": body} for skill_id, body in (publication.bodies or {}).items() if skill_id in new
        ]
        definitions = [
            entry
            for entry in entries_of(publication.definitions)
            if f"{NAME_PREFIXES[str(entry['part'])]}{entry['id']}" in new
        ]
        return [
            *self._send_batches(bodies, "documents", lambda batch: {"skills": batch}),
            *self._send_batches(self._find_unsent_files(publication), "files", lambda batch: {"files": batch}),
            *self._send_batches(definitions, "definitions", lambda batch: {"definitions": slice_of(batch)}),
        ]

    def _show_warnings(self, answer: JsonObject, publication: CollectedPublication) -> None:
        """Show the warnings of the registry that were not found in the files: those about names that the tenant has,
        and about functions."""
        for entry in warnings_of(answer):
            kind, name, message, code = (entry.get(field) for field in ("kind", "id", "message", "code"))
            place = f" line {entry['line']}:" if entry.get("line") else ""
            line = make_printable(f"{kind} {name}:{place} warning: {message} [{code}]")
            is_known = line in self._shown or any(str(message) in warning for warning in publication.warnings)
            if not is_known:
                self._shown.append(line)
                self._show_line(line)

    def _find_unsent_files(self, publication: CollectedPublication) -> Sequence[JsonObject]:
        """Return the files that the registry does not have yet."""
        if not publication.files:
            return []
        contents = {
            (path, sha256(body).hexdigest()): body
            for files in publication.files.values()
            for path, body in files.items()
        }
        rows = _check_size({**_publication_rows(publication, prune=False), "strict": False})  # it was judged before
        unsent = self._call_registry("manifest::plan", rows).get("unsent")
        entries = [as_object(entry) for entry in unsent] if isinstance(unsent, list) else []
        keys = [(str(entry.get("path")), str(entry.get("digest"))) for entry in entries]
        return [{"path": key[0], "base64": b64encode(contents[key]).decode()} for key in keys if key in contents]

    def _send_batches(
        self, entries: Sequence[JsonObject], label: str, payload_of: Callable[[list[JsonObject]], JsonObject]
    ) -> list[str]:
        """Send the entries in batches, and return the ids of the parts under which the registry stores them."""
        batches = list(_split_batches(entries))
        parts: list[str] = []
        sent = 0
        with ThreadPoolExecutor(SENT_AT_ONCE) as pool:
            answers = pool.map(partial(self._call_registry, "manifest::bodies"), map(payload_of, batches))
            for batch, answer in zip(batches, answers, strict=True):
                parts.append(str(answer.get("part")))
                sent += len(batch)
                if len(batches) > 1:
                    self._show_line(f"sent {sent} of {len(entries)} {label}")
        return parts


def warnings_of(answer: JsonObject) -> Sequence[JsonObject]:
    listed = answer.get("warnings")
    return [as_object(entry) for entry in listed] if isinstance(listed, list) else []


def _check_tenant(answer: JsonObject, tenant: str | None) -> None:
    planned = answer.get("tenant")
    if tenant is not None and isinstance(planned, str) and planned != tenant:
        raise CommandFailed(
            f"The content would be published for the tenant {planned}, and the functions are for {tenant}. Set "
            f"SIGNPOST_AUTHORIZATION to a key of {tenant} with the permission signpost.admin, or use --no-publish"
        )


def _publication_rows(publication: CollectedPublication, *, prune: bool) -> JsonObject:
    """Build the publication without its bodies: documents and files are named by id and digest."""
    bodies = publication.bodies
    skill_rows = [
        {"id": skill_id, "digest": digest_of(body), **_file_rows(publication.files.get(skill_id, {}))}
        for skill_id, body in (bodies or {}).items()
    ]
    skills: JsonObject = {} if bodies is None else {"skills": list[JsonObject](skill_rows)}
    lists = {name: list(entries) for name, entries in publication.lists.items()}
    strict: JsonObject = {"strict": True} if publication.strict else {}
    return {**skills, **lists, **rows_of(publication.definitions), "prune": prune, **strict}


def _following(*, functions_follow: bool) -> JsonObject:
    return {"functions_follow": True} if functions_follow else {}


def _file_rows(files: Mapping[str, bytes]) -> JsonObject:
    rows = [{"path": path, "digest": sha256(body).hexdigest()} for path, body in files.items()]
    return {"files": list[JsonObject](rows)} if rows else {}


def _check_size(payload: JsonObject) -> JsonObject:
    if (size := _size(payload)) > LARGEST_INVOCATION:
        raise CommandFailed(
            f"The publication is too large: ids, prompts and connections take {size} bytes, at most "
            f"{LARGEST_INVOCATION}. Publish it in several parts, without --prune."
        )
    return payload


def _split_batches(entries: Sequence[JsonObject]) -> Iterator[list[JsonObject]]:
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


def _changes(answer: JsonObject, kind: str, prefix: str) -> Iterator[ChangeLine]:
    for change_kind, names in as_object(answer.get(kind)).items():
        if isinstance(names, list):
            yield from (ChangeLine(SIGNS[change_kind], f"{prefix}{name}") for name in names)
