"""The kinds of content changes, a row each: the tag, the text form and the event of a change.

The text form is the same in the rows of entries, in the outbox and in change batches. An entry is one text with all its
members: a list reads thousands of entries, and most of its time goes into decoding attributes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from signpost.content.model import (
    CatalogueChange,
    Change,
    ChangeEvent,
    PolicyChange,
    PromptChange,
    ScopeNames,
    Skill,
    SkillChange,
    SkillMd,
    StoredFile,
    StoredPrompt,
    Subscription,
    SubscriptionChange,
    TriggerType,
    WorkflowChange,
)
from signpost.model import PromptArgument
from signpost.records import dataclass

type EntryName = tuple[str, str]
"""The tag of a kind of change, and the id or name of the changed entry."""


@dataclass(frozen=True, slots=True)
class EventForm:
    """How an event names its type and the changed entry."""

    type: TriggerType
    key: str
    """The member of the detail that has the id or name of the entry."""
    uri: str
    """The URI of the entry, with `{}` in the place of its id or name."""
    has_digest: bool = False
    """Whether the detail has the digest of the new definition or rule."""
    is_separately_numbered: bool = False
    """Whether its sequence numbers are not those of the content."""


@dataclass(frozen=True, slots=True)
class ChangeKind[Changed: Change, Entry]:
    """One kind of change. Its entry is what the change registers: a document, or the digest of a definition."""

    tag: str
    """The name of the kind in the outbox and in change batches."""
    event: EventForm | None
    """None if subscribers are not told about changes of this kind."""
    build: Callable[[str, Entry | None], Changed]
    """Builds the change from the id or name and the entry; None unregisters."""
    name_of: Callable[[Changed], str]
    entry_of: Callable[[Changed], Entry | None]
    write: Callable[[Entry], str]
    """Writes the text of an entry, without the member that the key repeats."""
    read: Callable[[str, str], Entry]
    """Reads an entry from its id or name and its text."""


@dataclass(frozen=True, slots=True)
class EntryKind[Changed: Change, Entry](ChangeKind[Changed, Entry]):
    """A kind of change whose entries have a row each."""

    partition: Callable[[ScopeNames], str]
    """The name of the partition of the rows within a scope."""


def _write(members: Mapping[str, Any], key: str = "") -> str:
    texts = {name: value for name, value in members.items() if name != key}
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def _read_skill(skill_id: str, text: str) -> Skill:
    members = json.loads(text)
    return Skill(
        id=skill_id,
        title=members["title"],
        description=members["description"],
        size=members["size"],
        registered_at=members["registered_at"],
        digest=members["digest"],
        manifest=_read_skill_md(members.get("manifest")),
        files=tuple(_read_file(file) for file in members.get("files", ())),
        headings=members.get("headings", ""),
    )


def _read_skill_md(members: Any) -> SkillMd | None:
    if members is None:
        return None
    return SkillMd(members["form"], members["digest"], members["size"], members["front_matter"])


def _read_file(members: Any) -> StoredFile:
    return StoredFile(members["path"], members["digest"], members["size"], members["mime_type"])


def _read_prompt(name: str, text: str) -> StoredPrompt:
    members = json.loads(text)
    return StoredPrompt(
        name=name,
        description=members["description"],
        function=members["function"],
        arguments=tuple(_read_argument(argument) for argument in members["arguments"]),
        registered_at=members["registered_at"],
    )


def _read_argument(members: Any) -> PromptArgument:
    return PromptArgument(members["name"], members["description"], members["required"])


def _read_subscription(_name: str, text: str) -> Subscription:
    members = json.loads(text)
    return Subscription(
        kind=members["kind"],
        trigger_type=members["trigger_type"],
        target=members["target"],
        registered_at=members["registered_at"],
        config=members["config"],
        metadata=members.get("metadata", {}),
        timeout_ms=members.get("timeout_ms"),
    )


def _write_catalogue(change: CatalogueChange) -> str:
    return " ".join((change.before or "", *((change.policies,) if change.policies else ())))


def _read_catalogue(digest: str, text: str) -> CatalogueChange:
    before, _, policies = text.partition(" ")
    return CatalogueChange(before or None, digest, policies or None)


SKILL_EVENT = EventForm("skills::on-change", "id", "iii://{}")
PROMPT_EVENT = EventForm("prompts::on-change", "name", "urn:signpost:prompt:{}")
WORKFLOW_EVENT = EventForm("workflows::on-change", "id", "urn:signpost:workflow:{}", has_digest=True)
POLICY_EVENT = EventForm("policies::on-change", "id", "urn:signpost:policy:{}", has_digest=True)
LOAD_EVENT = EventForm("skills::registry", "name", "urn:signpost:skill:{}", is_separately_numbered=True)
"""The event of a load, which is a change of the function directory and has an outbox row of its own form."""
LIST_EVENT = EventForm("lists::on-change", "list", "urn:signpost:list:{}")
RESOURCE_EVENT = EventForm("resources::on-change", "uri", "{}")
"""The events of what functions announce. They have an outbox row of their own form, too."""
EVENTS: Mapping[TriggerType, EventForm] = {
    form.type: form
    for form in (SKILL_EVENT, PROMPT_EVENT, WORKFLOW_EVENT, POLICY_EVENT, LOAD_EVENT, LIST_EVENT, RESOURCE_EVENT)
}

SKILLS = EntryKind[SkillChange, Skill](
    tag=SKILL_EVENT.type,
    event=SKILL_EVENT,
    build=SkillChange,
    name_of=lambda change: change.id,
    entry_of=lambda change: change.skill,
    write=lambda skill: _write(asdict(skill), "id"),
    read=_read_skill,
    partition=lambda scopes: scopes.skills,
)
PROMPTS = EntryKind[PromptChange, StoredPrompt](
    tag=PROMPT_EVENT.type,
    event=PROMPT_EVENT,
    build=PromptChange,
    name_of=lambda change: change.name,
    entry_of=lambda change: change.prompt,
    write=lambda prompt: _write(asdict(prompt), "name"),
    read=_read_prompt,
    partition=lambda scopes: scopes.prompts,
)
SUBSCRIPTIONS = EntryKind[SubscriptionChange, Subscription](
    tag="subscriptions",
    event=None,
    build=SubscriptionChange,
    name_of=lambda change: change.name,
    entry_of=lambda change: change.subscription,
    write=lambda subscription: _write(asdict(subscription)),  # its name is computed from its members
    read=_read_subscription,
    partition=lambda _: "subscriptions",
)
WORKFLOWS = ChangeKind[WorkflowChange, str](
    tag=WORKFLOW_EVENT.type,
    event=WORKFLOW_EVENT,
    build=WorkflowChange,
    name_of=lambda change: change.id,
    entry_of=lambda change: change.digest,
    write=lambda digest: digest,
    read=lambda _, digest: digest,
)
POLICIES = ChangeKind[PolicyChange, str](
    tag=POLICY_EVENT.type,
    event=POLICY_EVENT,
    build=PolicyChange,
    name_of=lambda change: change.id,
    entry_of=lambda change: change.digest,
    write=lambda digest: digest,
    read=lambda _, digest: digest,
)
CATALOGUE = ChangeKind[CatalogueChange, CatalogueChange](
    tag="catalogue",
    event=None,
    build=lambda digest, change: change or CatalogueChange(None, digest),
    name_of=lambda change: change.after,
    entry_of=lambda change: change,
    write=_write_catalogue,
    read=_read_catalogue,
)

KINDS: Mapping[type[Any], ChangeKind[Any, Any]] = {
    SkillChange: SKILLS,
    PromptChange: PROMPTS,
    SubscriptionChange: SUBSCRIPTIONS,
    WorkflowChange: WORKFLOWS,
    PolicyChange: POLICIES,
    CatalogueChange: CATALOGUE,
}
"""The kinds of changes, by the class of the change."""
ENTRY_LISTS: Mapping[str, EntryKind[Any, Any]] = {
    "skills": SKILLS,
    "prompts": PROMPTS,
    "triggers": SUBSCRIPTIONS,
    "webhooks": SUBSCRIPTIONS,
}
"""The lists of entries in a manifest and in a publication, each with the kind of its changes."""
_BY_TAG: Mapping[str, ChangeKind[Any, Any]] = {kind.tag: kind for kind in KINDS.values()}


def kind_of(change: Change) -> ChangeKind[Any, Any]:
    return KINDS[type(change)]


def name_of(change: Change) -> EntryName:
    kind = kind_of(change)
    return kind.tag, kind.name_of(change)


def has_row(change: Change) -> bool:
    """Tell whether the change writes the row of an entry. The others are in the catalogue, which the head names."""
    return isinstance(kind_of(change), EntryKind)


def is_registration(change: Change) -> bool:
    return kind_of(change).entry_of(change) is not None


def text_of(change: Change) -> str | None:
    """Return the entry's text without the member that its key repeats; None if the change unregisters it."""
    kind = kind_of(change)
    entry = kind.entry_of(change)
    return None if entry is None else kind.write(entry)


def parse_change(tag: str, name: str, text: str | None) -> Change:
    kind = _BY_TAG[tag]
    return kind.build(name, None if text is None else kind.read(name, text))


def event_of(tenant: str | None, sequence: int, change: Change) -> ChangeEvent | None:
    """Return the event of a change; None for a change of which subscribers are not notified."""
    kind = kind_of(change)
    if kind.event is None:
        return None
    entry = kind.entry_of(change)
    op = "unregister" if entry is None else "register"
    digest = entry if kind.event.has_digest else None
    return ChangeEvent(tenant, sequence, kind.event.type, op, kind.name_of(change), digest)


def events_from(tenant: str | None, first: int, changes: Sequence[Change]) -> Sequence[ChangeEvent]:
    """Return the events of the changes; some changes have none."""
    events = (event_of(tenant, sequence, change) for sequence, change in enumerate(changes, first))
    return [event for event in events if event is not None]
