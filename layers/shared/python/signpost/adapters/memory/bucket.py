"""The objects that the registry keeps, in all their versions, in memory; and which of them a store in memory names."""

from collections.abc import Mapping, Sequence
from itertools import count

from signpost.adapters import object_keys
from signpost.adapters.memory.content_store import MemoryContentStore
from signpost.content import SkillChange
from signpost.kept import Look, Named, Version
from signpost.ports import Clock


class MemoryBucket:
    """Bodies, and what whoever collects them wants to know."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ids = count(1)
        self._objects: dict[str, list[tuple[Version, bytes]]] = {}
        self._looks: dict[str | None, Look] = {}

    def keep(self, tenant: str | None, digest: str, body: bytes) -> None:
        key = object_keys.body(tenant, digest)
        version = Version(key, str(next(self._ids)), self._clock.now())
        self._objects.setdefault(key, []).append((version, body))

    def read(self, tenant: str | None, digest: str) -> bytes:
        key = object_keys.body(tenant, digest)
        if key not in self._objects:
            raise LookupError(f"There is no object {key}.")
        return self._objects[key][-1][1]

    def scopes(self) -> Mapping[str | None, float]:
        tenants = {object_keys.owner_of(key.split("/")[1]) for key in self._objects}
        return {tenant: self._looks[tenant].at if tenant in self._looks else 0.0 for tenant in tenants}

    def last_look(self, tenant: str | None) -> Look:
        return self._looks[tenant]

    def remember(self, tenant: str | None, look: Look) -> None:
        self._looks[tenant] = look

    def versions(self, tenant: str | None) -> Sequence[Version]:
        prefix = object_keys.bodies_of(tenant)
        return [version for key in self._objects if key.startswith(prefix) for version, _ in self._objects[key]]

    def remove(self, versions: Sequence[Version]) -> None:
        going = {version.id for version in versions}
        for key, there in list(self._objects.items()):
            left = [(version, body) for version, body in there if version.id not in going]
            if left:
                self._objects[key] = left
            else:
                del self._objects[key]


class MemoryReferences:
    """A store in memory finishes everything at once."""

    history = "memory"
    scopes = frozenset({"skills"})

    def __init__(self, store: MemoryContentStore) -> None:
        self._store = store

    def unfinished(self) -> Sequence[str | None]:
        return ()

    def complete(self, tenant: str | None) -> None:
        pass

    def named(self, tenant: str | None, scopes: frozenset[str], *, after: int | None) -> Named:
        del scopes
        changes = [(sequence, change) for owner, sequence, change in self._store.changes if owner == tenant]
        last = max((sequence for sequence, _ in changes), default=0)
        there = [*self._store.skills(tenant)] + [
            change.skill
            for sequence, change in changes
            if after is not None and sequence > after and isinstance(change, SkillChange) and change.skill
        ]
        return Named(frozenset(object_keys.body(tenant, digest) for skill in there for digest in skill.kept), last)
