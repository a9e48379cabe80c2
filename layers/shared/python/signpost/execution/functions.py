"""What a call of a function has to look at, and what lists of functions show, in memory for as long as the catalogue
is."""

import re
from collections.abc import Mapping, Sequence

from signpost.content import Revisions
from signpost.contract import FunctionState, Hosted
from signpost.execution.revisions import REMEMBERED_TENANTS, REVALIDATED_EVERY, RevisionView
from signpost.execution.tuning import of_tenant
from signpost.model import SettingValue
from signpost.ports import Clock, FunctionStates, PlacedFunctions
from signpost.records import dataclass

REMEMBERED_FUNCTIONS = 1024

POSSIBLE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,256}")
"""Wider than the ids that our own harness hosts (`function_ids`): an executor is whatever speaks the contract."""

NOTHING_KNOWN = FunctionState(own=None, shipped=None, settings={}, tenant_settings={}, breaker=None)


@dataclass(frozen=True, slots=True)
class _Remembered:
    state: FunctionState
    looked_at: float


def may_exist(function: str) -> bool:
    """Whether it is worth looking for. What a caller made up never becomes part of a key."""
    return POSSIBLE_ID.fullmatch(function) is not None


class FunctionView:
    """Calls go by what was placed, set, opened or closed before for as long as lists do."""

    def __init__(self, *, states: FunctionStates, clock: Clock) -> None:
        self._states = states
        self._clock = clock
        self._by_function: dict[tuple[str, str], _Remembered] = {}

    def state(self, tenant: str, function: str) -> FunctionState:
        """NOTHING_KNOWN where no function can have this name."""
        now = self._clock.now()
        remembered = self._by_function.get((tenant, function))
        if remembered is not None and now - remembered.looked_at < REVALIDATED_EVERY:
            return remembered.state
        if not may_exist(function):
            return NOTHING_KNOWN
        state = self._states.read(tenant, function)
        if len(self._by_function) >= REMEMBERED_FUNCTIONS:
            self._by_function.clear()  # most of it is older than two seconds
        self._by_function[tenant, function] = _Remembered(state, now)
        return state

    def forget(self, tenant: str, function: str) -> None:
        self._by_function.pop((tenant, function), None)


@dataclass(frozen=True, slots=True)
class FunctionList:
    """What a tenant can call. The same object for as long as nothing has changed."""

    functions: Sequence[Hosted]
    """By id, the tenant's own in the place of shipped ones."""
    own: frozenset[str]
    """Which of them are the tenant's own, by id."""
    settings: Mapping[str, SettingValue]


@dataclass(frozen=True, slots=True)
class _Scope:
    version: int
    functions: Sequence[Hosted]


@dataclass(frozen=True, slots=True)
class _Listed:
    revisions: Revisions
    own: _Scope
    shipped: _Scope
    seen: FunctionList


class FunctionLists:
    def __init__(self, *, placed: PlacedFunctions, revisions: RevisionView) -> None:
        self._placed = placed
        self._revisions = revisions
        self._by_tenant: dict[str, _Listed] = {}
        self._shipped: _Scope | None = None

    def of(self, tenant: str) -> FunctionList:
        revisions = self._revisions.of(tenant)
        known = self._by_tenant.get(tenant)
        if known is None or known.revisions is not revisions:
            known = self._revalidated(tenant, known, revisions)
            if len(self._by_tenant) >= REMEMBERED_TENANTS and tenant not in self._by_tenant:
                self._by_tenant.pop(next(iter(self._by_tenant)))
            self._by_tenant[tenant] = known
        return known.seen

    def _revalidated(self, tenant: str, known: _Listed | None, revisions: Revisions) -> _Listed:
        own = self._scope(tenant, revisions.placements, known.own if known is not None else None)
        self._shipped = shipped = self._scope(None, revisions.shipped_placements, self._shipped)
        settings = revisions.settings
        if known is not None and known.own is own and known.shipped is shipped and known.seen.settings == settings:
            return _Listed(revisions, own, shipped, known.seen)
        return _Listed(revisions, own, shipped, _seen(own, shipped, settings))

    def _scope(self, tenant: str | None, version: int, known: _Scope | None) -> _Scope:
        if known is not None and known.version == version:
            return known
        return _Scope(version, self._placed.functions(tenant) if version else ())


def _seen(own: _Scope, shipped: _Scope, settings: Mapping[str, SettingValue]) -> FunctionList:
    beneath = shipped.functions if of_tenant(settings, "shipped_content") else ()
    by_id = {hosted.function: hosted for hosted in (*beneath, *own.functions)}
    mine = frozenset(hosted.function for hosted in own.functions)
    return FunctionList([by_id[function] for function in sorted(by_id)], mine, settings)
