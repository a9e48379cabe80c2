"""What the core needs from the world, and what a surface needs from its providers.

The stores have an AWS adapter and an in-memory one each; `tests/contract` holds both to the same promises.
"""

# Whoever needs one port need not load the values of all of them: they cost a cold start a third of a millisecond each.
from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from signpost.content import (
        AgentSkill,
        BusEvent,
        Change,
        Layers,
        ListedSkill,
        Revisions,
        Skill,
        StoredPrompt,
        Subscription,
    )
    from signpost.contract import (
        BreakerState,
        Executor,
        FunctionState,
        Hosted,
        Placed,
        Reply,
        Request,
        Terms,
        Undelivered,
    )
    from signpost.credentials import ApiKey, IssuerKeySet
    from signpost.errors import Rejection
    from signpost.kept import Look, Named, Version
    from signpost.loads import Holding, Loading
    from signpost.model import (
        Call,
        Completion,
        InputRequired,
        JsonObject,
        MasterKeys,
        Prompt,
        PromptResult,
        Resource,
        ResourceTemplate,
        SettingValue,
        Tool,
        ToolResult,
    )
    from signpost.wakes import Message, Posted
    from signpost.web import NotReached, WebAnswer, WebRequest


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
        ...


class Timestamps(Protocol):
    def now(self) -> str:
        """UTC, RFC 3339, with microseconds: what happens milliseconds apart can be told apart."""
        ...


class Ids(Protocol):
    def new(self) -> str:
        """Random, of letters and digits."""
        ...


class Alarm(Protocol):
    def __call__(self, seconds: float) -> AbstractContextManager[None]:
        """Around what may take so long at most. Raises DeadlinePassed inside it."""
        ...


class ApiKeys(Protocol):
    def find(self, tenant: str, key_id: str) -> ApiKey | None: ...

    def of_tenant(self, tenant: str) -> Sequence[ApiKey]:
        """All of them, oldest first."""
        ...

    def add(self, key: ApiKey) -> bool:
        """False if the tenant already has a key with this id."""
        ...

    def revoke(self, tenant: str, key_id: str, at: float) -> ApiKey | None:
        """The key as it is now, or None if there is none. Revoking twice keeps the first time."""
        ...


class IssuerKeySets(Protocol):
    def read(self, issuer: str) -> IssuerKeySet | None: ...

    def claim_refresh(self, issuer: str, now: float, until: float) -> bool:
        """True for one caller only: nobody else may claim before `until`."""
        ...

    def save(self, issuer: str, key_set: IssuerKeySet) -> None: ...


class KeySetSource(Protocol):
    def fetch(self, issuer: str) -> Mapping[str, JsonObject]:
        """The keys that the issuer publishes now, by kid. Raises Unavailable."""
        ...


class Texts(Protocol):
    """Texts that never change, under what they are made of."""

    def keep(self, tenant: str, text: str) -> str:
        """Answers the digest to read it by."""
        ...

    def read(self, tenant: str, digest: str) -> str:
        """Raises LookupError for what was never kept."""
        ...


class AnswerStore(Protocol):
    def keep(self, tenant: str, text: str) -> str:
        """Keeps an answer that is too long to be sent, and returns the address where it can be read for a while."""
        ...

    def address(self, key: str) -> str:
        """The same of an answer that an executor has kept under this key."""
        ...


class ContentStore(Protocol):
    """Skill documents, prompts, subscriptions and which catalogue there is, by tenant; the tenant None is what is
    shipped."""

    def catalogue(self, tenant: str) -> str | None:
        """The digest of the current snapshot; None if nothing was ever published."""
        ...

    def skill(self, tenant: str, skill_id: str) -> Layers[Skill]: ...

    def prompt(self, tenant: str, name: str) -> Layers[StoredPrompt]: ...

    def skills(self, tenant: str | None) -> Sequence[Skill]:
        """By id, in the order of its bytes."""
        ...

    def prompts(self, tenant: str | None) -> Sequence[StoredPrompt]:
        """By name, in the order of its bytes."""
        ...

    def subscriptions(self, tenant: str | None) -> Sequence[Subscription]:
        """By name, in the order of its bytes."""
        ...

    def apply(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[int | None]:
        """Carries out all of them or none, seen whole or not at all however many they are, each with its event, if
        anybody is told of it. Answers their sequence numbers; None for an unregistration that found nothing, which is
        no change. Raises Overtaken if a change of the catalogue comes from a snapshot that is not the current one."""
        ...


class Bodies(Protocol):
    """The bodies of skill documents, by their digest; the tenant None is what the deployment ships."""

    def keep(self, tenant: str | None, digest: str, body: bytes) -> None: ...

    def read(self, tenant: str | None, digest: str) -> bytes: ...


class ContentReferences(Protocol):
    """Which objects the rows of skill documents and prompts name; the tenant None is what the deployment ships."""

    @property
    def history(self) -> str:
        """By whose sequence numbers changes follow each other."""
        ...

    @property
    def scopes(self) -> frozenset[str]:
        """What the partition of skill documents is called now."""
        ...

    def unfinished(self) -> Sequence[str | None]:
        """The tenants with a publication that is not in its rows yet."""
        ...

    def complete(self, tenant: str | None) -> None:
        """Writes the rows of such a publication, whoever else is at it."""
        ...

    def named(self, tenant: str | None, scopes: frozenset[str], *, after: int | None) -> Named:
        """Including what a change after that one has named, be it for a moment only."""
        ...


class KeptObjects(Protocol):
    """The objects themselves, in all their versions."""

    def scopes(self) -> Mapping[str | None, float]:
        """The tenants that have any, and when they were looked at last; 0 for never."""
        ...

    def last_look(self, tenant: str | None) -> Look:
        """Raises LookupError if there was none."""
        ...

    def remember(self, tenant: str | None, look: Look) -> None: ...

    def versions(self, tenant: str | None) -> Sequence[Version]: ...

    def remove(self, versions: Sequence[Version]) -> None: ...


class EventBus(Protocol):
    def put(self, events: Sequence[BusEvent]) -> Sequence[bool]:
        """Which of at most ten it has taken."""
        ...


class DeliveryQueue(Protocol):
    def put(self, text: str) -> None: ...

    def put_off(self, receipt: str, seconds: int) -> None:
        """Shows a message that somebody has taken out again after so long."""
        ...


class WorkQueue(Protocol):
    """What instances of workflows the worker is to look at."""

    def put(self, posted: Posted) -> None: ...


class Due(Protocol):
    """Which instances of workflows something is due of, whoever has forgotten to look at them."""

    def by(self, now: float, most: int) -> Sequence[Message]:
        """At most so many, those that have waited longest first."""
        ...


class Wakeful(Protocol):
    def wake(self, tenant: str, workflow_id: str, ends_at: float) -> None:
        """Looks at an instance, and does what it stands for, be it nothing. Has ended by `ends_at`."""
        ...


class Web(Protocol):
    def send(self, request: WebRequest) -> WebAnswer | NotReached:
        """One request to a place that somebody else has named. Follows no redirect."""
        ...


class MasterKeyStore(Protocol):
    def read(self) -> MasterKeys: ...

    def write(self, keys: MasterKeys) -> None: ...


class Executors(Protocol):
    def invoke(self, request: Request) -> Reply:
        """One attempt. Answers before `request.ends_at`, whatever the function does."""
        ...


class Link(Protocol):
    """The way to another Lambda function."""

    def send(self, function_arn: str, payload: bytes, give_up_at: float) -> bytes | Undelivered:
        """What it answered, by `give_up_at` at the latest. Sends once: what is lost is not repeated."""
        ...


class ExecutorInspector(Protocol):
    def inspect(self, lambda_function: str) -> Executor | str:
        """The executor behind a name or ARN, or a sentence that says why it is none."""
        ...


class ExecutorSecrets(Protocol):
    def problem_with(self, secret: str) -> str | None:
        """Why no keys of an executor may be written there."""
        ...

    def write(self, secret: str, keys: MasterKeys) -> bool:
        """False if there is no such secret."""
        ...


class FunctionStates(Protocol):
    def read(self, tenant: str, function: str) -> FunctionState: ...


class PlacedFunctions(Protocol):
    """The functions that are placed, for lists of them."""

    def functions(self, tenant: str | None) -> Sequence[Hosted]:
        """By id; of the tenant None, what the deployment ships."""
        ...


class RevisionRows(Protocol):
    """The rows by which everybody who shows a list finds out whether it is still right."""

    def read(self, tenant: str) -> Revisions:
        """As they are now, by one read. Whatever changes content, catalogue or placements moves them in the same
        moment."""
        ...


class Directory(Protocol):
    """Which executor hosts which functions. The tenant None is what the deployment ships for every tenant."""

    def placed(self) -> Sequence[Placed]:
        """Everything that is hosted for anybody, by tenant and executor."""
        ...

    def place(
        self, tenant: str | None, executor: Executor, hosted: Sequence[Hosted], terms: Terms | None = None
    ) -> Sequence[str]:
        """Makes these, and no others, the functions of the executor. Answers those that another one hosts already;
        if there is any, nothing has changed."""
        ...

    def remove(self, tenant: str | None, executor_arn: str) -> bool:
        """False if it hosts nothing there."""
        ...


class LoadedExecutors(Protocol):
    """The directory of a tenant, where it changes at run time."""

    def look(self, tenant: str) -> Holding: ...

    def change[Refusal](self, tenant: str, decide: Callable[[Holding], Loading | Refusal]) -> Loading | Refusal:
        """Changes what was decided by how the directory is at the moment of the change: all of it, with what
        subscribers are told, or nothing. Decides again where somebody else came first."""
        ...


class RuntimeSettings(Protocol):
    """What an operator sets without a deploy; the function None is all functions of the tenant."""

    def of_tenant(self, tenant: str) -> Mapping[str | None, Mapping[str, SettingValue]]:
        """By function."""
        ...

    def set(self, tenant: str, function: str | None, name: str, value: SettingValue) -> None: ...

    def unset(self, tenant: str, function: str | None, name: str) -> None: ...


class Breakers(Protocol):
    """The breakers that are not closed, shared by all gateways."""

    def of_tenant(self, tenant: str) -> Mapping[str, BreakerState]:
        """By function."""
        ...

    def open(self, tenant: str, function: str, state: BreakerState) -> None: ...

    def claim_probe(self, tenant: str, function: str, now: float, until: float) -> bool:
        """True for one caller only, and for anybody once the breaker is closed again."""
        ...

    def close(self, tenant: str, function: str) -> bool:
        """False if it was not open."""
        ...


class ToolProvider(Protocol):
    def tools(self, call: Call) -> Sequence[Tool]:
        """Those to list, always in the same order."""
        ...

    def tool(self, name: str, call: Call) -> Tool | None:
        """The tool of that name, listed or not; None if this provider has none for this caller."""
        ...

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult | InputRequired:
        """Arguments satisfy the tool's input schema."""
        ...


@runtime_checkable
class RefusesInItsOwnForm(Protocol):
    """What a tool provider may be besides: its clients expect one form of all errors."""

    def refused(self, arguments: JsonObject, message: str) -> ToolResult:
        """The answer to arguments that do not satisfy a schema."""
        ...


@runtime_checkable
class HidesTools(Protocol):
    """What a tool provider may be besides: it has tools that no list shows, and that are called as any other."""

    def hidden_tools(self, call: Call) -> Sequence[Tool]: ...


class ResourceProvider(Protocol):
    def resources(self, call: Call) -> Sequence[Resource]: ...

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]: ...

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | InputRequired | Rejection | None:
        """None if this provider has nothing at that URI."""
        ...


@runtime_checkable
class HidesResources(Protocol):
    """What a resource provider may be besides: it has resources and templates that no list shows, and that are read as
    any other."""

    def hidden_resources(self, call: Call) -> Sequence[Resource]: ...

    def hidden_resource_templates(self, call: Call) -> Sequence[ResourceTemplate]: ...


class SkillProvider(Protocol):
    """Agent Skills. Their files are resources, so that who provides these provides resources too."""

    def skills(self, call: Call) -> Sequence[ListedSkill]: ...

    def skill(self, uri: str, call: Call) -> AgentSkill | None:
        """As it is now. None if this provider has no skill whose SKILL.md is at that URI."""
        ...

    def directory(self, uri: str, call: Call) -> Sequence[Resource] | None:
        """What is directly in it; None if this provider has no directory at that URI."""
        ...


class PromptProvider(Protocol):
    def prompts(self, call: Call) -> Sequence[Prompt]: ...

    def get_prompt(
        self, name: str, arguments: Mapping[str, str], call: Call
    ) -> PromptResult | InputRequired | Rejection | None:
        """None if this provider has no prompt of that name."""
        ...


@runtime_checkable
class HidesPrompts(Protocol):
    """What a prompt provider may be besides, likewise."""

    def hidden_prompts(self, call: Call) -> Sequence[Prompt]: ...


class CompletionProvider(Protocol):
    def complete(
        self, reference: JsonObject, argument: str, value: str, given: Mapping[str, str], call: Call
    ) -> Completion | Rejection | None:
        """`given` are the other arguments, as far as they are known. None if this provider does not know the prompt or
        template that `reference` names, or its argument."""
        ...
