"""The two-second view of functions."""

import pytest

from signpost.adapters.memory import FunctionTable, MemoryFunctionStates, MemoryRuntimeSettings
from signpost.contract import FunctionState
from signpost.execution.functions import NOTHING_KNOWN, REVALIDATED_EVERY, FunctionView
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
    clock.advance(REVALIDATED_EVERY - 0.1)
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
    view: FunctionView, looks: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signpost.execution.functions.REMEMBERED_FUNCTIONS", 3)
    for function in ("a", "b", "c", "c", "d", "a", "d"):
        view.state("default", function)
    assert [function for _, function in looks.at] == ["a", "b", "c", "d", "a"]
