"""Plays workflow cases, each in a world of its own."""

from collections.abc import Callable, Sequence

from tests.acceptance.outcomes import Outcome, Tell, judge_case, play_concurrently
from tests.acceptance.workflow_cases import Case
from tests.acceptance.workflow_selection import reason_to_skip
from tests.acceptance.workflow_steps import World, problems


def play(cases: Sequence[Case], world_of: Callable[[Case], World], tell: Tell) -> Sequence[Outcome]:
    """In the order of the cases."""
    skipped = [Outcome(case, skipped=reason) for case in cases if (reason := reason_to_skip(case))]
    outcomes = {outcome.case.id: outcome for outcome in skipped}
    there = sort_by_sleep([case for case in cases if case.id not in outcomes])

    def played(case: Case) -> Outcome:
        return judge_case(case, lambda: problems(case, world_of(case)))

    outcomes |= {outcome.case.id: outcome for outcome in play_concurrently(there, played, tell)}
    return [outcomes[case.id] for case in cases]


def sort_by_sleep(cases: Sequence[Case]) -> Sequence[Case]:
    """Those that sleep begin, so that nobody waits for them at the end."""
    return sorted(cases, key=lambda case: -case.sleeps)
