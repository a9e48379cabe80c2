"""The contract between callers of functions and the executors that host them: requests, calls, replies and manifests.

`calling/wire.py` has its wire form, `docs/executors.md` its description.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal

from signpost.model import InputRequired, Json, JsonObject, Notice, Principal, PromptArgument, SettingValue, Trace
from signpost.records import dataclass

type FailureClass = Literal["timeout", "rate_limited", "connection_error", "transient_error", "permanent_error"]
type NoticeReceiver = Callable[[str, Sequence[Notice]], None]
"""Takes the id of a function and the notices of its reply."""
type FailureOutcome = Literal["none", "unknown"]
"""The effect of a failed call: it had none, or it is unknown."""


@dataclass(frozen=True, slots=True)
class CallClient:
    """The client that a call is made for, as far as the function may know it."""

    capabilities: JsonObject = field(default_factory=dict[str, Json])
    info: JsonObject = field(default_factory=dict[str, Json])
    can_answer: bool = False
    """Whether questions of the function can be answered."""
    wants_progress: bool = False
    log_level: str | None = None
    """The lowest level of log messages that the client wants; None for no messages."""
    thread: str = ""
    """The id that stays the same over all rounds of one request, and over all attempts of one workflow step."""


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A function call as its caller requests it."""

    function: str
    arguments: JsonObject
    principal: Principal
    ends_at: float
    """Seconds since the epoch by which the reply must arrive, even if the function is still running."""
    permissions: frozenset[str] | None = None
    """The most permissions that the function gets; None for all that it declares."""
    depth: int = 0
    """The number of nested calls above this one."""
    expires_at: float | None = None
    """The time at which the permission to run the function ends, for a caller that holds a lease; None for the
    deadline."""
    idempotency_key: str | None = None
    step: str | None = None
    """The workflow step that the call belongs to."""
    trace: Trace | None = None
    answers: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The client's answers to an InputRequired."""
    state: Json = None
    """The state of that InputRequired."""
    client: CallClient | None = None
    """The client behind the call; None for a call without one, such as that of a trigger."""
    notify: "NoticeReceiver | None" = field(default=None, compare=False)
    """Receives the notices of the reply; None for a caller that passes none on."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function call as the executor receives it, beside the token that allows it."""

    call_id: str
    function: str
    arguments: JsonObject
    principal: Principal
    deadline: float
    """Seconds since the epoch at which the function is stopped."""
    permissions: frozenset[str] = frozenset()
    depth: int = 0
    idempotency_key: str | None = None
    step: str | None = None
    trace: Trace | None = None
    answers: Mapping[str, Json] = field(default_factory=dict[str, Json])
    state: Json = None
    keep_at: str | None = None
    """The key in the content bucket for a result that is too long to be sent."""
    callees: frozenset[str] = frozenset()
    """The functions that the function may call during this call."""
    client: CallClient | None = None
    """The client behind the call; None without one, and for executors of earlier releases, which do not take it."""


@dataclass(frozen=True, slots=True)
class ClientPresentation:
    """The presentation of an answer to MCP clients, where its value alone does not contain it."""

    content: Sequence[JsonObject] = ()
    """MCP content blocks; empty to present the value."""
    meta: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Result:
    value: Json
    evidence: Sequence[JsonObject] = ()
    shown: ClientPresentation | None = None
    notices: Sequence[Notice] = ()


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result that was too long to be sent, kept as an object of the content bucket."""

    key: str
    size: int
    sha256: str
    evidence: Sequence[JsonObject] = ()
    notices: Sequence[Notice] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    """The kind of failure: a row of `calling/failures.py`, or `reported` by the function's author."""
    kind: FailureClass
    outcome: FailureOutcome
    message: str
    """A sentence for the caller. It never quotes an exception."""
    retry_after_ms: int | None = None
    shown: ClientPresentation | None = None
    """The author's presentation, used instead of the sentence."""
    counts: bool = True
    """False if its author declares that the failure says nothing about the health of the function."""
    notices: Sequence[Notice] = ()


@dataclass(frozen=True, slots=True)
class TransportFailure:
    """The executor sent no answer. `code` is a row of `calling/failures.py`."""

    code: str


type CompletedReply = Result | KeptResult | Failure
"""The reply of a call that has ended."""
type CallReply = CompletedReply | InputRequired


MOST_CALLEES = 50
"""Functions that one function may declare to call. Each token of a call names them."""
LONGEST_DESCRIPTION = 4_000
"""Characters of a function's description, which is part of every list of tools."""
LONGEST_NAME = 128
"""Characters of a tool's own name."""
LONGEST_TITLE = 200
"""Characters of a title or a category."""
LONGEST_EXTRAS = 8_000
"""Characters of JSON of annotations, of icons and of metadata."""
LONGEST_DOCUMENT_ID = 1_024
"""Characters of the id of a skill document."""
LONGEST_URI = 2_048
"""Characters of the URI of a resource or the pattern of a template."""
LONGEST_COMPONENT = 16_000
"""Characters of JSON of a component: the list fields that only prompts, resources or templates have."""


@dataclass(frozen=True, slots=True)
class Executor:
    """A Lambda function that hosts functions of tenants or of the stack."""

    arn: str
    key_secret_arn: str
    """The secret with the keys for its tokens. Only the executor and the principal that places it can read the
    secret."""
    timeout_ms: int
    """The configured timeout of the Lambda function; no hosted function can run longer."""


PROMPT, RESOURCE, TEMPLATE = "prompt", "resource", "template"
HELPER = "helper"
"""A function that only serves one of these: it completes the arguments or lists the instances."""


@dataclass(frozen=True, slots=True)
class Component:
    """The form in which clients see a function that is not a tool. `calling/components.py` has its JSON form."""

    kind: str
    """One of the four kinds above, or a kind of a later release."""
    uri: str | None = None
    """The URI of a resource or the pattern of a template."""
    mime_type: str | None = None
    size: int | None = None
    annotations: JsonObject = field(default_factory=dict[str, Json])
    """The annotations of a resource in the terms of MCP: audience, priority and time of change."""
    arguments: Sequence[PromptArgument] = ()
    complete: Mapping[str, Sequence[str] | None] = field(default_factory=dict[str, "Sequence[str] | None"])
    """The completions of each argument or variable; None if a helper function supplies them."""
    enumerates: bool = False
    """Whether a helper function lists the instances of a template."""


@dataclass(frozen=True, slots=True)
class HostedFunction:
    """A function that an executor hosts, as the executor's manifest describes it."""

    function: str
    timeout_ms: int | None = None
    """The function's own timeout, if its author declared one."""
    permissions: frozenset[str] = frozenset()
    """The permissions that the function declares."""
    readable: bool = False
    """Whether a section of a skill document may run the function and include its result."""
    description: str = ""
    """The description that clients choose a tool by."""
    input_schema: JsonObject | None = None
    """The schema of the arguments, if its author declared one."""
    exposed: bool = False
    """Whether it is a tool even where only exposed functions are."""
    name: str | None = None
    """Its tool name on surfaces where functions have tool names of their own."""
    title: str | None = None
    category: str | None = None
    output_schema: JsonObject | None = None
    """The schema of the results, if its author declared one."""
    annotations: JsonObject = field(default_factory=dict[str, Json])
    """Hints about its behaviour, in the terms of MCP."""
    icons: Sequence[JsonObject] = ()
    meta: JsonObject = field(default_factory=dict[str, Json])
    """The metadata that lists show as `_meta`, beside the category."""
    hidden: bool = False
    """Whether lists leave it out. It can be called as any other function."""
    idempotent: bool = False
    """Whether calling it twice has the same effect as calling it once."""
    doc: str | None = None
    """The id of the skill document that explains the function."""
    component: Component | None = None
    """The form in which clients see it instead of a tool."""
    callees: frozenset[str] = frozenset()
    """The ids of the functions that it calls, as its author declared them. It can call no others."""
    takes_client: bool = False
    """Whether its executor takes the client with a call."""
    needs: tuple[str, ...] = ()
    """The capabilities without which a client cannot use it, such as `elicitation`."""
    task: str | None = None
    """Whether a call of it is a task, if its author declared it: one of TASK_CHOICES."""
    visible_when: JsonObject | None = None
    """The condition under which lists show it to a principal; None for always."""


TASK_REQUIRED, TASK_NEVER = "required", "never"
TASK_CHOICES = (TASK_REQUIRED, TASK_NEVER, "auto")
CLIENT_CAPABILITIES: Mapping[str, Sequence[str]] = {
    "elicitation": ("form", "url"),
    "sampling": ("tools", "context"),
    "roots": (),
}
"""The capabilities by which clients answer questions, with the parts that each can have."""


def is_declared_read_only(annotations: JsonObject) -> bool:
    """Tell whether the annotations of a function say that it changes nothing."""
    return annotations.get("readOnlyHint") is True


@dataclass(frozen=True, slots=True)
class Placement:
    """The executor on which a function runs."""

    hosted: HostedFunction
    executor: Executor


@dataclass(frozen=True, slots=True)
class ExecutorVersion:
    """The version and digest that an executor had when it was placed."""

    version: str | None
    digest: str
    """The SHA-256 of the manifest of its functions, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class PlacedExecutor:
    """An executor in the directory, with the functions that it hosts for one tenant or, if shipped, for all."""

    tenant: str | None
    executor: Executor
    functions: Sequence[str]
    terms: ExecutorVersion | None = None
    """None if an earlier release placed the executor, or if its placement is not finished."""


MOST_STOPPED_PRINCIPALS = 50
"""Principals of one function whose breakers are kept. Another one takes the place of the one stopped longest ago."""


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The state of a breaker that is not closed. A closed breaker has no state."""

    opened_until: float
    failures: int
    last_failure: str
    probing_until: float | None = None
    """The time until which one caller may probe whether the function works again; None without a probe."""
    subject: str | None = None
    """The principal whose calls it stops; None if it stops those of all callers."""


@dataclass(frozen=True, slots=True)
class OpenBreakers:
    """The breakers of one function that are not closed."""

    for_all: BreakerState | None = None
    """The breaker that stops the calls of all callers of the tenant."""
    by_principal: Mapping[str, BreakerState] = field(default_factory=dict[str, BreakerState])
    """The breakers that stop the calls of one principal each, by the digest of the principal."""

    @property
    def any(self) -> bool:
        return self.for_all is not None or bool(self.by_principal)

    @property
    def surplus(self) -> Sequence[str]:
        """The digests of the principals that are too many; those stopped longest ago come first."""
        by_time = sorted(self.by_principal, key=lambda digest: self.by_principal[digest].opened_until)
        return by_time[: max(len(by_time) - MOST_STOPPED_PRINCIPALS, 0)]


@dataclass(frozen=True, slots=True)
class FunctionState:
    """The facts about a function that a call needs, read at once."""

    own: Placement | None
    """The placement of the tenant's own function of this name, which takes precedence over the shipped one."""
    shipped: Placement | None
    settings: Mapping[str, SettingValue]
    """The settings of this function."""
    tenant_settings: Mapping[str, SettingValue]
    """The settings of all functions of the tenant, over the deployment's settings for all tenants."""
    breakers: OpenBreakers
