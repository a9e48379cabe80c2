"""Executors that a tenant loads at run time: each change whole, with what subscribers are told, on every engine."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signpost.content.model import ChangeEvent
from signpost.contract import ExecutorVersion, HostedFunction, PlacedExecutor, Placement
from signpost.directory.model import DirectoryChange, DirectorySnapshot, LoadNotice, PlacementRefusal
from tests.contract.conftest import NO_SETTINGS, Functions, memory_functions
from tests.contract.test_functions import executor_of, hosting, hosts_of
from tests.support.effort import examples
from tests.support.load_history import STEPS, Step, at_once, check_explained, offer_all
from tests.support.loading import Loadable

TERMS = ExecutorVersion("1.2", "d" * 64)
COUNT = 50


def loading(tenant: str, *names: str, gone: Sequence[str] = (), told: Sequence[LoadNotice] = ()) -> DirectoryChange:
    return DirectoryChange(executor_of(tenant), hosting(*names), TERMS if names else None, gone, told)


def always(change: DirectoryChange) -> Callable[[DirectorySnapshot], DirectoryChange | PlacementRefusal]:
    return lambda _: change


def test_a_load_is_a_placement_with_the_terms_of_its_executor(functions: Functions, tenant: str) -> None:
    first = loading(tenant, "a", "b", told=[LoadNotice("load", "a"), LoadNotice("load", "ß")])
    assert functions.loads.change(tenant, always(first)) == first
    assert functions.states.read(tenant, "a").own == Placement(HostedFunction("a"), executor_of(tenant))
    placed = [one for one in functions.directory.list_placed() if one.tenant == tenant]
    assert placed == [PlacedExecutor(tenant, executor_of(tenant), ["a", "b"], TERMS)]
    assert functions.told(tenant) == [
        ChangeEvent(tenant, 1, "skills::registry", "load", "a"),
        ChangeEvent(tenant, 1, "skills::registry", "load", "ß"),
    ]


def test_the_next_one_takes_its_place_and_the_last_one_leaves_nothing(functions: Functions, tenant: str) -> None:
    functions.loads.change(tenant, always(loading(tenant, "a", "b")))
    functions.loads.change(tenant, always(loading(tenant, "b", "c", gone=["a"], told=[LoadNotice("reload", "b")])))
    assert hosts_of(functions, tenant, ["a", "b", "c"]) == {"b", "c"}
    functions.loads.change(tenant, always(loading(tenant, gone=["b", "c"], told=[LoadNotice("unload", "b")])))
    assert hosts_of(functions, tenant, ["a", "b", "c"]) == set()
    assert [one for one in functions.directory.list_placed() if one.tenant == tenant] == []
    assert [(event.sequence, event.op) for event in functions.told(tenant)] == [(2, "reload"), (3, "unload")]


def test_what_is_looked_at_is_what_the_tenant_has_and_what_is_shipped(functions: Functions, tenant: str) -> None:
    shipped = f"{tenant}::shipped"
    functions.directory.place(None, executor_of(tenant, "core"), hosting(shipped), TERMS)
    functions.directory.place(f"{tenant}x", executor_of(tenant), hosting("theirs"))
    functions.loads.change(tenant, always(loading(tenant, "a")))
    seen = functions.loads.read(tenant)
    assert [one.function for one in seen.own] == ["a"]
    assert shipped in [one.function for one in seen.shipped]
    assert {one.tenant for one in seen.placed} == {tenant, None}
    assert PlacedExecutor(None, executor_of(tenant, "core"), [shipped], TERMS) in seen.placed
    functions.directory.remove(None, executor_of(tenant, "core").arn)


def test_what_is_refused_changes_nothing(functions: Functions, tenant: str) -> None:
    functions.loads.change(tenant, always(loading(tenant, "a")))
    before, version = functions.loads.read(tenant), functions.revisions.read(tenant)
    refused = PlacementRefusal("name_taken", "No.")
    assert functions.loads.change(tenant, lambda _: refused) == refused
    assert (functions.loads.read(tenant), functions.revisions.read(tenant)) == (before, version)


def test_a_load_moves_the_version_of_its_scope(functions: Functions, tenant: str) -> None:
    seen = [functions.revisions.read(tenant).placements]
    for change in (loading(tenant, "a"), loading(tenant, "a"), loading(tenant, gone=["a"])):
        functions.loads.change(tenant, always(change))
        seen.append(functions.revisions.read(tenant).placements)
    assert seen == sorted(set(seen))


def test_placements_and_loads_of_one_executor_follow_each_other(functions: Functions, tenant: str) -> None:
    mail = executor_of(tenant)
    functions.loads.change(tenant, always(loading(tenant, "a", "b")))
    assert functions.directory.place(tenant, mail, hosting("b", "c"), replace(TERMS, version=None)) == []
    (placed,) = [one for one in functions.loads.read(tenant).placed if one.tenant == tenant]
    assert (placed.functions, placed.terms) == (["b", "c"], replace(TERMS, version=None))
    functions.loads.change(tenant, always(loading(tenant, gone=["b", "c"])))
    assert not functions.directory.remove(tenant, mail.arn)
    assert functions.directory.place(tenant, executor_of(tenant, "next"), hosting("a", "b", "c")) == []


def test_eighty_functions_with_long_schemas_come_and_go_at_once(functions: Functions, tenant: str) -> None:
    schema = {"description": "ß" * 6_000}
    hosted = [HostedFunction(f"f{number:02}", input_schema=schema) for number in range(80)]
    told = [LoadNotice("load", one.function) for one in hosted]
    change = DirectoryChange(executor_of(tenant), hosted, TERMS, (), told)
    functions.loads.change(tenant, always(change))
    assert list(functions.placed.functions(tenant)) == hosted
    gone = [one.function for one in hosted]
    functions.loads.change(
        tenant, always(loading(tenant, gone=gone, told=[LoadNotice("unload", name) for name in gone]))
    )
    assert list(functions.placed.functions(tenant)) == []
    assert len(functions.told(tenant)) == 160


def test_s222_of_loads_that_race_for_a_name_one_wins(functions: Functions, tenant: str) -> None:
    start = Barrier(8)

    def load(number: int) -> DirectoryChange | PlacementRefusal:
        def decide(holding: DirectorySnapshot) -> DirectoryChange | PlacementRefusal:
            if any(one.function == "contested" for one in holding.own):
                return PlacementRefusal("name_taken", "No.")
            return DirectoryChange(
                executor_of(tenant, str(number)), hosting("contested", f"own-{number}"), TERMS, (), ()
            )

        start.wait()
        return functions.loads.change(tenant, decide)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(load, range(8)))
    (winner,) = [number for number, answer in enumerate(answers) if isinstance(answer, DirectoryChange)]
    assert [one.function for one in functions.loads.read(tenant).own] == ["contested", f"own-{winner}"]


def loads_and_unloads(functions: Functions, tenant: str, steps: Sequence[Step]) -> None:
    world = Loadable()
    world.functions = world.loading_into(functions.loads, functions.directory, functions.breakers)
    offer_all(world)
    done = at_once(world, steps, tenant)
    check_explained(done, functions.told(tenant), functions.loads.read(tenant), tenant)


@pytest.mark.invariant(65)
def test_fifty_loads_and_unloads_at_once_end_as_some_order_of_them_does(functions: Functions, tenant: str) -> None:
    steps = Random(tenant).choices(STEPS, k=COUNT)  # noqa: S311 - no secret
    loads_and_unloads(functions, tenant, steps)


@pytest.mark.invariant(65)
@settings(max_examples=examples(50), deadline=None)
@given(steps=st.lists(st.sampled_from(STEPS), min_size=COUNT, max_size=COUNT))
def test_so_do_any_fifty_of_them(steps: Sequence[Step]) -> None:
    loads_and_unloads(memory_functions(NO_SETTINGS), "acme", steps)
