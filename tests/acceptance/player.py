"""Plays cases, each in a world of its own, and says what came of them."""

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, replace

from tests.acceptance import pure
from tests.acceptance.bus import Overdue
from tests.acceptance.cases import Case
from tests.acceptance.decisions import CONTRADICTED
from tests.acceptance.deployed import Deployment, Tenant
from tests.acceptance.expectations import Judge, Seen
from tests.acceptance.in_process import InProcess
from tests.acceptance.worlds import GivenFailed, World

AT_ONCE = 4
"""More, on two cores, wait for each other until the product's own clients give up."""


@dataclass(frozen=True, slots=True)
class Outcome:
    case: Case
    problems: Sequence[str] = ()
    skipped: str = ""
    """Why, or nothing."""


def play(cases: Sequence[Case], deployment: Deployment, tell: Callable[[int], None]) -> Sequence[Outcome]:
    """In the order of the cases; tells how many have been played."""
    contradicted = [case for case in cases if case.id in CONTRADICTED]
    outcomes = {case.id: Outcome(case, skipped=CONTRADICTED[case.id].reason) for case in contradicted}
    here = [case for case in cases if case.id not in outcomes and (case.is_pure or case.breaks_storage)]
    with redirect_stdout(io.StringIO()):  # the product logs there; nobody else prints yet
        outcomes |= {case.id: _played_here(case) for case in here}
    there = [case for case in cases if case.id not in outcomes]

    def played(case: Case) -> Outcome:
        return _played_in(Tenant(deployment), case)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for outcome in threads.map(played, there):
            outcomes[outcome.case.id] = outcome
            tell(len(outcomes))
    return [outcomes[case.id] for case in cases]


def played_by_rules(case: Case) -> Outcome:
    """A case that is pure."""
    return _judged(case, lambda: [pure.seen(step.op, step.input) for step in case.steps])


def _played_here(case: Case) -> Outcome:
    return played_by_rules(case) if case.is_pure else _played_in(InProcess(), case)


def _played_in(world: World, case: Case) -> Outcome:
    def seen() -> Sequence[Seen]:
        world.prepare(case)
        return _seen(world, case)

    return _judged(case, seen)


def _judged(case: Case, play: Callable[[], Sequence[Seen]]) -> Outcome:
    try:
        return Outcome(case, _problems(case, play()))
    except (GivenFailed, Overdue) as fault:
        return Outcome(case, [str(fault)])
    except Exception as fault:  # noqa: BLE001 - one case must not end the others
        return Outcome(case, [f"it could not be played: {fault!r}"])


def _seen(world: World, case: Case) -> Sequence[Seen]:
    seen = list(_played_steps(world, case))
    if not case.expects("events"):
        return seen
    return [replace(one, events=events) for one, events in zip(seen, world.events(), strict=True)]


def _played_steps(world: World, case: Case) -> Iterator[Seen]:
    expects_events, expects_calls = case.expects("events"), case.expects("calls")
    if expects_events:
        world.mark()
    for step in case.steps:
        seen = world.play(step)
        if expects_events:
            world.mark()
        yield replace(seen, calls=world.calls()) if expects_calls else seen


def _problems(case: Case, seen: Sequence[Seen]) -> Sequence[str]:
    judge = Judge()
    return [
        f"{f'step {number}, ' if len(seen) > 1 else ''}{step.op}: {problem}"
        for number, (step, one) in enumerate(zip(case.steps, seen, strict=True), 1)
        for problem in judge.problems(step.expect, one)
    ]
