"""Skill documents, prompts and changes of them as text: in their rows, in the outbox and in publications alike.

An entry is one attribute. A list reads thousands of them, and taking apart an attribute each is what takes its time.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from signpost.adapters import keys
from signpost.adapters.change_events import event_of
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.content import Change, ChangeEvent, Manifest, PromptChange, Skill, SkillChange, StoredPrompt
from signpost.model import PromptArgument

type Name = tuple[str, str]
"""The type of the events about an entry, and its id or name."""


@dataclass(frozen=True, slots=True)
class Kind[Entry]:
    """What is different between skill documents and prompts."""

    event_type: str
    partition: Callable[[str | None], str]
    read: Callable[[str, str], Entry]
    """By id or name, from text."""
    entry: Callable[[Change], Entry | None]
    """That a change leaves behind; None also for a change of the other kind."""

    def key(self, tenant: str | None, name: str) -> keys.Key:
        return keys.entry(self.partition(tenant), name)


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
    )


def _manifest(members: Any) -> Manifest | None:
    if members is None:
        return None
    return Manifest(members["form"], members["digest"], members["size"], members["front_matter"])


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


def _skill_of(change: Change) -> Skill | None:
    return change.skill if isinstance(change, SkillChange) else None


def _prompt_of(change: Change) -> StoredPrompt | None:
    return change.prompt if isinstance(change, PromptChange) else None


SKILLS = Kind("skills::on-change", keys.skills_of, _skill, _skill_of)
PROMPTS = Kind("prompts::on-change", keys.prompts_of, _prompt, _prompt_of)


def name_of(change: Change) -> Name:
    return (SKILLS.event_type, change.id) if isinstance(change, SkillChange) else (PROMPTS.event_type, change.name)


def registers(change: Change) -> bool:
    return (change.skill if isinstance(change, SkillChange) else change.prompt) is not None


def key_of(tenant: str | None, change: Change) -> keys.Key:
    if isinstance(change, SkillChange):
        return SKILLS.key(tenant, change.id)
    return PROMPTS.key(tenant, change.name)


def text_of(change: Change) -> str | None:
    """The entry without what its key says already; None if it is unregistered."""
    entry = change.skill if isinstance(change, SkillChange) else change.prompt
    if entry is None:
        return None
    members = asdict(entry)
    del members["id" if isinstance(entry, Skill) else "name"]
    return rows.text(members)


def row_of(tenant: str | None, change: Change, text: str) -> Attributes:
    return {**key_of(tenant, change), "entry": {"S": text}, **rows.schema()}


def entry_in[Entry](kind: Kind[Entry], row: Row) -> Entry:
    return kind.read(row["sk"]["S"], row["entry"]["S"])


def change_from(event_type: str, name: str, text: str | None) -> Change:
    if event_type == SKILLS.event_type:
        return SkillChange(name, _skill(name, text) if text is not None else None)
    return PromptChange(name, _prompt(name, text) if text is not None else None)


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
    return [event_of(tenant, sequence, change) for sequence, change in enumerate(changes, first)]
