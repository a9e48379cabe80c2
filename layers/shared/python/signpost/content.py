"""What the registry holds: skill documents, prompts, and who wants to hear of them; and how it changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal

from signpost.model import Json, JsonObject, PromptArgument, SettingValue
from signpost.records import dataclass

type Operation = Literal["register", "unregister", "load", "unload", "reload"]
"""The last three are of callable skills."""
type TriggerType = Literal[
    "skills::on-change", "prompts::on-change", "workflows::on-change", "policies::on-change", "skills::registry"
]
type SubscriberKind = Literal["trigger", "webhook"]


@dataclass(frozen=True, slots=True)
class Scopes:
    """What a deployment calls the partitions of skill documents and prompts."""

    skills: str
    prompts: str


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
class StoredFile:
    """A file beside a SKILL.md."""

    path: str
    """In the folder of the skill."""
    digest: str
    """SHA-256, in hexadecimal; where it is kept."""
    size: int
    """Bytes."""
    mime_type: str


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
    files: Sequence[StoredFile] = ()
    """What was published with it as an Agent Skill."""

    @property
    def kept(self) -> Sequence[str]:
        """The digests of everything in the bucket that it stands for."""
        return [self.digest, *(file.digest for file in self.files)]


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


@dataclass(frozen=True, slots=True)
class Subscription:
    """Somebody who wants to hear of changes: a function that is called, or an address that is posted to."""

    kind: SubscriberKind
    trigger_type: TriggerType
    target: str
    """The id of the function, or the URL."""
    registered_at: str
    config: JsonObject = field(default_factory=dict[str, Json])
    """The author's own; nothing here looks into it."""

    @property
    def name(self) -> str:
        """The same type and target again is the same subscription."""
        return f"{self.kind} {self.trigger_type} {self.target}"


@dataclass(frozen=True, slots=True)
class SubscriptionChange:
    """Nobody is told of it: no event is defined for who listens."""

    name: str
    subscription: Subscription | None
    """None unregisters."""


@dataclass(frozen=True, slots=True)
class WorkflowChange:
    """What its definition is, is in the catalogue; this tells of it."""

    id: str
    digest: str | None
    """None unregisters."""


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """What the rule says, is in the text of all rules; this tells of it."""

    id: str
    digest: str | None
    """None unregisters."""


@dataclass(frozen=True, slots=True)
class CatalogueChange:
    """Another snapshot of the catalogue is the current one from now on."""

    before: str | None
    """The one that it was made from: if that is not the current one any more, nothing of the change happens."""
    after: str
    policies: str | None = None
    """The digest of the tenant's rules that come with it, for whoever asks for those and not for the catalogue."""


type Change = SkillChange | PromptChange | SubscriptionChange | WorkflowChange | PolicyChange | CatalogueChange


class Overtaken(Exception):  # noqa: N818 - it names a state of the world
    """Somebody else has changed the catalogue since: look again, and decide anew."""


@dataclass(frozen=True, slots=True)
class Layers[Entry]:
    """What a tenant has under a name, and what the deployment ships under it to every tenant that wants it."""

    own: Entry | None
    shipped: Entry | None
    tenant_settings: Mapping[str, SettingValue]


@dataclass(frozen=True, slots=True)
class Revisions:
    """How far everything has changed that lists of a tenant are made of. Numbers grow with every change."""

    content: int
    """Of the tenant's own skill documents, prompts, subscriptions and catalogue."""
    shipped_content: int
    catalogue: str | None
    """The digest of the current snapshot; None if nothing was ever published."""
    policies: str | None
    """The digest of the tenant's rules; None if it has none."""
    placements: int
    """Of the functions that are hosted for the tenant only; 0 if none ever was."""
    shipped_placements: int
    settings: Mapping[str, SettingValue]
    """What is set for the tenant, over what the deployment sets for all."""


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """A change that has happened, as it goes to the bus."""

    tenant: str | None
    """None for what is shipped."""
    sequence: int
    """Grows with every change of the tenant, or of its directory of functions. The bus keeps no order; this does."""
    type: TriggerType
    op: Operation
    key: str
    """The id or name of what changed."""
    digest: str | None = None
    """Of a definition, if that is what changed."""


SOURCE = "signpost"
"""Of every event of ours on the bus."""


@dataclass(frozen=True, slots=True)
class BusEvent:
    """An event in the form of the bus."""

    source: str
    type: str
    detail: str
    """JSON."""
    resources: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SkillFile:
    uri: str
    digest: str
    """SHA-256 of exactly what reading the URI answers, in hexadecimal."""
    size: int


@dataclass(frozen=True, slots=True)
class AgentSkill:
    """A skill as its files are, of which SKILL.md is one."""

    uri: str
    """Of SKILL.md."""
    front_matter: JsonObject
    files: Sequence[SkillFile]


@dataclass(frozen=True, slots=True)
class ListedSkill:
    uri: str
    describe: Callable[[], AgentSkill]
    """Only what is on the page that is sent has to be described."""
