"""What the registry holds: skill documents and prompts, and how they change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from signpost.model import JsonObject, PromptArgument

type Operation = Literal["register", "unregister"]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `skill://…/SKILL.md` is: the document with a front matter, which it may not have as it was registered."""

    form: int
    """Of the rules by which it was made. Who knows others makes it anew from the body."""
    digest: str
    """SHA-256, in hexadecimal."""
    size: int
    """Bytes."""
    front_matter: JsonObject | None = None
    """None if title and description say it all."""


@dataclass(frozen=True, slots=True)
class Skill:
    """Everything about a skill document but its body, so that lists and the index need no body."""

    id: str
    title: str
    description: str | None
    size: int
    """Bytes of the body."""
    registered_at: str
    """UTC, RFC 3339."""
    digest: str
    """SHA-256 of the body, in hexadecimal; where the body is kept."""
    manifest: Manifest | None = None
    """None if there is none, and in rows that were written before there were any."""


@dataclass(frozen=True, slots=True)
class StoredPrompt:
    """A slash command. A function renders it."""

    name: str
    description: str
    function: str
    arguments: Sequence[PromptArgument]
    registered_at: str


@dataclass(frozen=True, slots=True)
class SkillChange:
    id: str
    skill: Skill | None
    """None unregisters."""


@dataclass(frozen=True, slots=True)
class PromptChange:
    name: str
    prompt: StoredPrompt | None
    """None unregisters."""


type Change = SkillChange | PromptChange


@dataclass(frozen=True, slots=True)
class Layers[Entry]:
    """What a tenant has under a name, and what the deployment ships under it to every tenant that wants it."""

    own: Entry | None
    shipped: Entry | None
    tenant_settings: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """A change that has happened, as it goes to the bus."""

    tenant: str | None
    """None for what is shipped."""
    sequence: int
    """Grows with every change of the tenant. The bus keeps no order; this does."""
    type: Literal["skills::on-change", "prompts::on-change"]
    op: Operation
    key: str
    """The id or name of what changed."""


@dataclass(frozen=True, slots=True)
class BusEvent:
    """An event in the form of the bus."""

    source: str
    type: str
    detail: str
    """JSON."""
    resources: Sequence[str] = ()
