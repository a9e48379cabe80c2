"""The contract between whoever calls functions and the executors that host them: what is asked, what comes back.

`execution/wire.py` is its form on the wire, `docs/executors.md` its description.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from signpost.model import InputRequired, Json, JsonObject, Principal, PromptArgument, SettingValue, Trace
from signpost.records import dataclass

type FailureClass = Literal["timeout", "rate_limited", "connection_error", "transient_error", "permanent_error"]
type Outcome = Literal["none", "unknown"]
"""What a failed call did: nothing, or nobody can say."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call as its caller wants it."""

    function: str
    arguments: JsonObject
    principal: Principal
    ends_at: float
    """Seconds since the epoch by which the reply has to be there, whatever the function does."""
    permissions: frozenset[str] | None = None
    """What the function may use at most; None for all that it declares."""
    depth: int = 0
    """How many functions called each other to get here."""
    expires_at: float | None = None
    """When the right to run it ends, for a caller that holds a lease; else with the deadline."""
    idempotency_key: str | None = None
    step: str | None = None
    """The workflow step that this call belongs to."""
    trace: Trace | None = None
    answers: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What the client answered to an InputRequired."""
    state: Json = None
    """What that InputRequired had put aside."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call as the executor receives it, beside the token that allows it."""

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
    """Where in the content bucket a result goes that is too long to be sent."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a client sees of an answer, where its value does not say all of it."""

    content: Sequence[JsonObject] = ()
    """Blocks of MCP; empty where the value is shown."""
    meta: JsonObject = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class Result:
    value: Json
    evidence: Sequence[JsonObject] = ()
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result that was too long to be sent, as an object of the content bucket."""

    key: str
    size: int
    sha256: str
    evidence: Sequence[JsonObject] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    """What happened: a row of `execution/failures.py`, or `reported` by the function's author."""
    kind: FailureClass
    outcome: Outcome
    message: str
    """A sentence for whoever called; nothing that quotes an exception."""
    retry_after_ms: int | None = None
    shown: Shown | None = None
    """What the author shows instead of the sentence."""
    counts: bool = True
    """False where its author says that it tells nothing of whether the function works."""


@dataclass(frozen=True, slots=True)
class Undelivered:
    """No answer came from the executor; `code` says why, as a row of `execution/failures.py`."""

    code: str


type Reply = Result | KeptResult | InputRequired | Failure


LONGEST_DESCRIPTION = 4_000
"""Characters that describe a function; they are part of every list of tools."""
LONGEST_NAME = 128
"""Characters of a tool's own name."""
LONGEST_TITLE = 200
"""Characters of a title, and of a category."""
LONGEST_EXTRAS = 8_000
"""Characters of JSON that annotations, icons and metadata have at most, each."""
LONGEST_DOC = 1_024
"""Characters of the id of a skill document."""
LONGEST_URI = 2_048
"""Characters of the URI of a resource, or of the pattern of a template."""
LONGEST_COMPONENT = 16_000
"""Characters of JSON that say what lists show of a prompt, a resource or a template alone."""


@dataclass(frozen=True, slots=True)
class Executor:
    """A Lambda function that hosts functions."""

    arn: str
    key_secret_arn: str
    """The secret with the keys that its tokens are signed with; only it and who places it can read it."""
    timeout_ms: int
    """Its configured timeout: nothing it hosts can run longer."""


PROMPT, RESOURCE, TEMPLATE = "prompt", "resource", "template"
HELPER = "helper"
"""Called for one of the former only: it completes its arguments, or lists its instances."""


@dataclass(frozen=True, slots=True)
class Component:
    """What a function is to clients where it is no tool of theirs; `execution/components.py` has its form as JSON."""

    kind: str
    """One of the four above, or of those that a later release has."""
    uri: str | None = None
    """Of a resource; of a template its pattern."""
    mime_type: str | None = None
    size: int | None = None
    annotations: JsonObject = field(default_factory=dict[str, Json])
    """For whom a resource is, how much it matters and of when it is, in the words of MCP."""
    arguments: Sequence[PromptArgument] = ()
    complete: Mapping[str, Sequence[str] | None] = field(default_factory=dict[str, "Sequence[str] | None"])
    """What its arguments or variables may be completed to; None where a function of its own says so."""
    enumerates: bool = False
    """Whether a function of its own lists the instances of a template."""


@dataclass(frozen=True, slots=True)
class Hosted:
    """What an executor says of a function that it hosts."""

    function: str
    timeout_ms: int | None = None
    """How long it may take, where its author said so."""
    permissions: frozenset[str] = frozenset()
    """What it declares to use."""
    readable: bool = True
    """Whether a section of a skill may show what it answers."""
    description: str = ""
    """What it does, for whoever chooses among tools."""
    input_schema: JsonObject | None = None
    """What its arguments satisfy, where its author said so."""
    exposed: bool = False
    """Whether it is a tool also where only those are that say so."""
    name: str | None = None
    """What it is called as a tool where functions have names of their own."""
    title: str | None = None
    category: str | None = None
    output_schema: JsonObject | None = None
    """What its results satisfy, where its author said so."""
    annotations: JsonObject = field(default_factory=dict[str, Json])
    """Hints about its behaviour, in the words of MCP."""
    icons: Sequence[JsonObject] = ()
    meta: JsonObject = field(default_factory=dict[str, Json])
    """What lists show of it as `_meta`, beside its category."""
    hidden: bool = False
    """Whether lists leave it out; it is called as any other."""
    idempotent: bool = False
    """Whether calling it twice does what calling it once does."""
    doc: str | None = None
    """The id of the skill document that explains it."""
    component: Component | None = None
    """What it is to clients instead of a tool."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a function runs."""

    hosted: Hosted
    executor: Executor


@dataclass(frozen=True, slots=True)
class Terms:
    """What an executor said of itself when it was placed."""

    version: str | None
    digest: str
    """SHA-256 of all that it says of its functions, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An executor in the directory, and what it hosts for a tenant or, shipped, for all."""

    tenant: str | None
    executor: Executor
    functions: Sequence[str]
    terms: Terms | None = None
    """None where an earlier release placed it, or nobody has finished placing it."""


@dataclass(frozen=True, slots=True)
class BreakerState:
    """A breaker that is not closed. While it is closed there is nothing to know."""

    opened_until: float
    failures: int
    last_failure: str
    probing_until: float | None = None
    """Somebody finds out whether the function works again, and has until then."""


@dataclass(frozen=True, slots=True)
class FunctionState:
    """Everything about a function that a call of it has to look at, read at once."""

    own: Placement | None
    """Where the tenant's own function of this name runs; it goes before the shipped one."""
    shipped: Placement | None
    settings: Mapping[str, SettingValue]
    """What was set for this function."""
    tenant_settings: Mapping[str, SettingValue]
    """What was set for all functions of the tenant, over what the deployment sets for all tenants."""
    breaker: BreakerState | None
