"""The objects of the content bucket in all their versions, in memory, and the references of a content store to them."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

from signpost.adapters import object_keys
from signpost.adapters.memory.content_store import MemoryContentStore
from signpost.content.kept_objects import NamedObjects, ObjectVersion, RetentionScan
from signpost.content.model import SkillChange

if TYPE_CHECKING:
    from signpost.ports import Clock


class MemoryBucket:
    """Keeps bodies of skill documents, and gives the sweeper their versions."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._ids = count(1)
        self._objects: dict[str, list[tuple[ObjectVersion, bytes]]] = {}
        self._scans: dict[str | None, RetentionScan] = {}

    def keep(self, tenant: str | None, digest: str, body: bytes) -> None:
        key = object_keys.body(tenant, digest)
        version = ObjectVersion(key, str(next(self._ids)), self._clock.now())
        self._objects.setdefault(key, []).append((version, body))

    def read(self, tenant: str | None, digest: str) -> bytes:
        key = object_keys.body(tenant, digest)
        if key not in self._objects:
            raise LookupError(f"There is no object {key}.")
        return self._objects[key][-1][1]

    def scopes(self) -> Mapping[str | None, float]:
        tenants = {object_keys.owner_of(key.split("/")[1]) for key in self._objects}
        return {tenant: self._scans[tenant].at if tenant in self._scans else 0.0 for tenant in tenants}

    def read_last_scan(self, tenant: str | None) -> RetentionScan:
        return self._scans[tenant]

    def write_scan(self, tenant: str | None, look: RetentionScan) -> None:
        self._scans[tenant] = look

    def versions(self, tenant: str | None) -> Sequence[ObjectVersion]:
        prefix = object_keys.bodies_of(tenant)
        return [version for key in self._objects if key.startswith(prefix) for version, _ in self._objects[key]]

    def remove(self, versions: Sequence[ObjectVersion]) -> None:
        removed_ids = {version.id for version in versions}
        for key, stored in list(self._objects.items()):
            remaining = [(version, body) for version, body in stored if version.id not in removed_ids]
            if remaining:
                self._objects[key] = remaining
            else:
                del self._objects[key]


class MemoryReferences:
    """Finds the objects that a content store refers to. A store in memory has no overlays, so none is unfinished."""

    history = "memory"
    scopes = frozenset({"skills"})

    def __init__(self, store: MemoryContentStore) -> None:
        self._store = store

    def list_unfinished_tenants(self) -> Sequence[str | None]:
        return ()

    def complete(self, tenant: str | None) -> None:
        pass

    def find_named_objects(self, tenant: str | None, scopes: frozenset[str], *, after: int | None) -> NamedObjects:
        del scopes
        changes = [(sequence, change) for owner, sequence, change in self._store.changes if owner == tenant]
        last = max((sequence for sequence, _ in changes), default=0)
        skills = [*self._store.skills(tenant)] + [
            change.skill
            for sequence, change in changes
            if after is not None and sequence > after and isinstance(change, SkillChange) and change.skill
        ]
        return NamedObjects(
            frozenset(object_keys.body(tenant, digest) for skill in skills for digest in skill.object_digests), last
        )
