"""Executors that a tenant loads at run time: each change whole, with what subscribers are told, on every engine."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signpost.content import ChangeEvent
from signpost.contract import Hosted, Placed, Placement, Terms
from signpost.loads import Holding, Loading, NotPlaced, Told
from tests.contract.conftest import NOTHING_SET, Functions, memory_functions
from tests.contract.test_functions import executor_of, hosting, hosts_of
from tests.support.effort import examples
from tests.support.load_history import STEPS, Step, at_once, check_explained, offer_all
from tests.support.loading import Loadable

TERMS = Terms("1.2", "d" * 64)
COUNT = 50


def loading(tenant: str, *names: str, gone: Sequence[str] = (), told: Sequence[Told] = ()) -> Loading:
    return Loading(executor_of(tenant), hosting(*names), TERMS if names else None, gone, told)


def always(change: Loading) -> Callable[[Holding], Loading | NotPlaced]:
    return lambda _: change


def test_a_load_is_a_placement_with_the_terms_of_its_executor(functions: Functions, tenant: str) -> None:
    first = loading(tenant, "a", "b", told=[Told("load", "a"), Told("load", "ß")])
    assert functions.loads.change(tenant, always(first)) == first
    assert functions.states.read(tenant, "a").own == Placement(Hosted("a"), executor_of(tenant))
    placed = [one for one in functions.directory.placed() if one.tenant == tenant]
    assert placed == [Placed(tenant, executor_of(tenant), ["a", "b"], TERMS)]
    assert functions.told(tenant) == [
        ChangeEvent(tenant, 1, "skills::registry", "load", "a"),
        ChangeEvent(tenant, 1, "skills::registry", "load", "ß"),
    ]


def test_the_next_one_takes_its_place_and_the_last_one_leaves_nothing(functions: Functions, tenant: str) -> None:
    functions.loads.change(tenant, always(loading(tenant, "a", "b")))
    functions.loads.change(tenant, always(loading(tenant, "b", "c", gone=["a"], told=[Told("reload", "b")])))
    assert hosts_of(functions, tenant, ["a", "b", "c"]) == {"b", "c"}
    functions.loads.change(tenant, always(loading(tenant, gone=["b", "c"], told=[Told("unload", "b")])))
    assert hosts_of(functions, tenant, ["a", "b", "c"]) == set()
    assert [one for one in functions.directory.placed() if one.tenant == tenant] == []
    assert [(event.sequence, event.op) for event in functions.told(tenant)] == [(2, "reload"), (3, "unload")]


def test_what_is_looked_at_is_what_the_tenant_has_and_what_is_shipped(functions: Functions, tenant: str) -> None:
    shipped = f"{tenant}::shipped"
    functions.directory.place(None, executor_of(tenant, "core"), hosting(shipped), TERMS)
    functions.directory.place(f"{tenant}x", executor_of(tenant), hosting("theirs"))
    functions.loads.change(tenant, always(loading(tenant, "a")))
    seen = functions.loads.look(tenant)
    assert [one.function for one in seen.own] == ["a"]
    assert shipped in [one.function for one in seen.shipped]
    assert {one.tenant for one in seen.placed} == {tenant, None}
    assert Placed(None, executor_of(tenant, "core"), [shipped], TERMS) in seen.placed
    functions.directory.remove(None, executor_of(tenant, "core").arn)


def test_what_is_refused_changes_nothing(functions: Functions, tenant: str) -> None:
    functions.loads.change(tenant, always(loading(tenant, "a")))
    before, version = functions.loads.look(tenant), functions.revisions.read(tenant)
    refused = NotPlaced("name_taken", "No.")
    assert functions.loads.change(tenant, lambda _: refused) == refused
    assert (functions.loads.look(tenant), functions.revisions.read(tenant)) == (before, version)


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
    (placed,) = [one for one in functions.loads.look(tenant).placed if one.tenant == tenant]
    assert (placed.functions, placed.terms) == (["b", "c"], replace(TERMS, version=None))
    functions.loads.change(tenant, always(loading(tenant, gone=["b", "c"])))
    assert not functions.directory.remove(tenant, mail.arn)
    assert functions.directory.place(tenant, executor_of(tenant, "next"), hosting("a", "b", "c")) == []


def test_eighty_functions_with_long_schemas_come_and_go_at_once(functions: Functions, tenant: str) -> None:
    schema = {"description": "ß" * 6_000}
    hosted = [Hosted(f"f{number:02}", input_schema=schema) for number in range(80)]
    told = [Told("load", one.function) for one in hosted]
    change = Loading(executor_of(tenant), hosted, TERMS, (), told)
    functions.loads.change(tenant, always(change))
    assert list(functions.placed.functions(tenant)) == hosted
    gone = [one.function for one in hosted]
    functions.loads.change(tenant, always(loading(tenant, gone=gone, told=[Told("unload", name) for name in gone])))
    assert list(functions.placed.functions(tenant)) == []
    assert len(functions.told(tenant)) == 160


def test_s222_of_loads_that_race_for_a_name_one_wins(functions: Functions, tenant: str) -> None:
    start = Barrier(8)

    def load(number: int) -> Loading | NotPlaced:
        def decide(holding: Holding) -> Loading | NotPlaced:
            if any(one.function == "contested" for one in holding.own):
                return NotPlaced("name_taken", "No.")
            return Loading(executor_of(tenant, str(number)), hosting("contested", f"own-{number}"), TERMS, (), ())

        start.wait()
        return functions.loads.change(tenant, decide)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(load, range(8)))
    (winner,) = [number for number, answer in enumerate(answers) if isinstance(answer, Loading)]
    assert [one.function for one in functions.loads.look(tenant).own] == ["contested", f"own-{winner}"]


def loads_and_unloads(functions: Functions, tenant: str, steps: Sequence[Step]) -> None:
    world = Loadable()
    world.functions = world.loading_into(functions.loads, functions.directory, functions.breakers)
    offer_all(world)
    done = at_once(world, steps, tenant)
    check_explained(done, functions.told(tenant), functions.loads.look(tenant), tenant)


@pytest.mark.invariant(65)
def test_fifty_loads_and_unloads_at_once_end_as_some_order_of_them_does(functions: Functions, tenant: str) -> None:
    steps = Random(tenant).choices(STEPS, k=COUNT)  # noqa: S311 - no secret
    loads_and_unloads(functions, tenant, steps)


@pytest.mark.invariant(65)
@settings(max_examples=examples(50), deadline=None)
@given(steps=st.lists(st.sampled_from(STEPS), min_size=COUNT, max_size=COUNT))
def test_so_do_any_fifty_of_them(steps: Sequence[Step]) -> None:
    loads_and_unloads(memory_functions(NOTHING_SET), "acme", steps)
