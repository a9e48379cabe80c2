"""What came of the cases, as lines to read."""

from collections.abc import Iterator, Sequence

from tests.acceptance.outcomes import Outcome, failed_outcomes


def lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One for each case that failed or was skipped, and one for all."""
    for one in outcomes:
        if one.skipped:
            yield f"skipped {one.case.id} {one.case.title}: {one.skipped}"
    for one in failed_outcomes(outcomes):
        yield f"FAILED {one.case.id} {one.case.title}: {'; '.join(one.problems)}"
    skipped = sum(bool(one.skipped) for one in outcomes)
    fell = len(failed_outcomes(outcomes))
    yield f"{len(outcomes) - skipped - fell} passed, {fell} failed, {skipped} skipped"


def exit_code(outcomes: Sequence[Outcome]) -> int:
    return 1 if failed_outcomes(outcomes) else 0
