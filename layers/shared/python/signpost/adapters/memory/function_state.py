"""The stores of effects, handles and used nonces, in memory."""

from collections.abc import Sequence
from threading import Lock

from signpost.calling.effects import EffectKey, EffectRecord
from signpost.calling.handles import HandleOwner, ListedHandle, StoredHandle, is_live
from signpost.model import Principal


class MemoryEffectRecords:
    def __init__(self) -> None:
        self.records: dict[EffectKey, EffectRecord] = {}
        self._lock = Lock()

    def add(self, key: EffectKey, record: EffectRecord) -> EffectRecord:
        with self._lock:
            return self.records.setdefault(key, record)

    def replace(self, key: EffectKey, claim: str, record: EffectRecord) -> EffectRecord | None:
        with self._lock:
            if self._is_open(key, claim):
                self.records[key] = record
            return self.records.get(key)

    def remove(self, key: EffectKey, claim: str) -> None:
        with self._lock:
            if self._is_open(key, claim):
                del self.records[key]

    def _is_open(self, key: EffectKey, claim: str) -> bool:
        standing = self.records.get(key)
        return standing is not None and standing.claim == claim and standing.outcome is None


class MemoryHandles:
    def __init__(self) -> None:
        self.handles: dict[tuple[HandleOwner, str], StoredHandle] = {}
        self._lock = Lock()

    def add(self, owner: HandleOwner, handle: StoredHandle, now: float) -> StoredHandle:
        with self._lock:
            if not is_live(self.handles.get((owner, handle.id)), now):
                self.handles[owner, handle.id] = handle
            return self.handles[owner, handle.id]

    def read(self, owner: HandleOwner, handle_id: str) -> StoredHandle | None:
        return self.handles.get((owner, handle_id))

    def replace(self, owner: HandleOwner, handle: StoredHandle, version: int, now: float) -> StoredHandle | None:
        with self._lock:
            standing = self.handles.get((owner, handle.id))
            if standing is not None and is_live(standing, now) and standing.version == version:
                self.handles[owner, handle.id] = handle
            return self.handles.get((owner, handle.id))

    def remove(self, owner: HandleOwner, handle_id: str) -> None:
        with self._lock:
            self.handles.pop((owner, handle_id), None)

    def list(self, owner: HandleOwner, prefix: str, now: float, most: int) -> Sequence[ListedHandle]:
        with self._lock:
            found = sorted(
                (
                    handle
                    for (holder, name), handle in self.handles.items()
                    if holder == owner
                    if name.startswith(prefix)
                ),
                key=lambda handle: handle.id,
            )
        live = [handle for handle in found if is_live(handle, now)]
        return [ListedHandle(handle.id, handle.version, handle.expires_at) for handle in live[:most]]


class MemoryUsedNonces:
    def __init__(self) -> None:
        self._used: set[tuple[str, str, str, str]] = set()
        self._lock = Lock()

    def use(self, principal: Principal, nonce: str, expires_at: float) -> bool:
        del expires_at  # nothing is forgotten in memory
        used = (principal.tenant, principal.issuer, principal.subject, nonce)
        with self._lock:
            is_first = used not in self._used
            self._used.add(used)
            return is_first
