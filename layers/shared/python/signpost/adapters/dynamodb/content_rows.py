"""Skill documents, prompts, subscriptions and all changes as text: in rows, outbox and publications alike.

An entry is one attribute. A list reads thousands of them, and taking apart an attribute each is what takes its time.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TypeIs

from signpost.adapters import keys
from signpost.adapters.change_events import event_of
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.content import (
    CatalogueChange,
    Change,
    ChangeEvent,
    Manifest,
    PolicyChange,
    PromptChange,
    Scopes,
    Skill,
    SkillChange,
    StoredFile,
    StoredPrompt,
    Subscription,
    SubscriptionChange,
    WorkflowChange,
)
from signpost.model import PromptArgument
from signpost.records import dataclass

ENTRY = "entry"
"""The attribute."""

type Name = tuple[str, str]
"""The kind of an entry, and its id or name."""


@dataclass(frozen=True, slots=True)
class Kind[Entry]:
    """What is different between skill documents, prompts and subscriptions."""

    tag: str
    """In the outbox and in publications: the type of the events about it, where there are any."""
    partition: Callable[[str | None, Scopes], str]
    read: Callable[[str, str], Entry]
    """By id or name, from text."""
    entry: Callable[[Change], Entry | None]
    """That a change leaves behind; None also for a change of another kind."""

    def key(self, tenant: str | None, scopes: Scopes, name: str) -> keys.Key:
        return keys.entry(self.partition(tenant, scopes), name)


def _skill(skill_id: str, text: str) -> Skill:
    members = json.loads(text)
    return Skill(
        id=skill_id,
        title=members["title"],
        description=members["description"],
        size=members["size"],
        registered_at=members["registered_at"],
        digest=members["digest"],
        manifest=_manifest(members.get("manifest")),
        files=tuple(_file(file) for file in members.get("files", ())),
    )


def _manifest(members: Any) -> Manifest | None:
    if members is None:
        return None
    return Manifest(members["form"], members["digest"], members["size"], members["front_matter"])


def _file(members: Any) -> StoredFile:
    return StoredFile(members["path"], members["digest"], members["size"], members["mime_type"])


def _prompt(name: str, text: str) -> StoredPrompt:
    members = json.loads(text)
    return StoredPrompt(
        name=name,
        description=members["description"],
        function=members["function"],
        arguments=tuple(_argument(argument) for argument in members["arguments"]),
        registered_at=members["registered_at"],
    )


def _argument(members: Any) -> PromptArgument:
    return PromptArgument(members["name"], members["description"], members["required"])


def _subscription(_name: str, text: str) -> Subscription:
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


SKILLS = Kind("skills::on-change", keys.skills_of, _skill, _skill_of)
PROMPTS = Kind("prompts::on-change", keys.prompts_of, _prompt, _prompt_of)
SUBSCRIPTIONS = Kind("subscriptions", lambda tenant, _: keys.subscriptions_of(tenant), _subscription, _subscription_of)


WORKFLOWS, POLICIES, CATALOGUE = "workflows::on-change", "policies::on-change", "catalogue"
"""The tags of changes of the catalogue, which is no rows but a snapshot that the head names."""

type EntryChange = SkillChange | PromptChange | SubscriptionChange


def is_of_an_entry(change: Change) -> TypeIs[EntryChange]:
    """Whether it writes a row of its own."""
    return not isinstance(change, WorkflowChange | PolicyChange | CatalogueChange)


def kind_of(change: EntryChange) -> Kind[Skill] | Kind[StoredPrompt] | Kind[Subscription]:
    if isinstance(change, SkillChange):
        return SKILLS
    return PROMPTS if isinstance(change, PromptChange) else SUBSCRIPTIONS


def name_of(change: Change) -> Name:
    if isinstance(change, WorkflowChange):
        return WORKFLOWS, change.id
    if isinstance(change, PolicyChange):
        return POLICIES, change.id
    if isinstance(change, CatalogueChange):
        return CATALOGUE, change.after
    return kind_of(change).tag, change.id if isinstance(change, SkillChange) else change.name


def registers(change: Change) -> bool:
    return text_of(change) is not None


def key_of(tenant: str | None, scopes: Scopes, change: EntryChange) -> keys.Key:
    return kind_of(change).key(tenant, scopes, name_of(change)[1])


def text_of(change: Change) -> str | None:
    """The entry without what its key says already; None if it is unregistered."""
    if isinstance(change, WorkflowChange | PolicyChange):
        return change.digest
    if isinstance(change, CatalogueChange):
        return " ".join((change.before or "", *((change.policies,) if change.policies else ())))
    entry = kind_of(change).entry(change)
    if entry is None:
        return None
    members = asdict(entry)
    if not isinstance(entry, Subscription):  # whose name is made of its members
        del members["id" if isinstance(entry, Skill) else "name"]
    return rows.text(members)


def row_of(key: keys.Key, text: str) -> Attributes:
    return {**key, ENTRY: {"S": text}, **rows.schema()}


def entry_in[Entry](kind: Kind[Entry], row: Row) -> Entry:
    return kind.read(row["sk"]["S"], row[ENTRY]["S"])


def change_from(tag: str, name: str, text: str | None) -> Change:
    if tag == SKILLS.tag:
        return SkillChange(name, _skill(name, text) if text is not None else None)
    if tag == PROMPTS.tag:
        return PromptChange(name, _prompt(name, text) if text is not None else None)
    if tag == WORKFLOWS:
        return WorkflowChange(name, text)
    if tag == POLICIES:
        return PolicyChange(name, text)
    if tag == CATALOGUE:
        before, _, policies = (text or "").partition(" ")
        return CatalogueChange(before or None, name, policies or None)
    return SubscriptionChange(name, _subscription(name, text) if text is not None else None)


def size_of(change: Change) -> int:
    """About as many bytes as its row takes."""
    return len((text_of(change) or "").encode()) + len(name_of(change)[1])


def fitting(changes: Sequence[Change], most: int, most_bytes: int) -> int:
    """How many of them, from the first, go together. One always does."""
    total = 0
    for count, change in enumerate(changes[:most]):
        total += size_of(change)
        if total > most_bytes and count:
            return count
    return min(most, len(changes))


def events_from(tenant: str | None, first: int, changes: Sequence[Change]) -> Sequence[ChangeEvent]:
    """Those that there are: not every change is told."""
    events = (event_of(tenant, sequence, change) for sequence, change in enumerate(changes, first))
    return [event for event in events if event is not None]
