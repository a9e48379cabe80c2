"""Skill documents: registering, removing and listing them, and reading any `iii://` URI."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.content import markdown, uris
from signpost.content.agent_skills import skill_md
from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.cache import ContentView
from signpost.content.callers import Caller, visible_entry
from signpost.content.document_access import DocumentAccess
from signpost.content.handlers import Handlers, refuse_internal, refuse_more_sections
from signpost.content.markdown import DocumentText
from signpost.content.model import Skill, SkillChange, StoredFile
from signpost.content.names import problem_with_skill_id
from signpost.content.uris import Index, Section, SkillDocument, Target
from signpost.model import InputRequired
from signpost.strict_json import byte_length

if TYPE_CHECKING:
    from signpost.content.ports import Bodies, ContentStore
    from signpost.ports import Timestamps

LARGEST_BODY = 262_144
LONGEST_TITLE = 1000
"""Characters of the title in lists and in the index. The body keeps the whole heading."""
LONGEST_HEADINGS = 400
"""Characters of the headings that searches cover. The lists of thousands of documents are in memory with them."""
MOST_URIS = 50
LARGEST_FETCH_ANSWER = 4_000_000
"""Bytes. A Lambda response has at most 6 MB, and text grows when it is encoded as JSON."""
FETCH_FUNCTION = "skill::fetch"
"""The only registry function that a section may name. Called without URIs, it only refuses and says that it needs
URIs."""


class Skills:
    """Registers, lists and reads skill documents, and reads the index and sections."""

    def __init__(
        self,
        *,
        content: "ContentStore",
        bodies: "Bodies",
        view: ContentView,
        handlers: Handlers,
        access: DocumentAccess,
        timestamps: "Timestamps",
    ) -> None:
        self._content = content
        self._access = access
        self._bodies = bodies
        self._view = view
        self._handlers = handlers
        self._timestamps = timestamps

    def register(self, skill_id: str, body: str, caller: Caller) -> Skill | RegistryRefusal:
        if refusal := refusal_of(skill_id, body):
            return refusal
        skill = build_skill(skill_id, body, self._timestamps.now())
        # The body is stored before the row: no reader may find a row without its body. A body without a row does no
        # harm.
        if not self._has_body(skill, caller):
            self._bodies.keep(caller.tenant, skill.digest, body.encode())
        self._content.apply(caller.tenant, [SkillChange(skill_id, skill)])
        return skill

    def unregister(self, skill_id: str, caller: Caller) -> bool | RegistryRefusal:
        """Remove a document. Returns whether it existed."""
        if problem := problem_with_skill_id(skill_id):
            return RegistryRefusal("invalid_id", f"{problem}.")
        return self._content.apply(caller.tenant, [SkillChange(skill_id, None)])[0] is not None

    def list_readable(self, caller: Caller) -> Sequence[Skill]:
        """List the documents that the caller may read, sorted by the bytes of the id."""
        if caller.tenant is None:
            return self._content.skills(None)
        skills = self._view.skills(caller.tenant, fresh=caller.fresh)
        return self._access.filter(caller.principal, skills)

    def read(self, uri: str, caller: Caller) -> DocumentText | RegistryRefusal:
        """Read the document at a URI. The URI is not decoded or normalized."""
        target = target_of(uri)
        answer = target if isinstance(target, RegistryRefusal) else self._read_target(target, caller)
        return replace(answer, data={**answer.data, "uri": uri}) if isinstance(answer, RegistryRefusal) else answer

    def fetch(self, requested_uris: Sequence[str], caller: Caller) -> str | RegistryRefusal:
        """Read the documents at all these URIs into one text. All URIs are checked before the first one is read."""
        requested = [uri for uri in map(str.strip, requested_uris) if uri]
        if refusal := _problem_with_batch(requested) or _problem_with_sections(requested, caller):
            return refusal
        parts: list[tuple[str, str]] = []
        remaining_bytes = LARGEST_FETCH_ANSWER
        for uri, document in self._read_each_uri(requested, caller):
            if isinstance(document, RegistryRefusal):
                return document if len(requested) == 1 else _refuse_among_others(document)
            remaining_bytes -= byte_length(document.text)
            if remaining_bytes < 0:
                return _oversize_refusal(uri, len(parts))
            parts.append((uri, document.text))
        return markdown.join_parts(parts)

    def read_document(self, skill_id: str, caller: Caller) -> tuple[Skill, str] | None:
        """Read the document that the caller sees under this id, with its body."""
        visible = self._find(skill_id, caller)
        if visible is None:
            return None
        scope, skill = visible
        return skill, self._bodies.read(scope, skill.digest).decode()

    def read_file(self, skill_id: str, path: str, caller: Caller) -> tuple[StoredFile, bytes] | None:
        """Read a file of the skill that the caller sees under this id: its row and its bytes."""
        visible = self._find(skill_id, caller)
        if visible is None:
            return None
        scope, skill = visible
        file = next((file for file in skill.files if file.path == path), None)
        return None if file is None else (file, self._bodies.read(scope, file.digest))

    def _find(self, skill_id: str, caller: Caller) -> tuple[str | None, Skill] | None:
        """Find the visible document, with the tenant that owns it. A denied id is not looked up."""
        if not self._access.admits(caller.principal, skill_id):
            return None
        return visible_entry(self._content.skill(caller.reading_tenant, skill_id), caller)

    def _read_each_uri(
        self, requested: Sequence[str], caller: Caller
    ) -> Iterator[tuple[str, DocumentText | RegistryRefusal]]:
        for uri in requested:
            answer = self.read(uri, caller)
            yield uri, _with_uri(uri, answer) if isinstance(answer, RegistryRefusal) else answer

    def _read_target(self, target: Target, caller: Caller) -> DocumentText | RegistryRefusal:
        match target:
            case Index():
                return DocumentText(markdown.build_index(self.list_readable(caller)))
            case SkillDocument(skill_id):
                return self._read_document_text(skill_id, caller)
            case Section(function):
                return self._read_section(function, caller)

    def _read_document_text(self, skill_id: str, caller: Caller) -> DocumentText | RegistryRefusal:
        document = self.read_document(skill_id, caller)
        if document is None:
            return RegistryRefusal(
                "not_found", f"Skill not found: {skill_id}. Read {uris.INDEX} for the list of skills."
            )
        return DocumentText(document[1])

    def _read_section(self, function: str, caller: Caller) -> DocumentText | RegistryRefusal:
        answer = (
            self.fetch([], caller) if function == FETCH_FUNCTION else self._handlers.write_section(function, caller)
        )
        return answer if isinstance(answer, RegistryRefusal) else markdown.section_text(answer)

    def _has_body(self, skill: Skill, caller: Caller) -> bool:
        layers = self._content.skill(caller.reading_tenant, skill.id)
        current = layers.shipped if caller.tenant is None else layers.own
        return current is not None and current.digest == skill.digest


def refusal_of(skill_id: str, body: str) -> RegistryRefusal | None:
    """Return the reason why the document cannot be registered; None if it can."""
    if problem := problem_with_skill_id(skill_id):
        return RegistryRefusal("invalid_id", f"{problem}.")
    if not body:
        return RegistryRefusal("invalid_content", f"skill must be non-empty: the body of {skill_id} is empty.")
    if (size := byte_length(body)) > LARGEST_BODY:
        return RegistryRefusal(
            "invalid_content", f"skill is too large: {size} bytes, at most {LARGEST_BODY}. Split it up."
        )
    return None


def build_skill(skill_id: str, body: str, registered_at: str) -> Skill:
    """Build the row of a document. It holds all that lists and the index show, so that these need no body."""
    encoded = body.encode()
    skill = Skill(
        id=skill_id,
        title=markdown.truncate(markdown.title_of(body) or skill_id, LONGEST_TITLE),
        description=markdown.description_of(body),
        size=len(encoded),
        registered_at=registered_at,
        digest=hashlib.sha256(encoded).hexdigest(),
        headings=markdown.headings_of(body, LONGEST_HEADINGS),
    )
    return replace(skill, manifest=skill_md.build_skill_md(skill, body))


def target_of(uri: str) -> Target | RegistryRefusal:
    """Parse a URI into its target. Refuses invalid URIs and sections of internal functions."""
    target = uris.parse(uri)
    return (refuse_internal(target.function) or target) if isinstance(target, Section) else target


def _problem_with_batch(requested: Sequence[str]) -> RegistryRefusal | None:
    if not requested:
        return RegistryRefusal("invalid_payload", "Provide uri or uris: one iii:// URI, or a list of them.")
    if len(requested) > MOST_URIS:
        return RegistryRefusal(
            "too_much", f"{len(requested)} URIs are too many at once: fetch at most {MOST_URIS} at a time."
        )
    for uri in requested:
        target = target_of(uri)
        if isinstance(target, RegistryRefusal):
            return _with_uri(uri, target)
    return None


def _problem_with_sections(requested: Sequence[str], caller: Caller) -> RegistryRefusal | None:
    sections = sum(isinstance(target_of(uri), Section) for uri in requested)
    remaining = caller.sections.remaining
    return refuse_more_sections(remaining) if sections > remaining else None


def _with_uri(uri: str, refusal: RegistryRefusal) -> RegistryRefusal:
    message = refusal.message if uri in refusal.message else f"{quote_text(uri)}: {refusal.message}"
    return replace(refusal, message=message, data={**refusal.data, "uri": uri})


def _refuse_among_others(refusal: RegistryRefusal) -> RegistryRefusal:
    """Return the refusal for one of several documents. Their questions could not be told apart by key, so none of them
    can ask."""
    if not isinstance(refusal.asked_back, InputRequired):
        return refusal
    return replace(refusal, message=f"{refusal.message} Fetch its URI alone.", asked_back=None)


def _oversize_refusal(uri: str, parts_before: int) -> RegistryRefusal:
    advice = f"Fetch the {parts_before} before it first" if parts_before else "Read it alone"
    return RegistryRefusal(
        "too_much",
        f"With {quote_text(uri)} the answer would be longer than {LARGEST_FETCH_ANSWER} bytes. {advice}.",
        {"uri": uri},
    )
