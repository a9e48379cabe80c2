"""Where functions run, what was set for them, and which are left alone, in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from threading import Lock

from signpost.content import ChangeEvent
from signpost.contract import BreakerState, Executor, FunctionState, Hosted, Placed, Placement, Terms
from signpost.model import SettingValue
from signpost.records import dataclass


@dataclass(slots=True)
class FunctionTable:
    """What the ports below have in common, as the registry table is on AWS."""

    lock: Lock = field(default_factory=Lock)
    placements: dict[tuple[str | None, str], Placement] = field(default_factory=dict[tuple[str | None, str], Placement])
    revisions: Counter[str | None] = field(default_factory=Counter[str | None])
    settings: dict[tuple[str, str | None], Mapping[str, SettingValue]] = field(
        default_factory=dict[tuple[str, str | None], Mapping[str, SettingValue]]
    )
    deployment: Mapping[str, SettingValue] = field(default_factory=dict[str, SettingValue])
    """What the deployment sets for tenants that set nothing themselves."""
    breakers: dict[tuple[str, str], BreakerState] = field(default_factory=dict[tuple[str, str], BreakerState])
    terms: dict[tuple[str | None, str], Terms] = field(default_factory=dict[tuple[str | None, str], Terms])
    told: list[ChangeEvent] = field(default_factory=list[ChangeEvent])
    """What subscribers are told of loads, in their order."""

    def keep_terms(self, tenant: str | None, executor_arn: str, terms: Terms | None) -> None:
        """Under the lock."""
        self.terms.pop((tenant, executor_arn), None)
        if terms is not None:
            self.terms[tenant, executor_arn] = terms

    def of_tenant(self, tenant: str) -> Mapping[str, SettingValue]:
        """What counts for the tenant. Under the lock."""
        return {**self.deployment, **self.settings.get((tenant, None), {})}


class MemoryFunctionStates:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table

    def read(self, tenant: str, function: str) -> FunctionState:
        table = self._table
        with table.lock:
            return FunctionState(
                own=table.placements.get((tenant, function)),
                shipped=table.placements.get((None, function)),
                settings=table.settings.get((tenant, function), {}),
                tenant_settings=table.of_tenant(tenant),
                breaker=table.breakers.get((tenant, function)),
            )


class MemoryPlacedFunctions:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table

    def functions(self, tenant: str | None) -> Sequence[Hosted]:
        with self._table.lock:
            found = [placed.hosted for (scope, _), placed in self._table.placements.items() if scope == tenant]
        return sorted(found, key=lambda hosted: hosted.function)


class MemoryDirectory:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table

    def placed(self) -> Sequence[Placed]:
        with self._table.lock:
            return self.placed_now()

    def placed_now(self) -> Sequence[Placed]:
        """Under the lock."""
        held = [(scope, placed.executor, name) for (scope, name), placed in self._table.placements.items()]
        held.sort(key=lambda one: (one[0] or "", one[1].arn, one[2]))
        return [
            Placed(tenant, executor, [name for *_, name in ones], self._table.terms.get((tenant, executor.arn)))
            for (tenant, executor), ones in groupby(held, key=lambda one: one[:2])
        ]

    def place(
        self, tenant: str | None, executor: Executor, hosted: Sequence[Hosted], terms: Terms | None = None
    ) -> Sequence[str]:
        wanted = {one.function: Placement(one, executor) for one in hosted}
        with self._table.lock:
            own = self._functions_of(tenant, executor.arn)
            placements = self._table.placements
            if taken := [name for name in wanted if (tenant, name) in placements and name not in own]:
                return taken
            for name in own:
                del placements[tenant, name]
            placements.update({(tenant, name): placement for name, placement in wanted.items()})
            self._table.keep_terms(tenant, executor.arn, terms if wanted else None)
            self._table.revisions[tenant] += 1
        return []

    def remove(self, tenant: str | None, executor_arn: str) -> bool:
        with self._table.lock:
            own = self._functions_of(tenant, executor_arn)
            for name in own:
                del self._table.placements[tenant, name]
            self._table.keep_terms(tenant, executor_arn, None)
            self._table.revisions[tenant] += bool(own)
        return bool(own)

    def _functions_of(self, tenant: str | None, executor_arn: str) -> set[str]:
        return {
            name
            for (scope, name), placement in self._table.placements.items()
            if scope == tenant and placement.executor.arn == executor_arn
        }


class MemoryRuntimeSettings:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table

    def of_tenant(self, tenant: str) -> Mapping[str | None, Mapping[str, SettingValue]]:
        with self._table.lock:
            found = [(name, settings) for (owner, name), settings in self._table.settings.items() if owner == tenant]
        return {name: settings for name, settings in found if settings}

    def set(self, tenant: str, function: str | None, name: str, value: SettingValue) -> None:
        with self._table.lock:
            before = self._table.settings.get((tenant, function), {})
            self._table.settings[tenant, function] = {**before, name: value}

    def unset(self, tenant: str, function: str | None, name: str) -> None:
        with self._table.lock:
            before = self._table.settings.get((tenant, function), {})
            self._table.settings[tenant, function] = {key: value for key, value in before.items() if key != name}


class MemoryBreakers:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table

    def of_tenant(self, tenant: str) -> Mapping[str, BreakerState]:
        with self._table.lock:
            return {name: state for (owner, name), state in self._table.breakers.items() if owner == tenant}

    def open(self, tenant: str, function: str, state: BreakerState) -> None:
        with self._table.lock:
            self._table.breakers[tenant, function] = state

    def claim_probe(self, tenant: str, function: str, now: float, until: float) -> bool:
        with self._table.lock:
            state = self._table.breakers.get((tenant, function))
            if state is None:
                return True
            if state.opened_until > now or (state.probing_until is not None and state.probing_until > now):
                return False
            self._table.breakers[tenant, function] = replace(state, probing_until=until)
            return True

    def close(self, tenant: str, function: str) -> bool:
        with self._table.lock:
            return self._table.breakers.pop((tenant, function), None) is not None
