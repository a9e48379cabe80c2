"""What many who load and unload at once did to a directory: whether some order of it explains everything."""

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
"""The first two have a name in common, and are never loaded both."""
type Step = tuple[str, str]
"""What is done, and to which executor."""
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


def check_explained(done: Sequence[Done], told: Sequence[ChangeEvent], left: DirectorySnapshot, tenant: str) -> None:
    """The events are in an order in which each change was possible, each that is said to have happened is one, their
    end is what is left, and what was refused was refusable at some moment of it."""
    moments = [frozenset[str]()]
    happened: list[Step] = []
    for sequence in sorted({event.sequence for event in told}):
        step = _step(frozenset((event.op, event.key) for event in told if event.sequence == sequence))
        happened.append(step)
        moments.append(_after(step, moments[-1]))
    assert sorted(happened) == sorted(one.step for one in done if one.refused is None)
    own = {one.executor.arn: list(one.functions) for one in left.placed if one.tenant == tenant}
    assert own == {lambda_function(name).arn: EXECUTORS[name] for name in moments[-1]}
    assert sorted(one.function for one in left.own) == sorted(function for ids in own.values() for function in ids)
    for one in done:
        if one.refused is not None:
            assert any(_refusal(one.step, loaded) == one.refused for loaded in moments), one


def _step(told: frozenset[Step]) -> Step:
    """All of one executor: no two of them have the same names."""
    (op,) = {op for op, _ in told}
    names = {name for _, name in told}
    return op, next(one for one, functions in EXECUTORS.items() if {f.rpartition("::")[2] for f in functions} == names)


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
