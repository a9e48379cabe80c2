"""The store of skill documents, prompts and subscriptions, in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from threading import Lock
from typing import Any

from signpost.adapters.memory.functions import FunctionTable
from signpost.adapters.memory.timetables import MemoryTimetables
from signpost.content.changes import PROMPTS, SKILLS, SUBSCRIPTIONS, EntryKind, event_of, kind_of
from signpost.content.model import (
    Announcement,
    CatalogueChange,
    Change,
    ChangeEvent,
    Layers,
    Overtaken,
    Skill,
    StoredPrompt,
    Subscription,
)
from signpost.model import SettingValue
from signpost.records import dataclass


@dataclass(slots=True)
class _ScopeContent:
    """The content of one tenant, or the shipped content."""

    version: int = 0
    catalogue: str | None = None
    policies: str | None = None
    entries: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """The entries with rows, by the tag of their kind and by their id or name."""

    def of[Entry](self, kind: EntryKind[Any, Entry]) -> dict[str, Entry]:
        return self.entries.setdefault(kind.tag, {})


class MemoryContentStore:
    """Keeps the content of all tenants. Takes the table with their settings, and their timetables if schedules are
    published."""

    def __init__(self, table: FunctionTable, timetables: MemoryTimetables | None = None) -> None:
        self.table = table
        self.timetables = timetables
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
        return self._read_layers(SKILLS, tenant, skill_id)

    def prompt(self, tenant: str, name: str) -> Layers[StoredPrompt]:
        return self._read_layers(PROMPTS, tenant, name)

    def skills(self, tenant: str | None) -> Sequence[Skill]:
        return self._read_all(SKILLS, tenant)

    def prompts(self, tenant: str | None) -> Sequence[StoredPrompt]:
        return self._read_all(PROMPTS, tenant)

    def subscriptions(self, tenant: str | None) -> Sequence[Subscription]:
        return self._read_all(SUBSCRIPTIONS, tenant)

    def apply(self, tenant: str | None, changes: Sequence[Change]) -> Sequence[int | None]:
        with self._lock:
            catalogue = self._scope(tenant).catalogue
            if any(change.before != catalogue for change in changes if isinstance(change, CatalogueChange)):
                raise Overtaken
            if tenant is not None and self.timetables is not None and any(map(_wakes_schedules, changes)):
                self.timetables.wake(tenant)
            return [self._apply(tenant, change) for change in changes]

    def announce(self, tenant: str, announcement: Announcement) -> int:
        with self._lock:
            scope = self._scope(tenant)
            scope.version += 1
            told = ChangeEvent(tenant, scope.version, announcement.type, announcement.op, announcement.key)
            self.events.append(told)
            return scope.version

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

    def _read_layers[Entry](self, kind: EntryKind[Any, Entry], tenant: str, name: str) -> Layers[Entry]:
        with self._lock:
            own, shipped = self._scope(tenant).of(kind), self._scope(None).of(kind)
            return Layers(own.get(name), shipped.get(name), self._settings(tenant))

    def _read_all[Entry](self, kind: EntryKind[Any, Entry], tenant: str | None) -> Sequence[Entry]:
        with self._lock:
            entries = dict(self._scope(tenant).of(kind))
        return [entries[name] for name in sorted(entries, key=str.encode)]

    def _scope(self, tenant: str | None) -> _ScopeContent:
        return self._scopes.setdefault(tenant, _ScopeContent())

    def _settings(self, tenant: str) -> Mapping[str, SettingValue]:
        with self.table.lock:
            return self.table.settings.get((tenant, None), {})


def _wakes_schedules(change: Change) -> bool:
    return isinstance(change, CatalogueChange) and change.wakes_schedules


def _carry_out(scope: _ScopeContent, change: Change) -> bool:
    """Apply the change to the scope; False if it changes nothing."""
    kind = kind_of(change)
    if isinstance(kind, EntryKind):
        return _set_entry(scope.of(kind), kind.name_of(change), kind.entry_of(change))
    if isinstance(change, CatalogueChange):
        scope.catalogue, scope.policies = change.after, change.policies
    return True  # the snapshot of the catalogue records the other kinds


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
