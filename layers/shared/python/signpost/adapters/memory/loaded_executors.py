"""The store of executors that a tenant loads at run time, in memory."""

from collections.abc import Callable

from signpost.adapters.memory.functions import FunctionTable, MemoryDirectory
from signpost.contract import Placement
from signpost.directory.model import DirectoryChange, DirectorySnapshot


class MemoryLoadedExecutors:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table
        self._directory = MemoryDirectory(table)

    def read(self, tenant: str) -> DirectorySnapshot:
        with self._table.lock:
            return self._snapshot_of(tenant)

    def change[Refusal](
        self, tenant: str, decide: Callable[[DirectorySnapshot], DirectoryChange | Refusal]
    ) -> DirectoryChange | Refusal:
        with self._table.lock:
            decision = decide(self._snapshot_of(tenant))
            if isinstance(decision, DirectoryChange):
                self._carry_out(tenant, decision)
        return decision

    def _snapshot_of(self, tenant: str) -> DirectorySnapshot:
        all_placed = self._directory.list_placed_locked()
        placed = [executor for executor in all_placed if executor.tenant in (None, tenant)]
        return DirectorySnapshot(placed, self._table.hosted_in(tenant), self._table.hosted_in(None))

    def _carry_out(self, tenant: str, change: DirectoryChange) -> None:
        table, executor = self._table, change.executor
        table.revisions[tenant] += 1
        table.keep_terms(tenant, executor.arn, change.terms)
        for function in change.removed:
            table.placements.pop((tenant, function), None)
        for hosted in change.hosted:
            table.placements[tenant, hosted.function] = Placement(hosted, executor)
        table.add_load_events(tenant, change.notices)
