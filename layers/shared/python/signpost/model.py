"""The values that all modules share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from math import inf
from typing import Literal

from signpost.records import dataclass

type Json = str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None
type JsonObject = Mapping[str, Json]
type SettingValue = int | str
"""The value of a setting that an operator changes at run time: a number or a text."""


def as_object(value: Json) -> JsonObject:
    """Returns the value if it is an object, else an empty object."""
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller, taken from the credentials of the transport, never from arguments."""

    subject: str
    tenant: str
    issuer: str
    roles: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    human: bool = False
    owner: str = ""
    """The subject of the person to whom an API key belongs; empty for a key without owner and for tokens."""
    claims: JsonObject = field(default_factory=dict[str, Json])
    """The claims of its token that the deployment names: texts, numbers, booleans, and lists of texts."""

    def __hash__(self) -> int:
        return hash((self.subject, self.tenant, self.issuer, self.roles, self.permissions, self.human, self.owner))

    @property
    def person(self) -> str:
        """The subject that counts where distinct persons are counted: that of the owner, if a key has one."""
        return self.owner or self.subject


ENGINE_SUBJECT = "signpost"
"""The subject and issuer of the steps that the engine takes by itself."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The W3C trace context that the client sent in `_meta`."""

    traceparent: str
    tracestate: str | None = None

    @property
    def trace_id(self) -> str:
        return self.traceparent.split("-")[1]


@dataclass(frozen=True, slots=True)
class Client:
    """The client, as this request describes it. Nothing is known from earlier requests."""

    capabilities: JsonObject = field(default_factory=dict[str, Json])
    info: JsonObject = field(default_factory=dict[str, Json])
    """The name and version that the client gives itself. Nothing may be decided by it."""
    can_answer: bool = False
    """Whether the client can answer questions: its revision of MCP has a way to ask them."""
    follows_tasks: bool = False
    """Whether the client declares that it follows tasks."""
    log_level: str | None = None
    """The lowest level of log messages that the client wants; None for no messages."""
    progress_token: str | int | None = None
    token: str | None = None
    """The client's own id for its request. It stays the same when the client repeats the request without having had an
    answer."""


@dataclass(frozen=True, slots=True)
class ProgressNotice:
    """Progress that a running function reported."""

    done: float
    total: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class LogNotice:
    """A message that a running function logged."""

    level: str
    data: Json


type Notice = ProgressNotice | LogNotice


class Notifications:
    """Progress and log messages that arise while a request is answered. They are sent with the answer, since there is
    no other channel."""

    def __init__(self) -> None:
        self.messages: list[JsonObject] = []
        self._progress = -inf

    def send_progress(
        self, call: "Call", progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send progress if the client asked for it. Progress of one request only grows: a smaller one is dropped."""
        token = call.client.progress_token
        if token is None or progress <= self._progress:
            return
        self._progress = progress
        optional = {name: value for name, value in (("total", total), ("message", message)) if value is not None}
        self._send("notifications/progress", {"progressToken": token, "progress": progress, **optional})

    def send_log(self, call: "Call", level: str, data: Json, logger: str = "signpost") -> None:
        lowest = call.client.log_level
        if lowest is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(lowest):
            self._send("notifications/message", {"level": level, "logger": logger, "data": data})

    def _send(self, method: str, params: JsonObject) -> None:
        self.messages.append({"jsonrpc": "2.0", "method": method, "params": params})


MOST_SECTIONS = 10
"""The number of functions that the sections of one request may run."""


class SectionAllowance:
    """Counts the functions that sections of one request may still run. All messages of a batch share it."""

    def __init__(self) -> None:
        self.remaining = MOST_SECTIONS

    def use(self) -> bool:
        """Count one more function. Return False if the request has run all that it may run."""
        is_left = self.remaining > 0
        self.remaining -= is_left
        return is_left


LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def keep_tool_name(name: str) -> str:
    """Return the name as it is: the spelling of a tool where no list respells it."""
    return name


@dataclass(frozen=True, slots=True)
class Call:
    """The request context that a provider gets."""

    principal: Principal
    request_id: str
    deadline: float
    """Seconds since the epoch by which the answer must have been sent."""
    trace: Trace | None = None
    portable_names: bool = False
    spell_tool: Callable[[str], str] = keep_tool_name
    """Spells the name of a tool as the client's list has it, for sentences that name one."""
    client: Client = field(default_factory=Client)
    answers: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The client's answers to the requests of an InputRequired, by their keys."""
    state: Json = None
    """The state of the InputRequired that the client answers."""
    thread: str = ""
    """The id that stays the same over all rounds of one request; empty outside of requests of MCP."""
    notifications: Notifications = field(default_factory=Notifications)
    sections: SectionAllowance = field(default_factory=SectionAllowance)


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    input_schema: JsonObject
    title: str | None = None
    output_schema: JsonObject | None = None
    annotations: JsonObject = field(default_factory=dict[str, Json])
    icons: Sequence[JsonObject] = ()
    meta: JsonObject = field(default_factory=dict[str, Json])
    is_task: bool = False
    """Whether a call of it always is a task, so that only clients that follow tasks can call it."""
    mentions: Sequence[str] = ()
    """The tools that its texts name, if all of these are the gateway's. Lists respell them with the names of tools."""


@dataclass(frozen=True, slots=True)
class CallToolResult:
    content: Sequence[JsonObject]
    """Content blocks. If empty, the protocol makes text of the structured content."""
    structured: JsonObject | None = None
    is_error: bool = False
    meta: JsonObject = field(default_factory=dict[str, Json])
    has_links: bool = False
    """Whether the structured content is an answer of the gateway, whose links name tools."""


type TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Task:
    """A call whose result a client fetches later, as one answer shows it."""

    id: str
    status: TaskStatus
    created_at: str
    updated_at: str
    ttl_ms: int
    """Milliseconds from its creation for which it can be read."""
    poll_ms: int
    """Milliseconds after which it makes sense to read it again."""
    message: str = ""
    """A sentence about the status; empty if there is nothing to say."""
    result: CallToolResult | None = None
    """The result of the call; only of a completed task."""
    failure: JsonObject | None = None
    """The data of the error; only of a failed task."""
    questions: Mapping[str, JsonObject] = field(default_factory=dict[str, "JsonObject"])
    """The requests to the client that are not answered yet; only of a task that requires input."""


@dataclass(frozen=True, slots=True)
class InputRequired:
    """Returned instead of a result: requests that the client has to answer before it sends its request again."""

    requests: Mapping[str, JsonObject]
    """The requests by a key of the provider's choice, such as `{"method": "elicitation/create", "params": {…}}`."""
    state: Json = None
    """State that the provider needs with the answers. It travels sealed with the client, so it holds only ids and
    answers."""
    notices: Sequence[Notice] = ()
    """The progress and log messages up to the questions."""
    single_use: bool = False
    """Whether the answers may be used for one attempt only. Otherwise they may be sent again until they expire."""


@dataclass(frozen=True, slots=True)
class Resource:
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: JsonObject = field(default_factory=dict[str, Json])
    icons: Sequence[JsonObject] = ()
    meta: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: JsonObject = field(default_factory=dict[str, Json])
    icons: Sequence[JsonObject] = ()
    meta: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class PromptArgument:
    name: str
    description: str | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    title: str | None = None
    description: str | None = None
    arguments: Sequence[PromptArgument] = ()
    icons: Sequence[JsonObject] = ()
    meta: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class GetPromptResult:
    messages: Sequence[JsonObject]
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    values: Sequence[str]
    total: int | None = None
    has_more: bool = False


PROXY_WORKFLOW = "proxy_default"
"""The workflow that has every capability as a transition."""
OVERRIDE_PREFIX = "$"
"""The first character of overrides, which are submitted like transitions but are none."""
RUN_ID_PREFIX, REQUEST_ID_PREFIX = "wf_", "hr_"
"""The prefixes of the ids of runs and of approval requests."""
WAITING_FOR = ("agent", "human", "executor", "retry", "workflow", "chain", "answers", "in_doubt")
"""The kinds of work that runs wait for: a caller or a person takes a transition; a step is executed, repeated later,
waits for another run, is followed by automatic ones, or has asked questions; or a principal with the permission
resolves a step in doubt."""


LONGEST_ITEM_TEXT = 10_000
"""Characters of the further text of an item. Every gateway reads it at a cold start, and only searches use it."""


@dataclass(frozen=True, slots=True)
class CatalogueItem:
    """An item that a tenant has published: a workflow, a capability, or a connection for display."""

    id: str
    kind: str
    title: str
    description: str = ""
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    text: str = ""
    """Further text that search covers."""
    definition: str = ""
    """The digest of the definition: of a workflow, its whole definition; of a capability, its transition."""
    enabled: bool = True
    """Whether its author enabled it."""
    switched_off: bool = False
    """Whether an operator disabled it. This outlasts publications."""
    input_schema: JsonObject | None = None
    """The input schema of a workflow; empty if it declares none, None where only the definition has it."""

    @property
    def is_offered(self) -> bool:
        return self.enabled and not self.switched_off


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """The secret of the stack, from which every signing key is derived by purpose."""

    current: str
    previous: str | None = None
