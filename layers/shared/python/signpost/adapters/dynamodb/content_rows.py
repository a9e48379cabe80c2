"""The text form of skill documents, prompts, subscriptions and changes, the same in rows, outbox and change batches.

An entry is one attribute with all its members. A list reads thousands of entries, and most of its time goes into
decoding attributes.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TypeIs

from signpost.adapters import keys
from signpost.adapters.change_events import event_of
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
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
    WorkflowChange,
)
from signpost.model import PromptArgument
from signpost.records import dataclass

ENTRY = "entry"
"""The name of the attribute that holds an entry."""

type EntryName = tuple[str, str]
"""The kind of an entry, and its id or name."""


@dataclass(frozen=True, slots=True)
class RowKind[Entry]:
    """How one kind of entry (skill document, prompt, subscription) is keyed, read and written."""

    tag: str
    """The kind's name in the outbox and in change batches: the type of its events, if it has events."""
    partition: Callable[[str | None, ScopeNames], str]
    read: Callable[[str, str], Entry]
    """Reads an entry from its id or name and its text."""
    entry_of: Callable[[Change], Entry | None]
    """The entry after a change; None if the change removes it or is of another kind."""

    def key(self, tenant: str | None, scopes: ScopeNames, name: str) -> keys.RowKey:
        return keys.entry(self.partition(tenant, scopes), name)


def _parse_skill(skill_id: str, text: str) -> Skill:
    members = json.loads(text)
    return Skill(
        id=skill_id,
        title=members["title"],
        description=members["description"],
        size=members["size"],
        registered_at=members["registered_at"],
        digest=members["digest"],
        manifest=_parse_manifest(members.get("manifest")),
        files=tuple(_parse_file(file) for file in members.get("files", ())),
    )


def _parse_manifest(members: Any) -> SkillMd | None:
    if members is None:
        return None
    return SkillMd(members["form"], members["digest"], members["size"], members["front_matter"])


def _parse_file(members: Any) -> StoredFile:
    return StoredFile(members["path"], members["digest"], members["size"], members["mime_type"])


def _parse_prompt(name: str, text: str) -> StoredPrompt:
    members = json.loads(text)
    return StoredPrompt(
        name=name,
        description=members["description"],
        function=members["function"],
        arguments=tuple(_parse_argument(argument) for argument in members["arguments"]),
        registered_at=members["registered_at"],
    )


def _parse_argument(members: Any) -> PromptArgument:
    return PromptArgument(members["name"], members["description"], members["required"])


def _parse_subscription(_name: str, text: str) -> Subscription:
    members = json.loads(text)
    return Subscription(
        kind=members["kind"],
        trigger_type=members["trigger_type"],
        target=members["target"],
        registered_at=members["registered_at"],
        config=members["config"],
    )


def _skill_of(change: Change) -> Skill | None:
    return change.skill if isinstance(change, SkillChange) else None


def _prompt_of(change: Change) -> StoredPrompt | None:
    return change.prompt if isinstance(change, PromptChange) else None


def _subscription_of(change: Change) -> Subscription | None:
    return change.subscription if isinstance(change, SubscriptionChange) else None


SKILLS = RowKind("skills::on-change", keys.skills_of, _parse_skill, _skill_of)
PROMPTS = RowKind("prompts::on-change", keys.prompts_of, _parse_prompt, _prompt_of)
SUBSCRIPTIONS = RowKind(
    "subscriptions", lambda tenant, _: keys.subscriptions_of(tenant), _parse_subscription, _subscription_of
)


WORKFLOWS, POLICIES, CATALOGUE = "workflows::on-change", "policies::on-change", "catalogue"
"""The tags of changes of the catalogue, which has no rows of its own: the head names its current snapshot."""

type EntryChange = SkillChange | PromptChange | SubscriptionChange


def is_entry_change(change: Change) -> TypeIs[EntryChange]:
    """Tell whether the change writes an entry row."""
    return not isinstance(change, WorkflowChange | PolicyChange | CatalogueChange)


def kind_of(change: EntryChange) -> RowKind[Skill] | RowKind[StoredPrompt] | RowKind[Subscription]:
    if isinstance(change, SkillChange):
        return SKILLS
    return PROMPTS if isinstance(change, PromptChange) else SUBSCRIPTIONS


def name_of(change: Change) -> EntryName:
    if isinstance(change, WorkflowChange):
        return WORKFLOWS, change.id
    if isinstance(change, PolicyChange):
        return POLICIES, change.id
    if isinstance(change, CatalogueChange):
        return CATALOGUE, change.after
    return kind_of(change).tag, change.id if isinstance(change, SkillChange) else change.name


def is_registration(change: Change) -> bool:
    return text_of(change) is not None


def key_of(tenant: str | None, scopes: ScopeNames, change: EntryChange) -> keys.RowKey:
    return kind_of(change).key(tenant, scopes, name_of(change)[1])


def text_of(change: Change) -> str | None:
    """Return the entry's text without the members that its key repeats; None if the change unregisters it."""
    if isinstance(change, WorkflowChange | PolicyChange):
        return change.digest
    if isinstance(change, CatalogueChange):
        return " ".join((change.before or "", *((change.policies,) if change.policies else ())))
    entry = kind_of(change).entry_of(change)
    if entry is None:
        return None
    members = asdict(entry)
    if not isinstance(entry, Subscription):  # the name of a subscription is computed from its members
        del members["id" if isinstance(entry, Skill) else "name"]
    return rows.text(members)


def row_of(key: keys.RowKey, text: str) -> Attributes:
    return {**key, ENTRY: {"S": text}, **rows.schema_attribute()}


def entry_in[Entry](kind: RowKind[Entry], row: Row) -> Entry:
    return kind.read(row["sk"]["S"], row[ENTRY]["S"])


def parse_change(tag: str, name: str, text: str | None) -> Change:
    if tag == SKILLS.tag:
        return SkillChange(name, _parse_skill(name, text) if text is not None else None)
    if tag == PROMPTS.tag:
        return PromptChange(name, _parse_prompt(name, text) if text is not None else None)
    if tag == WORKFLOWS:
        return WorkflowChange(name, text)
    if tag == POLICIES:
        return PolicyChange(name, text)
    if tag == CATALOGUE:
        before, _, policies = (text or "").partition(" ")
        return CatalogueChange(before or None, name, policies or None)
    return SubscriptionChange(name, _parse_subscription(name, text) if text is not None else None)


def size_of(change: Change) -> int:
    """Estimate the bytes of the change's row."""
    return len((text_of(change) or "").encode()) + len(name_of(change)[1])


def count_fitting(changes: Sequence[Change], most: int, most_bytes: int) -> int:
    """Count the changes, from the first, that fit into one transaction; at least one."""
    total = 0
    for count, change in enumerate(changes[:most]):
        total += size_of(change)
        if total > most_bytes and count:
            return count
    return min(most, len(changes))


def events_from(tenant: str | None, first: int, changes: Sequence[Change]) -> Sequence[ChangeEvent]:
    """Return the events of the changes; some changes have none."""
    events = (event_of(tenant, sequence, change) for sequence, change in enumerate(changes, first))
    return [event for event in events if event is not None]
