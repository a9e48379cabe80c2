"""Whatever fails while an executor is loaded, before or after it has had its effect: the old version serves, whole,
until the new one does."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, override

import pytest

from signpost.adapters.memory import MemoryLoadedExecutors
from signpost.content.api.errors import RegistryRefusal
from signpost.contract import BreakerState, HostedFunction
from signpost.directory.model import DirectoryChange, DirectorySnapshot
from signpost.directory.ports import LoadedExecutors
from signpost.errors import Unavailable
from signpost.model import MasterKeys
from tests.support.executor_placement import STACK_KEYS, KeysRotatedOnRead
from tests.support.loadable_executors import LAMBDA_ARN_PREFIX, TENANT, LoadableExecutors, build_loadable_executor

MAIL = f"{LAMBDA_ARN_PREFIX}team-mail"
OLD = [HostedFunction("mail::send", permissions=frozenset({"smtp"})), HostedFunction("mail::old")]
NEW = [HostedFunction("mail::send", permissions=frozenset({"dns"})), HostedFunction("mail::new")]
MOST_STEPS = 100
ROTATED = MasterKeys("c" * 64, STACK_KEYS.current)


class Crash(Exception):  # noqa: N818 - it is none of ours
    """The process ends here."""


class Faults:
    """Counts what is asked of the world, twice each: before and after it happens; and fails at one of them."""

    def __init__(self, at: int, fault: Exception) -> None:
        self.at = at
        self.passed: list[str] = []
        self._fault = fault

    def around(self, ported: object) -> Any:
        return _Faulty(ported, self)

    def step(self, name: str) -> None:
        self.passed.append(name)
        if len(self.passed) - 1 == self.at:
            raise self._fault


class _Faulty:
    def __init__(self, ported: object, faults: Faults) -> None:
        self._ported = ported
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._ported, name)

        def called(*arguments: Any) -> Any:
            self._faults.step(f"before {name}")
            answer = method(*arguments)
            self._faults.step(f"after {name}")
            return answer

        return called


def loadable_with_old_version() -> LoadableExecutors:
    world = LoadableExecutors()
    world.offer("core", "core::wait")
    world.placer.ship([f"{LAMBDA_ARN_PREFIX}core"])
    world.offer("team-mail", *OLD, version="1")
    world.expect_success("load", MAIL)
    world.breakers.open(TENANT, "mail::send", BreakerState(1e12, 3, "timed_out"))
    world.offer("team-mail", *NEW, version="2")
    return world


def visible_rows(world: LoadableExecutors) -> object:
    table = world.table
    return deepcopy((table.placements, table.terms, table.load_events, table.revisions))


def inject_faults(world: LoadableExecutors, faults: Faults) -> None:
    account, stack_keys = world.account, world.stack_keys
    world.account, world.stack_keys = faults.around(account), faults.around(stack_keys)
    answering = world.handlers[MAIL]

    def answer(message: Any) -> Any:
        faults.step("before manifest")
        said = answering(message)
        faults.step("after manifest")
        return said

    world.handlers[MAIL] = answer
    world.functions = world.build_load_functions(
        faults.around(world.loads), faults.around(world.directory), faults.around(world.breakers)
    )
    world.account, world.stack_keys = account, stack_keys


@pytest.mark.invariant(66)
@pytest.mark.parametrize("fault", [Crash(), Unavailable("The service does not answer.")], ids=["crash", "unavailable"])
@pytest.mark.parametrize("operation", ["load", "reload", "unload"])
def test_s217_a_fault_at_any_step_leaves_the_whole_old_or_new_version(operation: str, fault: Exception) -> None:
    whole = loadable_with_old_version()
    before = visible_rows(whole)
    whole.expect_success(operation, MAIL)
    after = visible_rows(whole)
    seen: list[object] = []
    for step in range(MOST_STEPS):
        world = loadable_with_old_version()
        faults = Faults(step, fault)
        inject_faults(world, faults)
        failed = is_failed(world, operation, fault)
        if step >= len(faults.passed):
            assert not failed
            break
        world.functions = world.build_load_functions(world.loads, world.directory, world.breakers)
        assert visible_rows(world) in (before, after), faults.passed
        assert_served(world)
        seen.append(visible_rows(world))
        world.call(operation, MAIL)  # again, which may be refused since it has happened
        assert hosted_and_terms(world) == hosted_and_terms(whole)
    assert seen == [before] * seen.count(before) + [after] * seen.count(after)
    assert seen.count(before) >= (8 if operation != "unload" else 1)
    assert seen.count(after) >= 1


def is_failed(world: LoadableExecutors, operation: str, fault: Exception) -> bool:
    try:
        answer = world.call(operation, MAIL)
    except type(fault):
        return True
    return isinstance(answer, RegistryRefusal)


def assert_served(world: LoadableExecutors) -> None:
    """Nothing can be called whose executor has not its keys."""
    if world.list_hosted():
        assert world.has_executor_keys(build_loadable_executor("team-mail"))


def hosted_and_terms(world: LoadableExecutors) -> object:
    return sorted(map(repr, world.list_hosted())), world.table.terms.get((TENANT, MAIL))


class LoadBesideRival(MemoryLoadedExecutors):
    """Somebody else has a name first."""

    def __init__(self, world: LoadableExecutors) -> None:
        super().__init__(world.table)
        self._world = world

    @override
    def change[Refusal](
        self, tenant: str, decide: Callable[[DirectorySnapshot], DirectoryChange | Refusal]
    ) -> DirectoryChange | Refusal:
        self._world.placer.place(self._world.offer("team-rival", "mail::new").arn, tenant)
        return super().change(tenant, decide)


class UnavailableLoads(MemoryLoadedExecutors):
    def __init__(self, world: LoadableExecutors) -> None:
        super().__init__(world.table)

    @override
    def change[Refusal](
        self, tenant: str, decide: Callable[[DirectorySnapshot], DirectoryChange | Refusal]
    ) -> DirectoryChange | Refusal:
        raise Unavailable("The table does not answer.")


@pytest.mark.invariant(66)
@pytest.mark.parametrize("operation", ["load", "reload"])
@pytest.mark.parametrize("unchanged", [LoadBesideRival, UnavailableLoads])
def test_keys_rotated_during_a_refused_change_reach_the_old_version(
    operation: str, unchanged: Callable[[LoadableExecutors], LoadedExecutors]
) -> None:
    """The stack signs with the new ones already."""
    world = loadable_with_old_version()
    before = world.list_placed(TENANT)[MAIL]
    world.stack_keys = KeysRotatedOnRead(STACK_KEYS, ROTATED, world.placer)
    world.functions = world.build_load_functions(unchanged(world), world.directory, world.breakers)
    assert is_failed(world, operation, Unavailable(""))
    assert world.list_placed(TENANT)[MAIL] == before
    assert world.has_executor_keys(build_loadable_executor("team-mail"), ROTATED)
