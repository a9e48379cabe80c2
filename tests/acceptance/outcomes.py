"""What came of cases, whatever they are about."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

AT_ONCE = 4
"""More, on two cores, wait for each other until the product's own clients give up."""

type Tell = Callable[[int], None]
"""How many cases have been played."""


class Titled(Protocol):
    """A case, as a report speaks of it."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...


class CaseNotPlayed(Exception):  # noqa: N818 - it names what happened
    """A case could not be played to its end; the message says why."""


@dataclass(frozen=True, slots=True)
class Outcome:
    case: Titled
    problems: Sequence[str] = ()
    skipped: str = ""
    """Why, or nothing."""


def judge_case(case: Titled, problems: Callable[[], Sequence[str]]) -> Outcome:
    try:
        return Outcome(case, problems())
    except CaseNotPlayed as fault:
        return Outcome(case, [str(fault)])
    except Exception as fault:  # noqa: BLE001 - one case must not end the others
        return Outcome(case, [f"it could not be played: {fault!r}"])


def play_concurrently[Case](cases: Sequence[Case], play: Callable[[Case], Outcome], tell: Tell) -> Iterator[Outcome]:
    """Several at once, in the order of the cases."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for played, outcome in enumerate(threads.map(play, cases), 1):
            yield outcome
            tell(played)


def failed_outcomes(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    return [one for one in outcomes if one.problems]
