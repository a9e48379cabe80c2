"""Concurrent loads and unloads of executors in a directory: checks that some order of them explains every result."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

from signpost.content.api.errors import RegistryRefusal
from signpost.content.model import ChangeEvent
from signpost.contract import HostedFunction
from signpost.directory.load_tenants import ALL_TENANTS
from signpost.directory.model import DirectorySnapshot
from tests.support.loadable_executors import LoadableExecutors, build_loadable_executor

EXECUTORS: Mapping[str, Sequence[str]] = {
    "team-a": ["a::one", "a::two"],
    "team-b": ["b::one"],
    "team-c": ["c::three"],
}
"""The functions of executors. The first two executors share a function name, so at most one of them is loaded."""
type LoadStep = tuple[str, str]
"""The operation and the executor."""
LOAD_STEPS: Sequence[LoadStep] = [(op, name) for op in ("load", "unload", "reload") for name in EXECUTORS]


@dataclass(frozen=True, slots=True)
class LoadResult:
    step: LoadStep
    refusal_code: str | None


def offer_all(world: LoadableExecutors) -> None:
    for name, functions in EXECUTORS.items():
        world.offer(name, *map(HostedFunction, functions), version="1")
        world.tag(name, ALL_TENANTS)


def run_concurrently(world: LoadableExecutors, steps: Sequence[LoadStep], tenant: str) -> Sequence[LoadResult]:
    start = Barrier(len(steps))

    def take(step: LoadStep) -> LoadResult:
        start.wait()
        answer = world.call(*step, tenant)
        return LoadResult(step, answer.code if isinstance(answer, RegistryRefusal) else None)

    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(take, steps))


def check_order_exists(
    done: Sequence[LoadResult], events: Sequence[ChangeEvent], left: DirectorySnapshot, tenant: str
) -> None:
    """Check that the events are in an order in which each change was possible, that every reported success is among
    them, that they end in `left`, and that each refused step was refusable at some moment of that order."""
    moments = [frozenset[str]()]
    happened: list[LoadStep] = []
    for sequence in sorted({event.sequence for event in events}):
        step = _step(frozenset((event.op, event.key) for event in events if event.sequence == sequence))
        happened.append(step)
        moments.append(_after(step, moments[-1]))
    assert sorted(happened) == sorted(entry.step for entry in done if entry.refusal_code is None)
    own = {entry.executor.arn: list(entry.functions) for entry in left.placed if entry.tenant == tenant}
    assert own == {build_loadable_executor(name).arn: EXECUTORS[name] for name in moments[-1]}
    assert sorted(entry.function for entry in left.own) == sorted(function for ids in own.values() for function in ids)
    for entry in done:
        if entry.refusal_code is not None:
            assert any(_refusal(entry.step, loaded) == entry.refusal_code for loaded in moments), entry


def _step(changes: frozenset[LoadStep]) -> LoadStep:
    """Return the operation and the executor of the events of one change: no two executors have the same names."""
    (op,) = {op for op, _ in changes}
    names = {name for _, name in changes}
    return op, next(name for name, ids in EXECUTORS.items() if {id_.rpartition("::")[2] for id_ in ids} == names)


def _after(step: LoadStep, loaded: frozenset[str]) -> frozenset[str]:
    op, name = step
    assert _refusal(step, loaded) is None, (step, loaded)
    return {"load": loaded | {name}, "unload": loaded - {name}, "reload": loaded}[op]


def _refusal(step: LoadStep, loaded: frozenset[str]) -> str | None:
    op, name = step
    if op == "load" and name in loaded:
        return "same_version"
    if op != "load" and name not in loaded:
        return "not_found"
    rival = {"team-a": "team-b", "team-b": "team-a"}.get(name)
    return "name_taken" if op != "unload" and rival in loaded else None
