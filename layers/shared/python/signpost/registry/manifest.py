"""What an author publishes at once, as it is sent: read whole, with everything that is wrong with it.

An invocation carries six megabytes and a folder of documents may be larger, so bodies may go first, some at a time:
each is kept under the digest that is computed here, and what lists show of them is kept as a *part*. What is published
then names ids, digests and parts. A digest that somebody sends only chooses among bodies that were seen here.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Literal

from signpost.content import StoredPrompt, Subscription
from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.registry import payloads, prompts, skills, subscriptions
from signpost.registry.digests import DIGEST, digest_of
from signpost.registry.names import problem_with_skill_id
from signpost.registry.refusals import Refused, quoted
from signpost.registry.sent_definitions import (
    DEFINED,
    NOTHING_SAID,
    POLICIES,
    SETTINGS,
    Said,
    SentDefinitions,
    said_in,
    sent_definitions,
)
from signpost.registry.sent_files import NamedFile, SentFile, named_files, overlaps, sent_file

MOST_BODIES = 200
"""At once, so that keeping them does not take longer than an invocation may."""
MOST_PARTS = 1_000
LISTS = ("skills", "prompts", "triggers", "webhooks")
SHOWN_IN_WORDS = 5
MOST_SAID = 1_000
"""Problems as data: more are more than an answer may carry."""

type KindOf = Literal["skill", "file", "prompt", "trigger", "webhook", "workflow", "capability", "policy", "manifest"]


@dataclass(frozen=True, slots=True)
class Problem:
    kind: KindOf
    id: str
    """Of the document, the path of the file, or the name of the prompt, the function, the URL; where it has none, its
    place."""
    message: str


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    digest: str
    body: str | None
    """None if it was sent before."""
    files: Sequence[NamedFile] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is there after the publication; what it does not speak of (None) stays as it is."""

    skills: Sequence[Document] | None
    prompts: Sequence[StoredPrompt] | None
    triggers: Sequence[Subscription] | None
    webhooks: Sequence[Subscription] | None
    prune: bool
    """Whether entries of a kind it speaks of are removed if it does not have them."""
    parts: Sequence[str] = ()
    files: Sequence[SentFile] = ()
    said: Said = NOTHING_SAID
    """Of the catalogue."""
    definitions: SentDefinitions | None = None


def read(payload: JsonObject) -> Manifest | Sequence[Problem]:
    """What a payload describes, or everything that is wrong with it."""
    reader = _Reader()
    manifest = Manifest(
        skills=reader.skills(payload["skills"]) if payload.get("skills") is not None else None,
        prompts=reader.prompts(payload["prompts"]) if payload.get("prompts") is not None else None,
        triggers=reader.triggers(payload["triggers"]) if payload.get("triggers") is not None else None,
        webhooks=reader.webhooks(payload["webhooks"]) if payload.get("webhooks") is not None else None,
        prune=reader.prune(payload.get("prune", False)),
        parts=reader.parts(payload.get("parts", [])),
        files=reader.files(payload.get("files", [])),
        said=reader.said(payload),
        definitions=reader.definitions(payload["definitions"]) if payload.get("definitions") is not None else None,
    )
    reader.check_amount(manifest)
    reader.check_names(payload)
    return reader.problems or manifest


@dataclass(slots=True)
class _Reader:
    """Reads on after a problem, so that an author hears of all of them at once."""

    problems: list[Problem] = field(default_factory=list[Problem])

    def check_names(self, payload: JsonObject) -> None:
        known = {*LISTS, *DEFINED, *SETTINGS, POLICIES, "definitions", "prune", "parts", "files"}
        self._say("manifest", *(f"There is no field {quoted(name)}." for name in payload if name not in known))

    def prune(self, value: Json) -> bool:
        if not isinstance(value, bool):
            self._say("manifest", "`prune` must be true or false.")
        return value is True

    def parts(self, value: Json) -> Sequence[str]:
        listed = self._list(value, "parts")
        named = [name for name in listed if isinstance(name, str) and DIGEST.fullmatch(name)]
        if len(named) != len(listed) or len(named) > MOST_PARTS:
            self._say("manifest", f"`parts` are what `manifest::bodies` answered, at most {MOST_PARTS}.")
        return named

    def skills(self, value: Json) -> Sequence[Document]:
        listed = self._list(value, "skills")
        read = [self._skill(entry, f"skills[{place}]") for place, entry in enumerate(listed)]
        documents = [document for document in read if document is not None]
        self._check_unique("skill", [document.id for document in documents])
        self.problems += [
            Problem("skill", skill_id, message)
            for skill_id, message in overlaps({one.id: one.files for one in documents})
        ]
        return documents

    def said(self, payload: JsonObject) -> Said:
        said, problems = said_in(payload)
        self.problems += (Problem(kind, name, message) for kind, name, message in problems)
        return said

    def definitions(self, value: Json) -> SentDefinitions | None:
        sent = sent_definitions(value)
        if isinstance(sent, SentDefinitions):
            return sent
        self.problems += (Problem("workflow", "definitions", message) for message in sent)
        return None

    def files(self, value: Json) -> Sequence[SentFile]:
        sent: list[SentFile] = []
        for place, entry in enumerate(self._list(value, "files")):
            one = sent_file(entry)
            if isinstance(one, Refused):
                self._refuse("file", entry, "path", f"files[{place}]", one)
            else:
                sent.append(one)
        return sent

    def check_amount(self, manifest: Manifest) -> None:
        bodies = sum(document.body is not None for document in manifest.skills or ()) + len(manifest.files)
        if bodies > MOST_BODIES:
            self._say("manifest", f"These are too many bodies at once: send {MOST_BODIES} at most.")
        if manifest.definitions is not None and len(manifest.definitions.texts) > MOST_BODIES:
            self._say("manifest", f"These are too many definitions at once: send {MOST_BODIES} at most.")

    def prompts(self, value: Json) -> Sequence[StoredPrompt]:
        listed = self._list(value, "prompts")
        read = [self._prompt(entry, f"prompts[{place}]") for place, entry in enumerate(listed)]
        found = [prompt for prompt in read if prompt is not None]
        self._check_unique("prompt", [prompt.name for prompt in found])
        return found

    def triggers(self, value: Json) -> Sequence[Subscription]:
        return self._subscriptions(value, "trigger", "function_id", subscriptions.trigger_of)

    def webhooks(self, value: Json) -> Sequence[Subscription]:
        return self._subscriptions(value, "webhook", "url", subscriptions.webhook_of)

    def _subscriptions(
        self, value: Json, kind: KindOf, key: str, read_one: Callable[[Json], Subscription | Refused]
    ) -> Sequence[Subscription]:
        """The same again replaces the one before it, as it does in a later publication."""
        found: dict[str, Subscription] = {}
        for place, entry in enumerate(self._list(value, f"{kind}s")):
            one = read_one(entry)
            if isinstance(one, Refused):
                self._refuse(kind, entry, key, f"{kind}s[{place}]", one)
            else:
                found[one.name] = one
        return list(found.values())

    def _skill(self, entry: Json, place: str) -> Document | None:
        found = _document(entry)
        if isinstance(found, Refused):
            self._refuse("skill", entry, "id", place, found)
            return None
        files, problems = named_files(found.id, as_object(entry).get("files", []))
        self.problems += [Problem("skill", found.id, message) for message in problems]
        return replace(found, files=files)

    def _prompt(self, entry: Json, place: str) -> StoredPrompt | None:
        found = _prompt(entry)
        if isinstance(found, Refused):
            self._refuse("prompt", entry, "name", place, found)
            return None
        return found

    def _refuse(self, kind: KindOf, entry: Json, key: str, place: str, refused: Refused) -> None:
        named = entry.get(key) if isinstance(entry, Mapping) else None
        self.problems.append(Problem(kind, named if isinstance(named, str) and named else place, refused.message))

    def _list(self, value: Json, name: str) -> Sequence[Json]:
        if isinstance(value, list):
            return value
        self._say("manifest", f"`{name}` must be a list.")
        return []

    def _check_unique(self, kind: KindOf, names: Sequence[str]) -> None:
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        self.problems += [Problem(kind, name, f"There is more than one {kind} of this name.") for name in twice]

    def _say(self, kind: KindOf, *messages: str) -> None:
        self.problems += [Problem(kind, "manifest", message) for message in messages]


def _document(entry: Json) -> Document | Refused:
    if not isinstance(entry, Mapping):
        return Refused("invalid_payload", "A skill is {id, skill}, or {id, digest} if its body was sent before.")
    if "skill" not in entry:
        return _sent_before(entry)
    fields = payloads.texts(entry, "id", "skill")
    if isinstance(fields, Refused):
        return fields
    skill_id, body = fields
    return skills.refusal_of(skill_id, body) or Document(skill_id, digest_of(body), body)


def _sent_before(entry: JsonObject) -> Document | Refused:
    fields = payloads.texts(entry, "id", "digest")
    if isinstance(fields, Refused):
        return fields
    skill_id, digest = fields
    if problem := problem_with_skill_id(skill_id):
        return Refused("invalid_id", f"{problem}.")
    if not DIGEST.fullmatch(digest):
        return Refused("invalid_payload", "`digest` must be the SHA-256 of the body, in lowercase hexadecimal.")
    return Document(skill_id, digest, None)


def _prompt(entry: Json) -> StoredPrompt | Refused:
    if not isinstance(entry, Mapping):
        return Refused("invalid_payload", "A prompt is {name, description, function_id, arguments}.")
    fields, arguments = payloads.texts(entry, "name", "description", "function_id"), payloads.prompt_arguments(entry)
    if isinstance(fields, Refused):
        return fields
    if isinstance(arguments, Refused):
        return arguments
    name, description, function = fields
    prompt = StoredPrompt(name, description, function, tuple(arguments), "")
    return prompts.refusal_of(prompt) or prompt


def refusal_for(problems: Sequence[Problem]) -> Refused:
    """All of them in one, for people and as data."""
    said = [f"{problem.kind} {quoted(problem.id)}: {problem.message}" for problem in problems]
    listed = [asdict(problem) for problem in problems[:MOST_SAID]]
    more = f" And {len(said) - SHOWN_IN_WORDS} more." if len(said) > SHOWN_IN_WORDS else ""
    return Refused(
        "invalid_content",
        f"Nothing was published. {' '.join(said[:SHOWN_IN_WORDS])}{more}",
        {"problems": listed},
    )
