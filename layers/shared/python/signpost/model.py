"""The values everything else speaks in."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from signpost.records import dataclass

type Json = str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None
type JsonObject = Mapping[str, Json]
type SettingValue = int | str
"""What an operator sets while everything runs: a number or a text."""


def as_object(value: Json) -> JsonObject:
    """The object it is, or an empty one."""
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling, as the transport's credentials say; never as arguments claim."""

    subject: str
    tenant: str
    issuer: str
    roles: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    human: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """W3C trace context, as the client sent it in `_meta`."""

    traceparent: str
    tracestate: str | None = None

    @property
    def trace_id(self) -> str:
        return self.traceparent.split("-")[1]


@dataclass(frozen=True, slots=True)
class Client:
    """What a request says of the client that sends it. Nothing is known from earlier requests."""

    capabilities: JsonObject = field(default_factory=dict[str, Json])
    log_level: str | None = None
    """From which level on it wants to see log messages; None for not at all."""
    progress_token: str | int | None = None
    token: str | None = None
    """Its own name for what it asks for: the same when it asks again, not having heard what came of it."""


class Notices:
    """What is reported while an answer is made. It travels with the answer: there is no other way back."""

    def __init__(self) -> None:
        self.sent: list[JsonObject] = []

    def progress(self, call: "Call", progress: float, total: float | None = None, message: str | None = None) -> None:
        token = call.client.progress_token
        if token is None:
            return
        optional = {name: value for name, value in (("total", total), ("message", message)) if value is not None}
        self._send("notifications/progress", {"progressToken": token, "progress": progress, **optional})

    def log(self, call: "Call", level: str, data: Json, logger: str = "signpost") -> None:
        wanted = call.client.log_level
        if wanted is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(wanted):
            self._send("notifications/message", {"level": level, "logger": logger, "data": data})

    def _send(self, method: str, params: JsonObject) -> None:
        self.sent.append({"jsonrpc": "2.0", "method": method, "params": params})


LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@dataclass(frozen=True, slots=True)
class Call:
    """What a provider may know about the request it helps to answer."""

    principal: Principal
    request_id: str
    deadline: float
    """Seconds since the epoch by which the answer has left."""
    trace: Trace | None = None
    portable_names: bool = False
    client: Client = field(default_factory=Client)
    answers: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What the client answered to the requests of an InputRequired, by their keys."""
    state: Json = None
    """What the InputRequired that the client answers had put aside."""
    notices: Notices = field(default_factory=Notices)


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


@dataclass(frozen=True, slots=True)
class ToolResult:
    content: Sequence[JsonObject]
    """Empty to have the protocol make text of what is structured."""
    structured: JsonObject | None = None
    is_error: bool = False
    meta: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class InputRequired:
    """Instead of a result: what the client has to answer first. It then asks again, with its answers."""

    requests: Mapping[str, JsonObject]
    """By a key of the provider's choice: `{"method": "elicitation/create", "params": {…}}` and the like."""
    state: Json = None
    """What the provider needs when the answers come; it travels sealed with the client. Ids and answers only."""


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
class PromptResult:
    messages: Sequence[JsonObject]
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    values: Sequence[str]
    total: int | None = None
    has_more: bool = False


PROXY = "proxy_default"
"""The workflow of which every capability is a transition."""


@dataclass(frozen=True, slots=True)
class CatalogueItem:
    """One thing that a tenant has published: a workflow, a capability, or a connection to show."""

    id: str
    kind: str
    title: str
    description: str = ""
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    text: str = ""
    """What a search finds it by beside these."""
    definition: str = ""
    """The digest of what defines it: of a workflow, its definition; of a capability, its transition."""
    enabled: bool = True
    """Whether it can be started, as its author says."""
    switched_off: bool = False
    """Whether an operator says that it cannot, which outlasts publications."""
    input_schema: JsonObject | None = None
    """Of a workflow, what it takes; empty if it does not say. None where only its definition knows."""

    @property
    def is_offered(self) -> bool:
        return self.enabled and not self.switched_off


@dataclass(frozen=True, slots=True)
class MasterKeys:
    """The secret of the stack. Every signing key is derived from it by purpose."""

    current: str
    previous: str | None = None
