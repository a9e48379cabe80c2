"""Concurrent loads and unloads of executors in a directory: checks that some order of them explains every result."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

from signpost.content.api.errors import RegistryRefusal
from signpost.content.model import ChangeEvent
from signpost.contract import HostedFunction
from signpost.directory.model import DirectorySnapshot
from tests.support.loading import Loadable, lambda_function

EXECUTORS: Mapping[str, Sequence[str]] = {
    "team-a": ["a::one", "a::two"],
    "team-b": ["b::one"],
    "team-c": ["c::three"],
}
"""The functions of executors. The first two executors share a function name, so at most one of them is loaded."""
type Step = tuple[str, str]
"""The operation and the executor."""
STEPS: Sequence[Step] = [(op, name) for op in ("load", "unload", "reload") for name in EXECUTORS]


@dataclass(frozen=True, slots=True)
class Done:
    step: Step
    refused: str | None


def offer_all(world: Loadable) -> None:
    for name, functions in EXECUTORS.items():
        world.offer(name, *map(HostedFunction, functions), version="1")


def at_once(world: Loadable, steps: Sequence[Step], tenant: str) -> Sequence[Done]:
    start = Barrier(len(steps))

    def take(step: Step) -> Done:
        start.wait()
        answer = world.call(*step, tenant)
        return Done(step, answer.code if isinstance(answer, RegistryRefusal) else None)

    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(take, steps))


def check_explained(done: Sequence[Done], events: Sequence[ChangeEvent], left: DirectorySnapshot, tenant: str) -> None:
    """Check that the events are in an order in which each change was possible, that every reported success is among
    them, that they end in `left`, and that each refused step was refusable at some moment of that order."""
    moments = [frozenset[str]()]
    happened: list[Step] = []
    for sequence in sorted({event.sequence for event in events}):
        step = _step(frozenset((event.op, event.key) for event in events if event.sequence == sequence))
        happened.append(step)
        moments.append(_after(step, moments[-1]))
    assert sorted(happened) == sorted(entry.step for entry in done if entry.refused is None)
    own = {entry.executor.arn: list(entry.functions) for entry in left.placed if entry.tenant == tenant}
    assert own == {lambda_function(name).arn: EXECUTORS[name] for name in moments[-1]}
    assert sorted(entry.function for entry in left.own) == sorted(function for ids in own.values() for function in ids)
    for entry in done:
        if entry.refused is not None:
            assert any(_refusal(entry.step, loaded) == entry.refused for loaded in moments), entry


def _step(changes: frozenset[Step]) -> Step:
    """Return the operation and the executor of the events of one change: no two executors have the same names."""
    (op,) = {op for op, _ in changes}
    names = {name for _, name in changes}
    return op, next(name for name, ids in EXECUTORS.items() if {id_.rpartition("::")[2] for id_ in ids} == names)


def _after(step: Step, loaded: frozenset[str]) -> frozenset[str]:
    op, name = step
    assert _refusal(step, loaded) is None, (step, loaded)
    return {"load": loaded | {name}, "unload": loaded - {name}, "reload": loaded}[op]


def _refusal(step: Step, loaded: frozenset[str]) -> str | None:
    op, name = step
    if op == "load" and name in loaded:
        return "same_version"
    if op != "load" and name not in loaded:
        return "not_found"
    rival = {"team-a": "team-b", "team-b": "team-a"}.get(name)
    return "name_taken" if op != "unload" and rival in loaded else None
