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
from tests.support.loading import PLACE, TENANT, Loadable, lambda_function
from tests.support.placing import STACK_KEYS, RotatedOnceRead

MAIL = f"{PLACE}team-mail"
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


def old_world() -> Loadable:
    world = Loadable()
    world.offer("core", "core::wait")
    world.placer.ship([f"{PLACE}core"])
    world.offer("team-mail", *OLD, version="1")
    world.done("load", MAIL)
    world.breakers.open(TENANT, "mail::send", BreakerState(1e12, 3, "timed_out"))
    world.offer("team-mail", *NEW, version="2")
    return world


def visible(world: Loadable) -> object:
    table = world.table
    return deepcopy((table.placements, table.terms, table.load_events, table.revisions))


def failing(world: Loadable, faults: Faults) -> None:
    account, stack_keys = world.account, world.stack_keys
    world.account, world.stack_keys = faults.around(account), faults.around(stack_keys)
    answering = world.links[MAIL]

    def answer(message: Any) -> Any:
        faults.step("before manifest")
        said = answering(message)
        faults.step("after manifest")
        return said

    world.links[MAIL] = answer
    world.functions = world.loading_into(
        faults.around(world.loads), faults.around(world.directory), faults.around(world.breakers)
    )
    world.account, world.stack_keys = account, stack_keys


@pytest.mark.invariant(66)
@pytest.mark.parametrize("fault", [Crash(), Unavailable("The service does not answer.")], ids=["crash", "unavailable"])
@pytest.mark.parametrize("operation", ["load", "reload", "unload"])
def test_s217_what_fails_at_any_step_leaves_the_old_version_or_has_put_the_new_one_there(
    operation: str, fault: Exception
) -> None:
    whole = old_world()
    before = visible(whole)
    whole.done(operation, MAIL)
    after = visible(whole)
    seen: list[object] = []
    for step in range(MOST_STEPS):
        world = old_world()
        faults = Faults(step, fault)
        failing(world, faults)
        failed = fails(world, operation, fault)
        if step >= len(faults.passed):
            assert not failed
            break
        world.functions = world.loading_into(world.loads, world.directory, world.breakers)
        assert visible(world) in (before, after), faults.passed
        assert_served(world)
        seen.append(visible(world))
        world.call(operation, MAIL)  # again, which may be refused since it has happened
        assert hosted_and_terms(world) == hosted_and_terms(whole)
    assert seen == [before] * seen.count(before) + [after] * seen.count(after)
    assert seen.count(before) >= (8 if operation != "unload" else 1)
    assert seen.count(after) >= 1


def fails(world: Loadable, operation: str, fault: Exception) -> bool:
    try:
        answer = world.call(operation, MAIL)
    except type(fault):
        return True
    return isinstance(answer, RegistryRefusal)


def assert_served(world: Loadable) -> None:
    """Nothing can be called whose executor has not its keys."""
    if world.hosted():
        assert world.has_its_keys(lambda_function("team-mail"))


def hosted_and_terms(world: Loadable) -> object:
    return sorted(map(repr, world.hosted())), world.table.terms.get((TENANT, MAIL))


class Rivalled(MemoryLoadedExecutors):
    """Somebody else has a name first."""

    def __init__(self, world: Loadable) -> None:
        super().__init__(world.table)
        self._world = world

    @override
    def change[Refusal](
        self, tenant: str, decide: Callable[[DirectorySnapshot], DirectoryChange | Refusal]
    ) -> DirectoryChange | Refusal:
        self._world.placer.place(self._world.offer("team-rival", "mail::new").arn, tenant)
        return super().change(tenant, decide)


class Unavailing(MemoryLoadedExecutors):
    def __init__(self, world: Loadable) -> None:
        super().__init__(world.table)

    @override
    def change[Refusal](
        self, tenant: str, decide: Callable[[DirectorySnapshot], DirectoryChange | Refusal]
    ) -> DirectoryChange | Refusal:
        raise Unavailable("The table does not answer.")


@pytest.mark.invariant(66)
@pytest.mark.parametrize("operation", ["load", "reload"])
@pytest.mark.parametrize("unchanged", [Rivalled, Unavailing])
def test_keys_that_are_rotated_before_a_change_that_does_not_happen_are_those_of_the_old_version(
    operation: str, unchanged: Callable[[Loadable], LoadedExecutors]
) -> None:
    """The stack signs with the new ones already."""
    world = old_world()
    before = world.placed(TENANT)[MAIL]
    world.stack_keys = RotatedOnceRead(STACK_KEYS, ROTATED, world.placer)
    world.functions = world.loading_into(unchanged(world), world.directory, world.breakers)
    assert fails(world, operation, Unavailable(""))
    assert world.placed(TENANT)[MAIL] == before
    assert world.has_its_keys(lambda_function("team-mail"), ROTATED)
