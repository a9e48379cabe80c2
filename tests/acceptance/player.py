"""Plays cases, each in a world of its own, and says what came of them."""

import io
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace

from tests.acceptance import pure
from tests.acceptance.cases import Case
from tests.acceptance.decisions import CONTRADICTED
from tests.acceptance.deployed import Deployment, Tenant
from tests.acceptance.expectations import Judge, Seen
from tests.acceptance.in_process import InProcess
from tests.acceptance.outcomes import Outcome, Tell, judge_case, play_concurrently
from tests.acceptance.worlds import World


def play(cases: Sequence[Case], deployment: Deployment, tell: Tell) -> Sequence[Outcome]:
    """In the order of the cases."""
    contradicted = [case for case in cases if case.id in CONTRADICTED]
    outcomes = {case.id: Outcome(case, skipped=CONTRADICTED[case.id].reason) for case in contradicted}
    here = [case for case in cases if case.id not in outcomes and (case.is_pure or case.breaks_storage)]
    with redirect_stdout(io.StringIO()):  # the product logs there; nobody else prints yet
        outcomes |= {case.id: _play_in_process(case) for case in here}
    there = [case for case in cases if case.id not in outcomes]

    def played(case: Case) -> Outcome:
        return _play_in_world(Tenant(deployment), case)

    outcomes |= {outcome.case.id: outcome for outcome in play_concurrently(there, played, tell)}
    return [outcomes[case.id] for case in cases]


def play_pure_case(case: Case) -> Outcome:
    """A case that is pure."""
    return judge_case(case, lambda: _problems(case, [pure.apply_rule(step.op, step.input) for step in case.steps]))


def _play_in_process(case: Case) -> Outcome:
    return play_pure_case(case) if case.is_pure else _play_in_world(InProcess(), case)


def _play_in_world(world: World, case: Case) -> Outcome:
    def problems() -> Sequence[str]:
        world.prepare(case)
        return _problems(case, _observe_steps(world, case))

    return judge_case(case, problems)


def _observe_steps(world: World, case: Case) -> Sequence[Seen]:
    seen = list(_play_steps(world, case))
    if not case.expects("events"):
        return seen
    return [replace(one, events=events) for one, events in zip(seen, world.events(), strict=True)]


def _play_steps(world: World, case: Case) -> Iterator[Seen]:
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
