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
from tests.support.memory_gateway import SetClock


class Looks:
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
def looks(table: FunctionTable) -> Looks:
    return Looks(table)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def view(looks: Looks, clock: SetClock) -> FunctionView:
    return FunctionView(states=looks, clock=clock)


def test_what_was_set_is_seen_two_seconds_later(table: FunctionTable, clock: SetClock, view: FunctionView) -> None:
    assert view.state("default", "a").settings == {}
    MemoryRuntimeSettings(table).set("default", "a", "breaker_failures", 1)
    clock.advance(REVALIDATION_INTERVAL - 0.1)
    assert view.state("default", "a").settings == {}
    clock.advance(0.1)
    assert view.state("default", "a").settings == {"breaker_failures": 1}


def test_what_was_forgotten_is_looked_at_again(view: FunctionView, looks: Looks) -> None:
    view.forget("default", "a")
    for function in ("a", "a", "b"):
        view.state("default", function)
    view.forget("default", "a")
    view.state("default", "a")
    view.state("default", "b")
    assert looks.at == [("default", "a"), ("default", "b"), ("default", "a")]


def test_tenants_are_kept_apart(view: FunctionView, looks: Looks) -> None:
    view.state("default", "a")
    view.state("acme", "a")
    assert looks.at == [("default", "a"), ("acme", "a")]


@pytest.mark.parametrize("name", ["", "*", "a#b", "a b", "a/b", "ä", "\ud800", "a\n", "a" * 257])
def test_a_name_that_no_function_can_have_is_not_looked_for(view: FunctionView, looks: Looks, name: str) -> None:
    assert view.state("default", name) is NOTHING_KNOWN
    assert looks.at == []


def test_no_more_than_so_many_functions_are_remembered(
    clock: SetClock, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.calling.lookup.REMEMBERED_FUNCTIONS", 3)
    view = FunctionView(states=looks, clock=clock)
    for function in ("a", "b", "c", "c", "d", "a", "d"):
        view.state("default", function)
    assert [function for _, function in looks.at] == ["a", "b", "c", "d", "a"]


EXECUTOR = Executor("arn:mail", "secret:mail", 30_000)
SHELF = Executor("arn:shelf", "secret:shelf", 30_000)


class Reads(MemoryPlacedFunctions):
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
def reads(table: FunctionTable) -> Reads:
    return Reads(table)


@pytest.fixture
def lists(reads: Reads, clock: SetClock) -> FunctionLists:
    return FunctionLists(placed=reads, revisions=RevisionView(rows=reads, clock=clock))


def ids(lists: FunctionLists, tenant: str = "default") -> list[str]:
    return [hosted.function for hosted in lists.of(tenant).functions]


def place(table: FunctionTable, tenant: str | None, *functions: str, executor: Executor = EXECUTOR) -> None:
    assert MemoryDirectory(table).place(tenant, executor, [HostedFunction(name) for name in functions]) == []


def test_the_tenants_own_functions_go_before_shipped_ones(table: FunctionTable, lists: FunctionLists) -> None:
    MemoryDirectory(table).place("default", EXECUTOR, [HostedFunction("b", description="own"), HostedFunction("d")])
    place(table, None, "a", "b", "c", executor=SHELF)
    assert ids(lists) == ["a", "b", "c", "d"]
    assert lists.of("default").functions[1].description == "own"
    assert ids(lists, "acme") == ["a", "b", "c"]


def test_shipped_functions_are_not_listed_for_a_tenant_that_wants_none(
    table: FunctionTable, lists: FunctionLists
) -> None:
    place(table, "default", "own")
    place(table, None, "shipped", executor=SHELF)
    MemoryRuntimeSettings(table).set("default", None, "shipped_content", 0)
    assert ids(lists) == ["own"]


def test_a_list_costs_one_read_in_two_seconds_and_none_between(
    table: FunctionTable, lists: FunctionLists, reads: Reads, clock: SetClock
) -> None:
    place(table, "default", "a")
    place(table, None, "b", executor=SHELF)
    first = lists.of("default")
    assert reads.of == ["revisions", "default", None]
    clock.advance(REVALIDATION_INTERVAL - 0.1)
    assert lists.of("default") is first
    clock.advance(0.1)
    assert lists.of("default") is first  # so that what was made of it is not made again
    assert reads.of == ["revisions", "default", None, "revisions"]


def test_only_what_has_changed_is_read_again(
    table: FunctionTable, lists: FunctionLists, reads: Reads, clock: SetClock
) -> None:
    place(table, "default", "a")
    place(table, None, "b", executor=SHELF)
    lists.of("default")
    place(table, "default", "a", "c")
    clock.advance(REVALIDATION_INTERVAL)
    assert ids(lists) == ["a", "b", "c"]
    MemoryRuntimeSettings(table).set("default", None, "require_expose", 1)
    clock.advance(REVALIDATION_INTERVAL)
    assert lists.of("default").settings == {"require_expose": 1}
    assert reads.of == ["revisions", "default", None, "revisions", "default", "revisions"]


def test_what_is_shipped_is_read_once_for_all_tenants(table: FunctionTable, lists: FunctionLists, reads: Reads) -> None:
    place(table, None, "b", executor=SHELF)
    assert ids(lists, "acme") == ids(lists, "default") == ["b"]
    assert reads.of == ["revisions", None, "revisions"]


def test_no_more_than_so_many_tenants_are_remembered(
    clock: SetClock, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.calling.lookup.REMEMBERED_TENANTS", 2)
    monkeypatch.setattr("signpost.list_revisions.REMEMBERED_TENANTS", 2)
    lists = FunctionLists(placed=reads, revisions=RevisionView(rows=reads, clock=clock))
    for tenant in ("a", "b", "c", "c", "b", "a"):
        lists.of(tenant)
    assert reads.of == ["revisions"] * 4
