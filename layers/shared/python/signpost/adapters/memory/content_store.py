"""The store of skill documents, prompts and subscriptions, in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from threading import Lock

from signpost.adapters.change_events import event_of
from signpost.adapters.memory.functions import FunctionTable
from signpost.content.model import (
    CatalogueChange,
    Change,
    ChangeEvent,
    Layers,
    Overtaken,
    PolicyChange,
    PromptChange,
    Skill,
    SkillChange,
    StoredPrompt,
    Subscription,
    SubscriptionChange,
    WorkflowChange,
)
from signpost.model import SettingValue
from signpost.records import dataclass


@dataclass(slots=True)
class _ScopeContent:
    """The content of one tenant, or the shipped content."""

    version: int = 0
    catalogue: str | None = None
    policies: str | None = None
    skills: dict[str, Skill] = field(default_factory=dict[str, Skill])
    prompts: dict[str, StoredPrompt] = field(default_factory=dict[str, StoredPrompt])
    subscriptions: dict[str, Subscription] = field(default_factory=dict[str, Subscription])


class MemoryContentStore:
    """Keeps the content of all tenants. Takes the table with their settings."""

    def __init__(self, table: FunctionTable) -> None:
        self.table = table
        self._lock = Lock()
        self._scopes: dict[str | None, _ScopeContent] = {}
        self.events: list[ChangeEvent] = []
        """The events that a content relay would have put on the bus, in the order of the changes."""
        self.changes: list[tuple[str | None, int, Change]] = []
        """All changes, with tenants and sequence numbers."""

    def versions(self, tenant: str) -> tuple[int, int, str | None, str | None]:
        """Return the versions of own and shipped content, and the digests of the tenant's catalogue and rules."""
        with self._lock:
            own = self._scope(tenant)
            return own.version, self._scope(None).version, own.catalogue, own.policies

    def catalogue(self, tenant: str) -> str | None:
        with self._lock:
            return self._scope(tenant).catalogue

    def skill(self, tenant: str, skill_id: str) -> Layers[Skill]:
        with self._lock:
            own, shipped = self._scope(tenant).skills, self._scope(None).skills
            return Layers(own.get(skill_id), shipped.get(skill_id), self._settings(tenant))

    def prompt(self, tenant: str, name: str) -> Layers[StoredPrompt]:
        with self._lock:
            own, shipped = self._scope(tenant).prompts, self._scope(None).prompts
            return Layers(own.get(name), shipped.get(name), self._settings(tenant))

    def skills(self, tenant: str | None) -> Sequence[Skill]:
        with self._lock:
            found = list(self._scope(tenant).skills.values())
        return sorted(found, key=lambda skill: skill.id.encode())

    def prompts(self, tenant: str | None) -> Sequence[StoredPrompt]:
        with self._lock:
            found = list(self._scope(tenant).prompts.values())
        return sorted(found, key=lambda prompt: prompt.name.encode())

    def subscriptions(self, tenant: str | None) -> Sequence[Subscription]:
        with self._lock:
            found = list(self._scope(tenant).subscriptions.values())
        return sorted(found, key=lambda subscription: subscription.name.encode())

    def apply(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[int | None]:
        with self._lock:
            catalogue = self._scope(tenant).catalogue
            if any(change.before != catalogue for change in changes if isinstance(change, CatalogueChange)):
                raise Overtaken
            return [self._apply(tenant, change) for change in changes]

    def _apply(self, tenant: str | None, change: Change) -> int | None:
        scope = self._scope(tenant)
        if not _carry_out(scope, change):
            return None
        scope.version += 1
        self.changes.append((tenant, scope.version, change))
        event = event_of(tenant, scope.version, change)
        if event is not None:
            self.events.append(event)
        return scope.version

    def _scope(self, tenant: str | None) -> _ScopeContent:
        return self._scopes.setdefault(tenant, _ScopeContent())

    def _settings(self, tenant: str) -> Mapping[str, SettingValue]:
        with self.table.lock:
            return self.table.settings.get((tenant, None), {})


def _carry_out(scope: _ScopeContent, change: Change) -> bool:
    """Apply the change to the scope; False if it changes nothing."""
    match change:
        case SkillChange():
            return _set_entry(scope.skills, change.id, change.skill)
        case PromptChange():
            return _set_entry(scope.prompts, change.name, change.prompt)
        case SubscriptionChange():
            return _set_entry(scope.subscriptions, change.name, change.subscription)
        case CatalogueChange():
            scope.catalogue, scope.policies = change.after, change.policies
            return True
        case WorkflowChange() | PolicyChange():
            return True  # recorded by the snapshot of the catalogue


def _set_entry[Entry](entries: dict[str, Entry], key: str, entry: Entry | None) -> bool:
    """Set or remove an entry; False if there is no entry to remove."""
    if entry is None:
        return entries.pop(key, None) is not None
    entries[key] = entry
    return True


class MemoryBodies:
    def __init__(self) -> None:
        self._bodies: dict[tuple[str | None, str], bytes] = {}

    def keep(self, tenant: str | None, digest: str, body: bytes) -> None:
        self._bodies[tenant, digest] = body

    def read(self, tenant: str | None, digest: str) -> bytes:
        body = self._bodies.get((tenant, digest))
        if body is None:
            raise LookupError(f"No body is kept under the digest {digest}.")
        return body
