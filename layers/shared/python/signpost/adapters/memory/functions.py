"""Placements, run-time settings and breakers of functions, in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from threading import Lock

from signpost.content.changes import LOAD_EVENT
from signpost.content.model import ChangeEvent
from signpost.contract import (
    BreakerState,
    Executor,
    ExecutorVersion,
    FunctionState,
    HostedFunction,
    OpenBreakers,
    PlacedExecutor,
    Placement,
)
from signpost.directory.load_notices import find_skill_names
from signpost.directory.model import LoadNotice
from signpost.model import SettingValue
from signpost.records import dataclass


@dataclass(slots=True)
class FunctionTable:
    """The state shared by the stores below, as the registry table on AWS."""

    lock: Lock = field(default_factory=Lock)
    placements: dict[tuple[str | None, str], Placement] = field(default_factory=dict[tuple[str | None, str], Placement])
    revisions: Counter[str | None] = field(default_factory=Counter[str | None])
    settings: dict[tuple[str | None, str | None], Mapping[str, SettingValue]] = field(
        default_factory=dict[tuple[str | None, str | None], Mapping[str, SettingValue]]
    )
    deployment: Mapping[str, SettingValue] = field(default_factory=dict[str, SettingValue])
    """The settings that are parameters of the deployment."""
    breakers: dict[tuple[str, str], OpenBreakers] = field(default_factory=dict[tuple[str, str], OpenBreakers])
    terms: dict[tuple[str | None, str], ExecutorVersion] = field(
        default_factory=dict[tuple[str | None, str], ExecutorVersion]
    )
    load_events: list[ChangeEvent] = field(default_factory=list[ChangeEvent])
    """The events of loads and placements, in order."""

    def add_load_events(self, tenant: str | None, notices: Sequence[LoadNotice]) -> None:
        """Add the events of a change of the directory at its revision. The caller holds the lock."""
        self.load_events += [
            ChangeEvent(tenant, self.revisions[tenant], LOAD_EVENT.type, notice.op, notice.name) for notice in notices
        ]

    def hosted_in(self, scope: str | None) -> list[HostedFunction]:
        """List the functions of a scope. The caller holds the lock."""
        return [placement.hosted for (owner, _), placement in self.placements.items() if owner == scope]

    def keep_terms(self, tenant: str | None, executor_arn: str, terms: ExecutorVersion | None) -> None:
        """Replace the terms of an executor. The caller holds the lock."""
        self.terms.pop((tenant, executor_arn), None)
        if terms is not None:
            self.terms[tenant, executor_arn] = terms

    def settings_of(self, tenant: str) -> Mapping[str, SettingValue]:
        """Return the effective settings of the tenant. The caller holds the lock."""
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
                tenant_settings=table.settings_of(tenant),
                breakers=table.breakers.get((tenant, function), OpenBreakers()),
            )


class MemoryPlacedFunctions:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table

    def functions(self, tenant: str | None) -> Sequence[HostedFunction]:
        with self._table.lock:
            found = self._table.hosted_in(tenant)
        return sorted(found, key=lambda hosted: hosted.function)


class MemoryDirectory:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table

    def list_placed(self) -> Sequence[PlacedExecutor]:
        with self._table.lock:
            return self.list_placed_locked()

    def list_placed_locked(self) -> Sequence[PlacedExecutor]:
        """List the placed executors. The caller holds the lock."""
        items = [(scope, placed.executor, name) for (scope, name), placed in self._table.placements.items()]
        items.sort(key=lambda item: (item[0] or "", item[1].arn, item[2]))
        return [
            PlacedExecutor(
                tenant, executor, [name for *_, name in group], self._table.terms.get((tenant, executor.arn))
            )
            for (tenant, executor), group in groupby(items, key=lambda item: item[:2])
        ]

    def place(
        self,
        tenant: str | None,
        executor: Executor,
        hosted: Sequence[HostedFunction],
        terms: ExecutorVersion | None = None,
    ) -> Sequence[str]:
        new = {function.function: Placement(function, executor) for function in hosted}
        with self._table.lock:
            own = self._functions_of(tenant, executor.arn)
            notices = self._find_notices(tenant, own, hosted)
            placements = self._table.placements
            if taken := [name for name in new if (tenant, name) in placements and name not in own]:
                return taken
            for name in own:
                del placements[tenant, name]
            placements.update({(tenant, name): placement for name, placement in new.items()})
            self._table.keep_terms(tenant, executor.arn, terms if new else None)
            self._table.revisions[tenant] += 1
            self._table.add_load_events(tenant, notices)
        return []

    def remove(self, tenant: str | None, executor_arn: str) -> bool:
        with self._table.lock:
            own = self._functions_of(tenant, executor_arn)
            notices = self._find_notices(tenant, own, ())
            for name in own:
                del self._table.placements[tenant, name]
            self._table.keep_terms(tenant, executor_arn, None)
            self._table.revisions[tenant] += bool(own)
            self._table.add_load_events(tenant, notices)
        return bool(own)

    def _find_notices(
        self, tenant: str | None, own: set[str], hosted: Sequence[HostedFunction]
    ) -> Sequence[LoadNotice]:
        """Find the notices of a placement before it is made. The caller holds the lock."""
        of_tenant, shipped = (self._table.hosted_in(scope) for scope in (tenant, None))
        return find_skill_names(frozenset(own), hosted, of_tenant, shipped).notices if tenant is not None else ()

    def _functions_of(self, tenant: str | None, executor_arn: str) -> set[str]:
        return {
            name
            for (scope, name), placement in self._table.placements.items()
            if scope == tenant and placement.executor.arn == executor_arn
        }


class MemoryRuntimeSettings:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table

    def of_tenant(self, tenant: str | None) -> Mapping[str | None, Mapping[str, SettingValue]]:
        with self._table.lock:
            found = [(name, settings) for (owner, name), settings in self._table.settings.items() if owner == tenant]
        return {name: settings for name, settings in found if settings}

    def set(self, tenant: str | None, function: str | None, name: str, value: SettingValue) -> None:
        with self._table.lock:
            before = self._table.settings.get((tenant, function), {})
            self._table.settings[tenant, function] = {**before, name: value}

    def unset(self, tenant: str | None, function: str | None, name: str) -> None:
        with self._table.lock:
            before = self._table.settings.get((tenant, function), {})
            self._table.settings[tenant, function] = {key: value for key, value in before.items() if key != name}


class MemoryBreakers:
    def __init__(self, table: FunctionTable) -> None:
        self._table = table

    def of_tenant(self, tenant: str) -> Mapping[str, OpenBreakers]:
        with self._table.lock:
            return {name: opened for (owner, name), opened in self._table.breakers.items() if owner == tenant}

    def open(self, tenant: str, function: str, state: BreakerState, principal: str | None = None) -> OpenBreakers:
        with self._table.lock:
            opened = self._write(tenant, function, principal, state)
            for digest in opened.surplus:
                opened = self._write(tenant, function, digest, None)
            return opened

    def claim_probe(self, tenant: str, function: str, now: float, until: float, principal: str | None = None) -> bool:
        with self._table.lock:
            state = self._find(tenant, function, principal)
            if state is None:
                return True
            if state.opened_until > now or (state.probing_until is not None and state.probing_until > now):
                return False
            self._write(tenant, function, principal, replace(state, probing_until=until))
            return True

    def release_probe(self, tenant: str, function: str, until: float, principal: str | None = None) -> None:
        with self._table.lock:
            state = self._find(tenant, function, principal)
            if state is not None and state.probing_until == until:
                self._write(tenant, function, principal, replace(state, probing_until=None))

    def close_for(self, tenant: str, function: str, principal: str) -> None:
        with self._table.lock:
            self._write(tenant, function, principal, None)

    def close(self, tenant: str, function: str) -> bool:
        with self._table.lock:
            return self._table.breakers.pop((tenant, function), None) is not None

    def _find(self, tenant: str, function: str, principal: str | None) -> BreakerState | None:
        opened = self._table.breakers.get((tenant, function), OpenBreakers())
        return opened.for_all if principal is None else opened.by_principal.get(principal)

    def _write(self, tenant: str, function: str, principal: str | None, state: BreakerState | None) -> OpenBreakers:
        """Replace one breaker, or close it. The caller holds the lock."""
        opened = self._table.breakers.pop((tenant, function), OpenBreakers())
        if principal is None:
            opened = replace(opened, for_all=state)
        else:
            others = {digest: other for digest, other in opened.by_principal.items() if digest != principal}
            opened = replace(opened, by_principal=others if state is None else {**others, principal: state})
        if opened.any:
            self._table.breakers[tenant, function] = opened
        return opened
