"""Skill documents: how they come and go, and everything that can be read at an `iii://` URI."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from signpost.content import Skill, SkillChange, StoredFile
from signpost.policy import items
from signpost.policy.access import Accesses
from signpost.ports import Bodies, ContentStore, Timestamps
from signpost.registry import manifests, markdown, uris
from signpost.registry.callers import Caller, uppermost
from signpost.registry.handlers import Handlers, guarded
from signpost.registry.markdown import Text
from signpost.registry.names import problem_with_skill_id
from signpost.registry.refusals import Refused, quoted
from signpost.registry.uris import Index, Section, SkillDocument, Target
from signpost.registry.view import ContentView

LARGEST_BODY = 262_144
LONGEST_TITLE = 1000
"""Characters of a heading that lists and the index show; the body keeps all of it."""
MOST_URIS = 50
LARGEST_FETCH = 4_000_000
"""Bytes. A Lambda answers with 6 MB at most, and text grows when it becomes JSON."""
FETCH = "skill::fetch"
"""The one function of the registry that a section may name; without URIs it only says what it needs."""


class Skills:
    def __init__(
        self,
        *,
        content: ContentStore,
        bodies: Bodies,
        view: ContentView,
        handlers: Handlers,
        accesses: Accesses,
        timestamps: Timestamps,
    ) -> None:
        self._content = content
        self._accesses = accesses
        self._bodies = bodies
        self._view = view
        self._handlers = handlers
        self._timestamps = timestamps

    def register(self, skill_id: str, body: str, caller: Caller) -> Skill | Refused:
        if refused := refusal_of(skill_id, body):
            return refused
        skill = described(skill_id, body, self._timestamps.now())
        # The body goes first: a row without its body must never be seen. A body without a row does no harm.
        if not self._has_body(skill, caller):
            self._bodies.keep(caller.tenant, skill.digest, body.encode())
        self._content.apply(caller.tenant, [SkillChange(skill_id, skill)])
        return skill

    def unregister(self, skill_id: str, caller: Caller) -> bool | Refused:
        """Whether it was there."""
        if problem := problem_with_skill_id(skill_id):
            return Refused("invalid_id", f"{problem}.")
        return self._content.apply(caller.tenant, [SkillChange(skill_id, None)])[0] is not None

    def all(self, caller: Caller) -> Sequence[Skill]:
        """Those that the caller may read, by id, in the order of its bytes."""
        if caller.tenant is None:
            return self._content.skills(None)
        found, access = self._view.skills(caller.tenant, fresh=caller.fresh), self._accesses.of(caller.principal)
        return found if access.is_open else [skill for skill in found if access.allows(items.document(skill.id))]

    def read(self, uri: str, caller: Caller) -> Text | Refused:
        """What is at the URI, which is taken as it is."""
        target = target_of(uri)
        found = target if isinstance(target, Refused) else self._text(target, caller)
        return replace(found, data={**found.data, "uri": uri}) if isinstance(found, Refused) else found

    def fetch(self, wanted: Sequence[str], caller: Caller) -> str | Refused:
        """What is at all of these URIs in one text, or why not: nothing is read before all of them are good."""
        asked = [uri for uri in map(str.strip, wanted) if uri]
        if refused := _problem_with_batch(asked):
            return refused
        parts: list[tuple[str, str]] = []
        room = LARGEST_FETCH
        for uri, found in self._read_each(asked, caller):
            if isinstance(found, Refused):
                return found
            room -= _size(found.text)
            if room < 0:
                return _too_large(uri, len(parts))
            parts.append((uri, found.text))
        return markdown.fetched(parts)

    def stored(self, skill_id: str, caller: Caller) -> tuple[Skill, str] | None:
        """The document that the caller sees under this id, with its body."""
        found = self._found(skill_id, caller)
        if found is None:
            return None
        scope, skill = found
        return skill, self._bodies.read(scope, skill.digest).decode()

    def file(self, skill_id: str, path: str, caller: Caller) -> tuple[StoredFile, bytes] | None:
        """A file of the skill that the caller sees under this id, with what is in it."""
        found = self._found(skill_id, caller)
        if found is None:
            return None
        scope, skill = found
        file = next((file for file in skill.files if file.path == path), None)
        return None if file is None else (file, self._bodies.read(scope, file.digest))

    def _found(self, skill_id: str, caller: Caller) -> tuple[str | None, Skill] | None:
        """With whose it is. What is denied is not looked for."""
        if not self._accesses.of(caller.principal).admits(items.document(skill_id)):
            return None
        return uppermost(self._content.skill(_reader(caller), skill_id), caller)

    def _read_each(self, asked: Sequence[str], caller: Caller) -> Iterator[tuple[str, Text | Refused]]:
        for uri in asked:
            found = self.read(uri, caller)
            yield uri, _at(uri, found) if isinstance(found, Refused) else found

    def _text(self, target: Target, caller: Caller) -> Text | Refused:
        match target:
            case Index():
                return Text(markdown.index(self.all(caller)))
            case SkillDocument(skill_id):
                return self._stored(skill_id, caller)
            case Section(function):
                return self._section(function, caller)

    def _stored(self, skill_id: str, caller: Caller) -> Text | Refused:
        found = self.stored(skill_id, caller)
        if found is None:
            return Refused("not_found", f"Skill not found: {skill_id}. {uris.INDEX} names those there are.")
        return Text(found[1])

    def _section(self, function: str, caller: Caller) -> Text | Refused:
        answer = self.fetch([], caller) if function == FETCH else self._handlers.write(function, caller)
        return answer if isinstance(answer, Refused) else markdown.section_text(answer)

    def _has_body(self, skill: Skill, caller: Caller) -> bool:
        layers = self._content.skill(_reader(caller), skill.id)
        now = layers.shipped if caller.tenant is None else layers.own
        return now is not None and now.digest == skill.digest


def refusal_of(skill_id: str, body: str) -> Refused | None:
    """Why this cannot be registered."""
    if problem := problem_with_skill_id(skill_id):
        return Refused("invalid_id", f"{problem}.")
    if not body:
        return Refused("invalid_content", f"skill must be non-empty: the body of {skill_id} has nothing in it.")
    if (size := _size(body)) > LARGEST_BODY:
        return Refused("invalid_content", f"skill is too large: {size} bytes, at most {LARGEST_BODY}. Split it up.")
    return None


def described(skill_id: str, body: str, registered_at: str) -> Skill:
    """The row of a document: everything that lists and the index show, so that they need no body."""
    written = body.encode()
    skill = Skill(
        id=skill_id,
        title=markdown.truncated(markdown.title(body) or skill_id, LONGEST_TITLE),
        description=markdown.description(body),
        size=len(written),
        registered_at=registered_at,
        digest=hashlib.sha256(written).hexdigest(),
    )
    return replace(skill, manifest=manifests.manifest_of(skill, body))


def target_of(uri: str) -> Target | Refused:
    """What the URI leads to, if it may be read at all."""
    target = uris.parse(uri)
    return (guarded(target.function) or target) if isinstance(target, Section) else target


def _reader(caller: Caller) -> str:
    """Whoever reads what is shipped reads it as some tenant."""
    return caller.principal.tenant if caller.tenant is None else caller.tenant


def _problem_with_batch(asked: Sequence[str]) -> Refused | None:
    if not asked:
        return Refused("invalid_payload", "Provide uri or uris: one iii:// URI, or a list of them.")
    if len(asked) > MOST_URIS:
        return Refused("too_much", f"{len(asked)} URIs are too many at once: fetch at most {MOST_URIS} at a time.")
    for uri in asked:
        target = target_of(uri)
        if isinstance(target, Refused):
            return _at(uri, target)
    return None


def _at(uri: str, refused: Refused) -> Refused:
    named = refused.message if uri in refused.message else f"{quoted(uri)}: {refused.message}"
    return replace(refused, message=named, data={**refused.data, "uri": uri})


def _too_large(uri: str, before: int) -> Refused:
    advice = f"Fetch the {before} before it first" if before else "Read it alone"
    return Refused(
        "too_much", f"With {quoted(uri)} the answer would be longer than {LARGEST_FETCH} bytes. {advice}.", {"uri": uri}
    )


def _size(text: str) -> int:
    # What an executor answers may contain half a surrogate pair.
    return len(text.encode("utf-8", "surrogatepass"))
