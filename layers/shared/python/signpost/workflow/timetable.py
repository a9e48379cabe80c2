"""The timetable of a tenant: when its schedules are due, and how their last occasions ended."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Literal

from signpost.records import dataclass
from signpost.workflow.schedules import Schedule

type OccasionOutcome = Literal["started", "refused"]
LONGEST_MESSAGE = 500
"""Characters of a message in a result: the results of all schedules of a tenant are one row, which has 400 KB."""


@dataclass(frozen=True, slots=True)
class OccasionResult:
    """How the last occasion of a schedule ended."""

    occasion: float
    """When it was due, in seconds since the epoch."""
    outcome: OccasionOutcome
    workflow_id: str
    """The id of the run that it started, or would have started."""
    code: str = ""
    message: str = ""
    """Why nothing was started."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """The row of a tenant with schedules."""

    revision: int
    """Counts the writes. A publication counts too, so that a worker does not write over it."""
    due_at: float | None
    """When a worker has to look at the schedules; None if none of them has another occasion."""
    results: Mapping[str, OccasionResult]
    """The results of the last occasions, by the ids of the schedules."""

    def find_handled(self, schedule_id: str) -> float:
        """Return the last occasion of a schedule that was handled; 0 if there was none."""
        result = self.results.get(schedule_id)
        return 0.0 if result is None else result.occasion


def find_due(schedules: Mapping[str, Schedule], timetable: Timetable, now: float) -> Mapping[str, float]:
    """Return the occasions that are due now, at most one of each schedule: the last one that has passed."""
    occasions = {name: schedule.find_due(timetable.find_handled(name), now) for name, schedule in schedules.items()}
    return {name: occasion for name, occasion in occasions.items() if occasion is not None}


def find_next(schedules: Mapping[str, Schedule], now: float) -> float | None:
    """Return the next occasion of any schedule."""
    upcoming = [schedule.find_next(now) for schedule in schedules.values()]
    return min((occasion for occasion in upcoming if occasion is not None), default=None)


def results_text(results: Mapping[str, OccasionResult]) -> str:
    texts = {name: asdict(result) for name, result in results.items()}
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def results_of(text: str) -> Mapping[str, OccasionResult]:
    return {name: OccasionResult(**fields) for name, fields in json.loads(text).items()}
