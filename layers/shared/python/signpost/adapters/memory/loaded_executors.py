"""Executors that a tenant loads at run time, in memory."""

from collections.abc import Callable

from signpost.adapters.memory.functions import FunctionTable, MemoryDirectory
from signpost.content import ChangeEvent
from signpost.contract import Hosted, Placement
from signpost.loads import Holding, Loading


class MemoryLoadedExecutors:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table
        self._directory = MemoryDirectory(table)

    def look(self, tenant: str) -> Holding:
        with self._table.lock:
            return self._holding(tenant)

    def change[Refusal](self, tenant: str, decide: Callable[[Holding], Loading | Refusal]) -> Loading | Refusal:
        with self._table.lock:
            decided = decide(self._holding(tenant))
            if isinstance(decided, Loading):
                self._carry_out(tenant, decided)
        return decided

    def _holding(self, tenant: str) -> Holding:
        placed = [one for one in self._directory.placed_now() if one.tenant in (None, tenant)]
        return Holding(placed, self._hosted(tenant), self._hosted(None))

    def _hosted(self, tenant: str | None) -> list[Hosted]:
        return [placement.hosted for (scope, _), placement in self._table.placements.items() if scope == tenant]

    def _carry_out(self, tenant: str, loading: Loading) -> None:
        table, executor = self._table, loading.executor
        table.revisions[tenant] += 1
        table.keep_terms(tenant, executor.arn, loading.terms)
        for function in loading.gone:
            table.placements.pop((tenant, function), None)
        for one in loading.hosted:
            table.placements[tenant, one.function] = Placement(one, executor)
        table.told += [
            ChangeEvent(tenant, table.revisions[tenant], "skills::registry", one.op, one.name) for one in loading.told
        ]
