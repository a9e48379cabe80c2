"""The two-second views of functions."""

from collections.abc import Sequence
from typing import override

import pytest

from signpost.adapters.memory import (
    FunctionTable,
    MemoryContentStore,
    MemoryDirectory,
    MemoryFunctionStates,
    MemoryPlacedFunctions,
    MemoryRevisionRows,
    MemoryRuntimeSettings,
)
from signpost.calling.lookup import NOTHING_KNOWN, FunctionLists, FunctionView
from signpost.contract import Executor, FunctionState, HostedFunction
from signpost.list_revisions import REVALIDATION_INTERVAL, ListRevisions, RevisionView
from tests.support.memory_gateway import ManualClock


class RecordingFunctionStates:
    """Function states that remember who was looked for."""

    def __init__(self, table: FunctionTable) -> None:
        self._states = MemoryFunctionStates(table)
        self.at: list[tuple[str, str]] = []

    def read(self, tenant: str, function: str) -> FunctionState:
        self.at.append((tenant, function))
        return self._states.read(tenant, function)


@pytest.fixture
def table() -> FunctionTable:
    return FunctionTable()


@pytest.fixture
def recording_states(table: FunctionTable) -> RecordingFunctionStates:
    return RecordingFunctionStates(table)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def view(recording_states: RecordingFunctionStates, clock: ManualClock) -> FunctionView:
    return FunctionView(states=recording_states, clock=clock)


def test_a_changed_setting_is_seen_after_two_seconds(
    table: FunctionTable, clock: ManualClock, view: FunctionView
) -> None:
    assert view.state("default", "a").settings == {}
    MemoryRuntimeSettings(table).set("default", "a", "breaker_failures", 1)
    clock.advance(REVALIDATION_INTERVAL - 0.1)
    assert view.state("default", "a").settings == {}
    clock.advance(0.1)
    assert view.state("default", "a").settings == {"breaker_failures": 1}


def test_a_forgotten_function_is_read_again(view: FunctionView, recording_states: RecordingFunctionStates) -> None:
    view.forget("default", "a")
    for function in ("a", "a", "b"):
        view.state("default", function)
    view.forget("default", "a")
    view.state("default", "a")
    view.state("default", "b")
    assert recording_states.at == [("default", "a"), ("default", "b"), ("default", "a")]


def test_tenants_are_kept_apart(view: FunctionView, recording_states: RecordingFunctionStates) -> None:
    view.state("default", "a")
    view.state("acme", "a")
    assert recording_states.at == [("default", "a"), ("acme", "a")]


@pytest.mark.parametrize("name", ["", "*", "a#b", "a b", "a/b", "ä", "\ud800", "a\n", "a" * 257])
def test_an_invalid_function_name_is_not_looked_up(
    view: FunctionView, recording_states: RecordingFunctionStates, name: str
) -> None:
    assert view.state("default", name) is NOTHING_KNOWN
    assert recording_states.at == []


def test_a_bounded_number_of_functions_is_cached(
    clock: ManualClock, recording_states: RecordingFunctionStates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.calling.lookup.REMEMBERED_FUNCTIONS", 3)
    view = FunctionView(states=recording_states, clock=clock)
    for function in ("a", "b", "c", "c", "d", "a", "d"):
        view.state("default", function)
    assert [function for _, function in recording_states.at] == ["a", "b", "c", "d", "a"]


EXECUTOR = Executor("arn:mail", "secret:mail", 30_000)
SHIPPED_EXECUTOR = Executor("arn:shelf", "secret:shelf", 30_000)


class RecordingPlacedFunctions(MemoryPlacedFunctions):
    """Remembers what was read."""

    def __init__(self, table: FunctionTable) -> None:
        super().__init__(table)
        self.of: list[str | None] = []
        self.revisions = MemoryRevisionRows(MemoryContentStore(table))

    def read(self, tenant: str) -> ListRevisions:
        self.of.append("revisions")
        return self.revisions.read(tenant)

    @override
    def functions(self, tenant: str | None) -> Sequence[HostedFunction]:
        self.of.append(tenant)
        return super().functions(tenant)


@pytest.fixture
def recording_placed(table: FunctionTable) -> RecordingPlacedFunctions:
    return RecordingPlacedFunctions(table)


@pytest.fixture
def lists(recording_placed: RecordingPlacedFunctions, clock: ManualClock) -> FunctionLists:
    return FunctionLists(placed=recording_placed, revisions=RevisionView(rows=recording_placed, clock=clock))


def listed_ids(lists: FunctionLists, tenant: str = "default") -> list[str]:
    return [hosted.function for hosted in lists.of(tenant).functions]


def place(table: FunctionTable, tenant: str | None, *functions: str, executor: Executor = EXECUTOR) -> None:
    assert MemoryDirectory(table).place(tenant, executor, [HostedFunction(name) for name in functions]) == []


def test_own_functions_hide_shipped_functions(table: FunctionTable, lists: FunctionLists) -> None:
    MemoryDirectory(table).place("default", EXECUTOR, [HostedFunction("b", description="own"), HostedFunction("d")])
    place(table, None, "a", "b", "c", executor=SHIPPED_EXECUTOR)
    assert listed_ids(lists) == ["a", "b", "c", "d"]
    assert lists.of("default").functions[1].description == "own"
    assert listed_ids(lists, "acme") == ["a", "b", "c"]


def test_shipped_functions_are_not_listed_for_a_tenant_that_disabled_them(
    table: FunctionTable, lists: FunctionLists
) -> None:
    place(table, "default", "own")
    place(table, None, "shipped", executor=SHIPPED_EXECUTOR)
    MemoryRuntimeSettings(table).set("default", None, "shipped_content", 0)
    assert listed_ids(lists) == ["own"]


def test_a_list_costs_one_read_in_two_seconds(
    table: FunctionTable, lists: FunctionLists, recording_placed: RecordingPlacedFunctions, clock: ManualClock
) -> None:
    place(table, "default", "a")
    place(table, None, "b", executor=SHIPPED_EXECUTOR)
    first = lists.of("default")
    assert recording_placed.of == ["revisions", "default", None]
    clock.advance(REVALIDATION_INTERVAL - 0.1)
    assert lists.of("default") is first
    clock.advance(0.1)
    assert lists.of("default") is first  # so that what was made of it is not made again
    assert recording_placed.of == ["revisions", "default", None, "revisions"]


def test_only_changed_lists_are_read_again(
    table: FunctionTable, lists: FunctionLists, recording_placed: RecordingPlacedFunctions, clock: ManualClock
) -> None:
    place(table, "default", "a")
    place(table, None, "b", executor=SHIPPED_EXECUTOR)
    lists.of("default")
    place(table, "default", "a", "c")
    clock.advance(REVALIDATION_INTERVAL)
    assert listed_ids(lists) == ["a", "b", "c"]
    MemoryRuntimeSettings(table).set("default", None, "require_expose", 1)
    clock.advance(REVALIDATION_INTERVAL)
    assert lists.of("default").settings == {"require_expose": 1}
    assert recording_placed.of == ["revisions", "default", None, "revisions", "default", "revisions"]


def test_shipped_functions_are_read_once_for_all_tenants(
    table: FunctionTable, lists: FunctionLists, recording_placed: RecordingPlacedFunctions
) -> None:
    place(table, None, "b", executor=SHIPPED_EXECUTOR)
    assert listed_ids(lists, "acme") == listed_ids(lists, "default") == ["b"]
    assert recording_placed.of == ["revisions", None, "revisions"]


def test_a_bounded_number_of_tenants_is_cached(
    clock: ManualClock, recording_placed: RecordingPlacedFunctions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.calling.lookup.REMEMBERED_TENANTS", 2)
    monkeypatch.setattr("signpost.list_revisions.REMEMBERED_TENANTS", 2)
    lists = FunctionLists(placed=recording_placed, revisions=RevisionView(rows=recording_placed, clock=clock))
    for tenant in ("a", "b", "c", "c", "b", "a"):
        lists.of(tenant)
    assert recording_placed.of == ["revisions"] * 4
