"""Parses a publish request: everything that an author publishes at once. All its problems are reported together.

An invocation carries six megabytes and a folder of documents may be larger, so bodies may be sent ahead, some at a
time. The gateway stores each body under the digest that it computes itself, and stores the rows that lists show as a
*part*. The publication then names ids, digests and parts. A digest in a request only selects among bodies that the
gateway has received.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Literal

from signpost.catalogue.publishing.sent_definitions import (
    DEFINED_KINDS,
    EMPTY_SENT_CATALOGUE,
    POLICIES,
    SCHEDULES,
    SETTINGS,
    SentCatalogue,
    SentDefinitions,
    find_duplicates,
    parse_catalogue,
    parse_definitions,
)
from signpost.catalogue.publishing.sent_files import (
    NamedFile,
    SentFile,
    find_overlaps,
    parse_named_files,
    parse_sent_file,
)
from signpost.content import documents as skills
from signpost.content import prompts, subscriptions
from signpost.content.api import payloads
from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.changes import ENTRY_LISTS
from signpost.content.digests import DIGEST, digest_of
from signpost.content.model import StoredPrompt, Subscription
from signpost.content.names import problem_with_skill_id
from signpost.hazards.model import EntryKind
from signpost.model import Json, JsonObject, Principal, as_object
from signpost.records import dataclass

MOST_BODIES = 200
"""Bodies in one request, so that storing them does not take longer than an invocation may."""
MOST_PARTS = 1_000
MOST_NAMED_PROBLEMS = 5
"""Problems that the message of a refusal names."""
MOST_LISTED_PROBLEMS = 1_000
"""Problems in the data of a refusal: more might not fit into an answer."""

UNKNOWN_PUBLISHER = Principal("", "", "")
"""The publisher of content that the stack ships: it has no right."""

type ProblemKind = EntryKind | Literal["schedule", "manifest"]


@dataclass(frozen=True, slots=True)
class PublishProblem:
    """One reason why a publish request is refused."""

    kind: ProblemKind
    id: str
    """The id of the document, the path of the file, the name of the prompt, the function id or the URL; the entry's
    place in the request if it has none of these."""
    message: str


@dataclass(frozen=True, slots=True)
class SentDocument:
    """A skill document in a publish request."""

    id: str
    digest: str
    body: str | None
    """None if the body was sent ahead."""
    files: Sequence[NamedFile] = ()


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """The entries that exist after the publication. A kind that is None stays unchanged."""

    skills: Sequence[SentDocument] | None
    prompts: Sequence[StoredPrompt] | None
    triggers: Sequence[Subscription] | None
    webhooks: Sequence[Subscription] | None
    prune: bool
    """Whether existing entries are removed that the request does not have, for each kind that it has."""
    parts: Sequence[str] = ()
    files: Sequence[SentFile] = ()
    catalogue: SentCatalogue = EMPTY_SENT_CATALOGUE
    definitions: SentDefinitions | None = None
    strict: bool = False
    """Whether warnings are reasons to refuse the request."""
    dry_run: bool = False
    """Whether to answer as the publication would, without changing anything."""
    functions_follow: bool = False
    """Whether functions are placed before the publication. Then no function is reported as missing."""
    publisher: Principal = UNKNOWN_PUBLISHER
    """The principal that publishes: no schedule gets more rights than it has."""


def parse_request(payload: JsonObject) -> PublishRequest | Sequence[PublishProblem]:
    """Parse a payload. Returns all its problems if it has any."""
    reader = _RequestReader()
    request = PublishRequest(
        skills=reader.read_skills(payload["skills"]) if payload.get("skills") is not None else None,
        prompts=reader.read_prompts(payload["prompts"]) if payload.get("prompts") is not None else None,
        triggers=reader.read_triggers(payload["triggers"]) if payload.get("triggers") is not None else None,
        webhooks=reader.read_webhooks(payload["webhooks"]) if payload.get("webhooks") is not None else None,
        prune=reader.read_flag("prune", payload.get("prune", False)),
        strict=reader.read_flag("strict", payload.get("strict", False)),
        dry_run=reader.read_flag("dry_run", payload.get("dry_run", False)),
        functions_follow=reader.read_flag("functions_follow", payload.get("functions_follow", False)),
        parts=reader.read_parts(payload.get("parts", [])),
        files=reader.read_files(payload.get("files", [])),
        catalogue=reader.read_catalogue(payload),
        definitions=reader.read_definitions(payload["definitions"]) if payload.get("definitions") is not None else None,
    )
    reader.check_amount(request)
    reader.check_field_names(payload)
    return reader.problems or request


@dataclass(slots=True)
class _RequestReader:
    """Reads the parts of a request and collects problems. It continues after a problem, so that the author sees all of
    them at once."""

    problems: list[PublishProblem] = field(default_factory=list[PublishProblem])

    def check_field_names(self, payload: JsonObject) -> None:
        allowed = {
            *ENTRY_LISTS,
            *DEFINED_KINDS,
            *SETTINGS,
            POLICIES,
            SCHEDULES,
            "definitions",
            "prune",
            "strict",
            "dry_run",
            "functions_follow",
            "parts",
            "files",
        }
        self._add_problems(
            "manifest", *(f"Unknown field {quote_text(name)}." for name in payload if name not in allowed)
        )

    def read_flag(self, name: str, value: Json) -> bool:
        if not isinstance(value, bool):
            self._add_problems("manifest", f"`{name}` must be true or false.")
        return value is True

    def read_parts(self, value: Json) -> Sequence[str]:
        listed = self._read_list(value, "parts")
        named = [name for name in listed if isinstance(name, str) and DIGEST.fullmatch(name)]
        if len(named) != len(listed) or len(named) > MOST_PARTS:
            self._add_problems(
                "manifest", f"`parts` must be names that `manifest::bodies` returned, at most {MOST_PARTS}."
            )
        return named

    def read_skills(self, value: Json) -> Sequence[SentDocument]:
        listed = self._read_list(value, "skills")
        parsed = [self._read_skill(entry, f"skills[{place}]") for place, entry in enumerate(listed)]
        documents = [document for document in parsed if document is not None]
        self._check_unique("skill", [document.id for document in documents])
        self.problems += [
            PublishProblem("skill", skill_id, message)
            for skill_id, message in find_overlaps({document.id: document.files for document in documents})
        ]
        return documents

    def read_catalogue(self, payload: JsonObject) -> SentCatalogue:
        sent, problems = parse_catalogue(payload)
        self.problems += (PublishProblem(kind, name, message) for kind, name, message in problems)
        return sent

    def read_definitions(self, value: Json) -> SentDefinitions | None:
        sent = parse_definitions(value)
        if isinstance(sent, SentDefinitions):
            return sent
        self.problems += (PublishProblem("workflow", "definitions", message) for message in sent)
        return None

    def read_files(self, value: Json) -> Sequence[SentFile]:
        sent: list[SentFile] = []
        for place, entry in enumerate(self._read_list(value, "files")):
            file = parse_sent_file(entry)
            if isinstance(file, RegistryRefusal):
                self._add_refusal("file", entry, "path", f"files[{place}]", file)
            else:
                sent.append(file)
        return sent

    def check_amount(self, request: PublishRequest) -> None:
        bodies = sum(document.body is not None for document in request.skills or ()) + len(request.files)
        if bodies > MOST_BODIES:
            self._add_problems("manifest", f"The request has too many bodies: send at most {MOST_BODIES} at once.")
        if request.definitions is not None and len(request.definitions.texts) > MOST_BODIES:
            self._add_problems("manifest", f"The request has too many definitions: send at most {MOST_BODIES} at once.")

    def read_prompts(self, value: Json) -> Sequence[StoredPrompt]:
        listed = self._read_list(value, "prompts")
        parsed = [self._read_prompt(entry, f"prompts[{place}]") for place, entry in enumerate(listed)]
        sent = [prompt for prompt in parsed if prompt is not None]
        self._check_unique("prompt", [prompt.name for prompt in sent])
        return sent

    def read_triggers(self, value: Json) -> Sequence[Subscription]:
        return self._read_subscriptions(value, "trigger", "function_id", subscriptions.parse_trigger)

    def read_webhooks(self, value: Json) -> Sequence[Subscription]:
        return self._read_subscriptions(value, "webhook", "url", subscriptions.parse_webhook)

    def _read_subscriptions(
        self, value: Json, kind: ProblemKind, key: str, parse: Callable[[Json], Subscription | RegistryRefusal]
    ) -> Sequence[Subscription]:
        """Read a list of subscriptions. A later entry for the same subscription replaces an earlier one, as it does in
        a later publication."""
        sent: dict[str, Subscription] = {}
        for place, entry in enumerate(self._read_list(value, f"{kind}s")):
            subscription = parse(entry)
            if isinstance(subscription, RegistryRefusal):
                self._add_refusal(kind, entry, key, f"{kind}s[{place}]", subscription)
            else:
                sent[subscription.name] = subscription
        return list(sent.values())

    def _read_skill(self, entry: Json, place: str) -> SentDocument | None:
        document = _parse_document(entry)
        if isinstance(document, RegistryRefusal):
            self._add_refusal("skill", entry, "id", place, document)
            return None
        files, problems = parse_named_files(document.id, as_object(entry).get("files", []))
        self.problems += [PublishProblem("skill", document.id, message) for message in problems]
        return replace(document, files=files)

    def _read_prompt(self, entry: Json, place: str) -> StoredPrompt | None:
        prompt = _parse_prompt(entry)
        if isinstance(prompt, RegistryRefusal):
            self._add_refusal("prompt", entry, "name", place, prompt)
            return None
        return prompt

    def _add_refusal(self, kind: ProblemKind, entry: Json, key: str, place: str, refusal: RegistryRefusal) -> None:
        named = entry.get(key) if isinstance(entry, Mapping) else None
        self.problems.append(
            PublishProblem(kind, named if isinstance(named, str) and named else place, refusal.message)
        )

    def _read_list(self, value: Json, name: str) -> Sequence[Json]:
        if isinstance(value, list):
            return value
        self._add_problems("manifest", f"`{name}` must be a list.")
        return []

    def _check_unique(self, kind: ProblemKind, names: Sequence[str]) -> None:
        duplicates = find_duplicates(names)
        self.problems += [
            PublishProblem(kind, name, f"More than one {kind} has this name. Rename or remove all but one.")
            for name in duplicates
        ]

    def _add_problems(self, kind: ProblemKind, *messages: str) -> None:
        self.problems += [PublishProblem(kind, "manifest", message) for message in messages]


def _parse_document(entry: Json) -> SentDocument | RegistryRefusal:
    if not isinstance(entry, Mapping):
        return RegistryRefusal(
            "invalid_payload", "A skill must be {id, skill}, or {id, digest} if its body was sent before."
        )
    if "skill" not in entry:
        return _parse_document_reference(entry)
    fields = payloads.text_fields(entry, "id", "skill")
    if isinstance(fields, RegistryRefusal):
        return fields
    skill_id, body = fields
    return skills.refusal_of(skill_id, body) or SentDocument(skill_id, digest_of(body), body)


def _parse_document_reference(entry: JsonObject) -> SentDocument | RegistryRefusal:
    fields = payloads.text_fields(entry, "id", "digest")
    if isinstance(fields, RegistryRefusal):
        return fields
    skill_id, digest = fields
    if problem := problem_with_skill_id(skill_id):
        return RegistryRefusal("invalid_id", f"{problem}.")
    if not DIGEST.fullmatch(digest):
        return RegistryRefusal("invalid_payload", "`digest` must be the SHA-256 of the body, in lowercase hexadecimal.")
    return SentDocument(skill_id, digest, None)


def _parse_prompt(entry: Json) -> StoredPrompt | RegistryRefusal:
    if not isinstance(entry, Mapping):
        return RegistryRefusal("invalid_payload", "A prompt must be {name, description, function_id, arguments}.")
    fields, arguments = (
        payloads.text_fields(entry, "name", "description", "function_id"),
        payloads.prompt_arguments(entry),
    )
    if isinstance(fields, RegistryRefusal):
        return fields
    if isinstance(arguments, RegistryRefusal):
        return arguments
    name, description, function = fields
    prompt = StoredPrompt(name, description, function, tuple(arguments), "")
    return prompts.refusal_of(prompt) or prompt


def refusal_for(problems: Sequence[PublishProblem]) -> RegistryRefusal:
    """Build one refusal from all problems. The message names the first few; the data lists them."""
    messages = [f"{problem.kind} {quote_text(problem.id)}: {problem.message}" for problem in problems]
    data = [asdict(problem) for problem in problems[:MOST_LISTED_PROBLEMS]]
    more = f" And {len(messages) - MOST_NAMED_PROBLEMS} more." if len(messages) > MOST_NAMED_PROBLEMS else ""
    return RegistryRefusal(
        "invalid_content",
        f"Nothing was published. {' '.join(messages[:MOST_NAMED_PROBLEMS])}{more}",
        {"problems": data},
    )
