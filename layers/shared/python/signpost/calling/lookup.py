"""The cached state of functions for calls, and the cached lists of functions, refreshed with the catalogue."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.caches import BoundedCache
from signpost.calling.runtime_settings import tenant_setting
from signpost.contract import FunctionState, HostedFunction, OpenBreakers
from signpost.list_revisions import REMEMBERED_TENANTS, REVALIDATION_INTERVAL, ListRevisions, RevisionView
from signpost.model import SettingValue
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionStates, PlacedFunctions
    from signpost.ports import Clock

REMEMBERED_FUNCTIONS = 1024

POSSIBLE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,256}")
"""Wider than the ids that toolkits accept (`function_ids`): any program that speaks the contract can be an executor."""

NOTHING_KNOWN = FunctionState(own=None, shipped=None, settings={}, tenant_settings={}, breakers=OpenBreakers())
"""The state of a name that no function can have."""


@dataclass(frozen=True, slots=True)
class _CachedState:
    state: FunctionState
    read_at: float


def may_exist(function: str) -> bool:
    """Tell whether a function can have this id. Other text from a caller never becomes part of a key."""
    return POSSIBLE_ID.fullmatch(function) is not None


class FunctionView:
    """Reads the state of functions and caches it for as long as lists are cached."""

    def __init__(self, *, states: "FunctionStates", clock: "Clock") -> None:
        self._states = states
        self._clock = clock
        self._by_function = BoundedCache[tuple[str, str], _CachedState](REMEMBERED_FUNCTIONS)

    def state(self, tenant: str, function: str) -> FunctionState:
        """Return the state of a function, or NOTHING_KNOWN if no function can have this name."""
        now = self._clock.now()
        cached = self._by_function.get((tenant, function))
        if cached is not None and now - cached.read_at < REVALIDATION_INTERVAL:
            return cached.state
        if not may_exist(function):
            return NOTHING_KNOWN
        state = self._states.read(tenant, function)
        self._by_function.put((tenant, function), _CachedState(state, now))
        return state

    def forget(self, tenant: str, function: str) -> None:
        self._by_function.drop((tenant, function))


@dataclass(frozen=True, slots=True)
class FunctionList:
    """The functions that a tenant can call. The same object for as long as nothing has changed."""

    functions: Sequence[HostedFunction]
    """Sorted by id; a tenant's own function replaces a shipped one of the same id."""
    own: frozenset[str]
    """The ids of the tenant's own functions."""
    settings: Mapping[str, SettingValue]


@dataclass(frozen=True, slots=True)
class _ScopeFunctions:
    version: int
    functions: Sequence[HostedFunction]


@dataclass(frozen=True, slots=True)
class _CachedList:
    revisions: ListRevisions
    own: _ScopeFunctions
    shipped: _ScopeFunctions
    function_list: FunctionList


class FunctionLists:
    """Reads the function lists of tenants and caches them by list revisions."""

    def __init__(self, *, placed: "PlacedFunctions", revisions: RevisionView) -> None:
        self._placed = placed
        self._revisions = revisions
        self._by_tenant = BoundedCache[str, _CachedList](REMEMBERED_TENANTS)
        self._shipped: _ScopeFunctions | None = None

    def of(self, tenant: str, *, fresh: bool = False) -> FunctionList:
        """Return the list of a tenant. With `fresh`, it has every change made before the call."""
        revisions = self._revisions.of(tenant, fresh=fresh)
        cached = self._by_tenant.get(tenant)
        if cached is None or cached.revisions is not revisions:
            cached = self._by_tenant.put(tenant, self._revalidate(tenant, cached, revisions))
        return cached.function_list

    def _revalidate(self, tenant: str, cached: _CachedList | None, revisions: ListRevisions) -> _CachedList:
        own = self._read_scope(tenant, revisions.placements, cached.own if cached is not None else None)
        self._shipped = shipped = self._read_scope(None, revisions.shipped_placements, self._shipped)
        settings = revisions.settings
        if (
            cached is not None
            and cached.own is own
            and cached.shipped is shipped
            and cached.function_list.settings == settings
        ):
            return _CachedList(revisions, own, shipped, cached.function_list)
        return _CachedList(revisions, own, shipped, _merge_scopes(own, shipped, settings))

    def _read_scope(self, tenant: str | None, version: int, cached: _ScopeFunctions | None) -> _ScopeFunctions:
        if cached is not None and cached.version == version:
            return cached
        return _ScopeFunctions(version, self._placed.functions(tenant) if version else ())


def _merge_scopes(own: _ScopeFunctions, shipped: _ScopeFunctions, settings: Mapping[str, SettingValue]) -> FunctionList:
    shipped_functions = shipped.functions if tenant_setting(settings, "shipped_content") else ()
    by_id = {hosted.function: hosted for hosted in (*shipped_functions, *own.functions)}
    own_ids = frozenset(hosted.function for hosted in own.functions)
    return FunctionList([by_id[function] for function in sorted(by_id)], own_ids, settings)
