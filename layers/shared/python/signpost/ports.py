"""What the core needs from the world, and what a surface needs from its providers.

The stores have an AWS adapter and an in-memory one each; `tests/contract` holds both to the same promises.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from signpost.model import (
    ApiKey,
    Call,
    CatalogueItem,
    CataloguePointer,
    Completion,
    InputRequired,
    IssuerKeySet,
    JsonObject,
    MasterKeys,
    Prompt,
    PromptResult,
    Resource,
    ResourceTemplate,
    Tool,
    ToolResult,
)


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""
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


class Catalogue(Protocol):
    def pointer(self, tenant: str) -> CataloguePointer:
        """NOTHING_PUBLISHED where that is so."""
        ...

    def items(self, tenant: str, digest: str) -> Sequence[CatalogueItem]: ...

    def publish(self, tenant: str, items: Sequence[CatalogueItem], replacing: int) -> bool:
        """Makes these items version `replacing + 1`, seen whole or not at all; False if `replacing` is stale."""
        ...


class AnswerStore(Protocol):
    def keep(self, tenant: str, text: str) -> str:
        """Keeps an answer that is too long to be sent, and returns the address where it can be read for a while."""
        ...


class MasterKeyStore(Protocol):
    def read(self) -> MasterKeys: ...

    def write(self, keys: MasterKeys) -> None: ...


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


class ResourceProvider(Protocol):
    def resources(self, call: Call) -> Sequence[Resource]: ...

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]: ...

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | InputRequired | None:
        """None if this provider has nothing at that URI."""
        ...


class PromptProvider(Protocol):
    def prompts(self, call: Call) -> Sequence[Prompt]: ...

    def get_prompt(self, name: str, arguments: Mapping[str, str], call: Call) -> PromptResult | InputRequired | None:
        """None if this provider has no prompt of that name."""
        ...


class CompletionProvider(Protocol):
    def complete(self, reference: JsonObject, argument: str, value: str, call: Call) -> Completion | None:
        """None if this provider does not know the prompt or template that `reference` names."""
        ...
