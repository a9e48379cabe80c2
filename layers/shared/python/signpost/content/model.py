"""The entities of the registry (skill documents, prompts, subscriptions), their changes, and the events of changes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal

from signpost.model import Json, JsonObject, PromptArgument, SettingValue
from signpost.records import dataclass

type Operation = Literal["register", "unregister", "load", "unload", "reload", "change", "update"]
"""`load`, `unload` and `reload` apply to callable skills only, the last two to what functions announce."""
type TriggerType = Literal[
    "skills::on-change", "prompts::on-change", "workflows::on-change", "policies::on-change", "skills::registry",
    "lists::on-change", "resources::on-change",
]  # fmt: skip
type SubscriberKind = Literal["trigger", "webhook", "workflow"]
"""A trigger is a function that is called, or a workflow that is started; a webhook is a URL to post to."""


@dataclass(frozen=True, slots=True)
class ScopeNames:
    """The names of the partitions of skill documents and prompts in one deployment."""

    skills: str
    prompts: str


@dataclass(frozen=True, slots=True)
class SkillMd:
    """The description of `skill://…/SKILL.md`: the document with a front matter, which the registered body may lack."""

    form: int
    """The version of the rules that built it. A reader with other rules builds it again from the body."""
    digest: str
    """SHA-256, in hexadecimal."""
    size: int
    """Bytes."""
    front_matter: JsonObject | None = None
    """None if the front matter derived from title and description is the right one."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file beside a SKILL.md."""

    path: str
    """The path within the folder of the skill."""
    digest: str
    """SHA-256, in hexadecimal; also the key of the stored bytes."""
    size: int
    """Bytes."""
    mime_type: str


@dataclass(frozen=True, slots=True)
class Skill:
    """The row of a skill document: all but its body, so that lists and the index need no body."""

    id: str
    title: str
    description: str | None
    size: int
    """Bytes of the body."""
    registered_at: str
    """UTC, RFC 3339."""
    digest: str
    """SHA-256 of the body, in hexadecimal; also the key of the stored body."""
    manifest: SkillMd | None = None
    """Its SKILL.md. None if the document is not an Agent Skill, and in rows older than this field."""
    files: Sequence[StoredFile] = ()
    """The files that were published with it as an Agent Skill."""
    headings: str = ""
    """The headings below the title, a line each, cut off after a few hundred characters: searches cover them. Empty in
    rows older than this field."""

    @property
    def object_digests(self) -> Sequence[str]:
        """The digests of all objects in the bucket that this row names: its body and its files."""
        return [self.digest, *(file.digest for file in self.files)]


@dataclass(frozen=True, slots=True)
class StoredPrompt:
    """A slash command, rendered by a function."""

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
    """A trigger (a function to call, or a workflow to start) or a webhook (a URL to post to), registered for one type
    of change."""

    kind: SubscriberKind
    trigger_type: TriggerType
    target: str
    """The id of the function or of the workflow, or the URL."""
    registered_at: str
    config: JsonObject = field(default_factory=dict[str, Json])
    """The author's configuration. The registry stores it and does not read it."""
    metadata: JsonObject = field(default_factory=dict[str, Json])
    """The author's values that a trigger gets with each event; empty to send the event alone."""
    timeout_ms: int | None = None
    """The longest call of a function, in milliseconds."""

    @property
    def name(self) -> str:
        """The key of the subscription: the same kind, type and target name the same subscription."""
        return f"{self.kind} {self.trigger_type} {self.target}"


@dataclass(frozen=True, slots=True)
class SubscriptionChange:
    """A changed subscription. It has no event: subscribers are not told about subscriptions."""

    name: str
    subscription: Subscription | None
    """None unregisters."""


@dataclass(frozen=True, slots=True)
class WorkflowChange:
    """The event of a changed workflow. The definition itself is in the catalogue."""

    id: str
    digest: str | None
    """None unregisters."""


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """The event of a changed policy rule. The rule itself is in the text of all rules."""

    id: str
    digest: str | None
    """None unregisters."""


@dataclass(frozen=True, slots=True)
class CatalogueChange:
    """Makes another snapshot of the catalogue the current one."""

    before: str | None
    """The digest of the snapshot that the new one was built from. If another one is current by now, none of the
    changes is applied."""
    after: str
    """The digest of the new snapshot."""
    policies: str | None = None
    """The digest of the tenant's rules in the new snapshot, so that reading the rules does not need the catalogue."""
    wakes_schedules: bool = False
    """Whether the new snapshot has other schedules. Then the transaction of the change makes the row due by which the
    workflow worker looks at the schedules. The stored text of the change leaves this out, because the same
    transaction has done it."""


type Change = SkillChange | PromptChange | SubscriptionChange | WorkflowChange | PolicyChange | CatalogueChange


@dataclass(frozen=True, slots=True)
class Announcement:
    """A change that a running function announces. It has an event, and no row: the registry does not know what
    changed."""

    type: TriggerType
    op: Operation
    key: str
    """The name of the list, or the URI of the resource."""


class Overtaken(Exception):  # noqa: N818 - named for the state that it reports
    """Raised when another request has changed the catalogue since it was read: read it again and decide again."""


@dataclass(frozen=True, slots=True)
class Layers[Entry]:
    """The tenant's own entry and the shipped entry under one name. Shipped entries are for every tenant that accepts
    them."""

    own: Entry | None
    shipped: Entry | None
    tenant_settings: Mapping[str, SettingValue]


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """A change that has happened, as sent to the event bus."""

    tenant: str | None
    """None for shipped content."""
    sequence: int
    """Grows with every change of the tenant, or of its function directory. The bus does not keep the order of events;
    this number does."""
    type: TriggerType
    op: Operation
    key: str
    """The id or name of the changed entry."""
    digest: str | None = None
    """The digest of the new definition or rule, if the change has one."""


EVENT_SOURCE = "signpost"
"""The source of every event that Signpost puts on the bus."""


@dataclass(frozen=True, slots=True)
class BusEvent:
    """An event in the form that the bus takes."""

    source: str
    type: str
    detail: str
    """JSON."""
    resources: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of an Agent Skill, as listed to clients."""

    uri: str
    digest: str
    """SHA-256 of the bytes that a read of the URI returns, in hexadecimal."""
    size: int


@dataclass(frozen=True, slots=True)
class AgentSkill:
    """A skill with all its files, including SKILL.md."""

    uri: str
    """The URI of its SKILL.md."""
    front_matter: JsonObject
    files: Sequence[SkillFile]


@dataclass(frozen=True, slots=True)
class ListedSkill:
    """An Agent Skill in a list, described on demand."""

    uri: str
    describe: Callable[[], AgentSkill]
    """Builds the description. Called only for the skills on the page that is sent."""
