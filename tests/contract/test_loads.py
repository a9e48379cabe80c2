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
from signpost.contract import Component, ExecutorVersion, HostedFunction, PlacedExecutor, Placement
from signpost.directory.model import DirectoryChange, DirectorySnapshot, LoadNotice, PlacementRefusal
from tests.contract.conftest import NO_SETTINGS, FunctionPorts, build_memory_functions
from tests.contract.test_functions import executor_of, hosted_functions, placed_names
from tests.support.effort import count_examples
from tests.support.load_history import LOAD_STEPS, LoadStep, check_order_exists, offer_all, run_concurrently
from tests.support.loadable_executors import LoadableExecutors

EXECUTOR_VERSION = ExecutorVersion("1.2", "d" * 64)
COUNT = 50


def build_change(
    tenant: str, *names: str, gone: Sequence[str] = (), told: Sequence[LoadNotice] = ()
) -> DirectoryChange:
    return DirectoryChange(
        executor_of(tenant), hosted_functions(*names), EXECUTOR_VERSION if names else None, gone, told
    )


def decide_always(change: DirectoryChange) -> Callable[[DirectorySnapshot], DirectoryChange | PlacementRefusal]:
    return lambda _: change


def test_a_load_places_its_executor_with_its_version(functions: FunctionPorts, tenant: str) -> None:
    first = build_change(tenant, "a", "b", told=[LoadNotice("load", "a"), LoadNotice("load", "ß")])
    assert functions.loaded_executors.change(tenant, decide_always(first)) == first
    assert functions.states.read(tenant, "a").own == Placement(HostedFunction("a"), executor_of(tenant))
    placed = [one for one in functions.directory.list_placed() if one.tenant == tenant]
    assert placed == [PlacedExecutor(tenant, executor_of(tenant), ["a", "b"], EXECUTOR_VERSION)]
    assert functions.list_events(tenant) == [
        ChangeEvent(tenant, 1, "skills::registry", "load", "a"),
        ChangeEvent(tenant, 1, "skills::registry", "load", "ß"),
    ]


def test_a_reload_replaces_the_functions_and_an_unload_removes_them(functions: FunctionPorts, tenant: str) -> None:
    functions.loaded_executors.change(tenant, decide_always(build_change(tenant, "a", "b")))
    functions.loaded_executors.change(
        tenant, decide_always(build_change(tenant, "b", "c", gone=["a"], told=[LoadNotice("reload", "b")]))
    )
    assert placed_names(functions, tenant, ["a", "b", "c"]) == {"b", "c"}
    functions.loaded_executors.change(
        tenant, decide_always(build_change(tenant, gone=["b", "c"], told=[LoadNotice("unload", "b")]))
    )
    assert placed_names(functions, tenant, ["a", "b", "c"]) == set()
    assert [one for one in functions.directory.list_placed() if one.tenant == tenant] == []
    assert [(event.sequence, event.op) for event in functions.list_events(tenant)] == [(2, "reload"), (3, "unload")]


def test_a_directory_snapshot_has_own_and_shipped_functions(functions: FunctionPorts, tenant: str) -> None:
    shipped = f"{tenant}::shipped"
    functions.directory.place(None, executor_of(tenant, "core"), hosted_functions(shipped), EXECUTOR_VERSION)
    functions.directory.place(f"{tenant}x", executor_of(tenant), hosted_functions("theirs"))
    functions.loaded_executors.change(tenant, decide_always(build_change(tenant, "a")))
    seen = functions.loaded_executors.read(tenant)
    assert [one.function for one in seen.own] == ["a"]
    assert shipped in [one.function for one in seen.shipped]
    assert {one.tenant for one in seen.placed} == {tenant, None}
    assert PlacedExecutor(None, executor_of(tenant, "core"), [shipped], EXECUTOR_VERSION) in seen.placed
    functions.directory.remove(None, executor_of(tenant, "core").arn)


def test_a_refused_load_changes_nothing(functions: FunctionPorts, tenant: str) -> None:
    functions.loaded_executors.change(tenant, decide_always(build_change(tenant, "a")))
    before, version = functions.loaded_executors.read(tenant), functions.revisions.read(tenant)
    refused = PlacementRefusal("name_taken", "No.")
    assert functions.loaded_executors.change(tenant, lambda _: refused) == refused
    assert (functions.loaded_executors.read(tenant), functions.revisions.read(tenant)) == (before, version)


def test_a_load_raises_the_revision_of_its_scope(functions: FunctionPorts, tenant: str) -> None:
    seen = [functions.revisions.read(tenant).placements]
    for change in (build_change(tenant, "a"), build_change(tenant, "a"), build_change(tenant, gone=["a"])):
        functions.loaded_executors.change(tenant, decide_always(change))
        seen.append(functions.revisions.read(tenant).placements)
    assert seen == sorted(set(seen))


def test_placements_and_loads_of_one_executor_follow_each_other(functions: FunctionPorts, tenant: str) -> None:
    mail = executor_of(tenant)
    functions.loaded_executors.change(tenant, decide_always(build_change(tenant, "a", "b")))
    assert (
        functions.directory.place(tenant, mail, hosted_functions("b", "c"), replace(EXECUTOR_VERSION, version=None))
        == []
    )
    (placed,) = [one for one in functions.loaded_executors.read(tenant).placed if one.tenant == tenant]
    assert (placed.functions, placed.terms) == (["b", "c"], replace(EXECUTOR_VERSION, version=None))
    functions.loaded_executors.change(tenant, decide_always(build_change(tenant, gone=["b", "c"])))
    assert not functions.directory.remove(tenant, mail.arn)
    assert functions.directory.place(tenant, executor_of(tenant, "next"), hosted_functions("a", "b", "c")) == []


@pytest.mark.invariant(131)
def test_a_placement_tells_subscribers_of_each_skill_as_a_load_does(functions: FunctionPorts, tenant: str) -> None:
    mail = executor_of(tenant)
    prompt = HostedFunction("p", component=Component("prompt"))
    assert functions.directory.place(tenant, mail, [*hosted_functions("a", "b"), prompt]) == []
    assert functions.directory.place(tenant, mail, [*hosted_functions("b"), HostedFunction("c", name="sea")]) == []
    assert functions.directory.remove(tenant, mail.arn)
    events = functions.list_events(tenant)
    assert {(event.tenant, event.type) for event in events} == {(tenant, "skills::registry")}
    assert [(event.op, event.key) for event in events] == [
        ("load", "a"), ("load", "b"),
        ("unload", "a"), ("reload", "b"), ("load", "sea"),
        ("unload", "b"), ("unload", "sea"),
    ]  # fmt: skip
    numbers = [event.sequence for event in events]
    assert (numbers, len(set(numbers))) == (sorted(numbers), 3)


@pytest.mark.invariant(131)
def test_a_refused_placement_and_a_shipped_one_tell_no_tenant(functions: FunctionPorts, tenant: str) -> None:
    assert functions.directory.place(tenant, executor_of(tenant), hosted_functions("a")) == []
    told = list(functions.list_events(tenant))
    assert list(functions.directory.place(tenant, executor_of(tenant, "other"), hosted_functions("a", "b"))) == ["a"]
    core = executor_of(tenant, "core")
    assert functions.directory.place(None, core, hosted_functions(f"{tenant}::shipped")) == []
    assert functions.directory.remove(None, core.arn)
    assert list(functions.list_events(tenant)) == told


def test_eighty_functions_with_long_schemas_are_loaded_and_unloaded_at_once(
    functions: FunctionPorts, tenant: str
) -> None:
    schema = {"description": "ß" * 6_000}
    hosted = [HostedFunction(f"f{number:02}", input_schema=schema) for number in range(80)]
    told = [LoadNotice("load", one.function) for one in hosted]
    change = DirectoryChange(executor_of(tenant), hosted, EXECUTOR_VERSION, (), told)
    functions.loaded_executors.change(tenant, decide_always(change))
    assert list(functions.placed_functions.functions(tenant)) == hosted
    gone = [one.function for one in hosted]
    functions.loaded_executors.change(
        tenant, decide_always(build_change(tenant, gone=gone, told=[LoadNotice("unload", name) for name in gone]))
    )
    assert list(functions.placed_functions.functions(tenant)) == []
    assert len(functions.list_events(tenant)) == 160


def test_s222_one_of_concurrent_loads_wins_a_contested_name(functions: FunctionPorts, tenant: str) -> None:
    start = Barrier(8)

    def load(number: int) -> DirectoryChange | PlacementRefusal:
        def decide(holding: DirectorySnapshot) -> DirectoryChange | PlacementRefusal:
            if any(one.function == "contested" for one in holding.own):
                return PlacementRefusal("name_taken", "No.")
            return DirectoryChange(
                executor_of(tenant, str(number)),
                hosted_functions("contested", f"own-{number}"),
                EXECUTOR_VERSION,
                (),
                (),
            )

        start.wait()
        return functions.loaded_executors.change(tenant, decide)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(load, range(8)))
    (winner,) = [number for number, answer in enumerate(answers) if isinstance(answer, DirectoryChange)]
    assert [one.function for one in functions.loaded_executors.read(tenant).own] == ["contested", f"own-{winner}"]


def check_loads_and_unloads(functions: FunctionPorts, tenant: str, steps: Sequence[LoadStep]) -> None:
    world = LoadableExecutors()
    world.functions = world.build_load_functions(functions.loaded_executors, functions.directory, functions.breakers)
    offer_all(world)
    done = run_concurrently(world, steps, tenant)
    check_order_exists(done, functions.list_events(tenant), functions.loaded_executors.read(tenant), tenant)


@pytest.mark.invariant(65)
def test_fifty_concurrent_loads_and_unloads_are_serializable(functions: FunctionPorts, tenant: str) -> None:
    steps = Random(tenant).choices(LOAD_STEPS, k=COUNT)  # noqa: S311 - no secret
    check_loads_and_unloads(functions, tenant, steps)


@pytest.mark.invariant(65)
@settings(max_examples=count_examples(50), deadline=None)
@given(steps=st.lists(st.sampled_from(LOAD_STEPS), min_size=COUNT, max_size=COUNT))
def test_any_fifty_concurrent_loads_and_unloads_are_serializable(steps: Sequence[LoadStep]) -> None:
    check_loads_and_unloads(build_memory_functions(NO_SETTINGS), "acme", steps)
