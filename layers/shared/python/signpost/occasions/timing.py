"""The occasions of a schedule: when it is due next, and when it was due last."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from datetime import date, tzinfo

from signpost.occasions.cron import CronExpression, TimingFault
from signpost.occasions.zones import day_of, instant_of
from signpost.records import dataclass

SHORTEST_RATE, LONGEST_RATE = 60, 366 * 86_400
"""Seconds."""
_HORIZON = 41 * 366
"""Days within which every expression that occurs at all occurs again. The longest pause is that of a 29th of February
on a certain day of the week around the year 2100: forty years."""
_RATE = re.compile(r"(?P<count>[1-9]\d{0,8}) (?P<unit>second|minute|hour|day)s?", re.ASCII)
_SECONDS: Mapping[str, int] = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


@dataclass(frozen=True, slots=True)
class CronTiming:
    """The occasions of a cron expression in a time zone."""

    expression: CronExpression
    zone: tzinfo

    def find_next(self, after: float) -> float | None:
        """Return the first occasion after an instant."""
        for day in self._days_from(day_of(after, self.zone), -1, +1):
            index = self._count_until(day, after)
            if index < len(self.expression.minutes):
                return instant_of(day, self.expression.minutes[index], self.zone)
        return None

    def find_latest(self, after: float, until: float) -> float | None:
        """Return the last occasion that is later than `after` and not later than `until`."""
        first_day = day_of(after, self.zone).toordinal() - 1
        for day in self._days_from(day_of(until, self.zone), +1, -1):
            if day.toordinal() < first_day:
                return None
            index = self._count_until(day, until)
            if index:
                latest = instant_of(day, self.expression.minutes[index - 1], self.zone)
                return latest if latest > after else None
        return None

    def _days_from(self, day: date, first: int, step: int) -> Iterator[date]:
        """Yield the days of the expression, beginning a day beyond `day`: a zone may repeat or skip a whole day."""
        start = day.toordinal() + first
        for ordinal in range(start, start + step * _HORIZON, step):
            candidate = date.fromordinal(ordinal)
            if self.expression.has_day(candidate):
                yield candidate

    def _count_until(self, day: date, instant: float) -> int:
        """Count the occasions of a day that are not later than an instant."""
        return bisect_right(self.expression.minutes, instant, key=lambda minute: instant_of(day, minute, self.zone))


@dataclass(frozen=True, slots=True)
class RateTiming:
    """Occasions at equal distances, the first of them one distance after `since`."""

    seconds: int
    since: float

    def find_next(self, after: float) -> float | None:
        return self._occasion(max(1, self._count_until(after) + 1))

    def find_latest(self, after: float, until: float) -> float | None:
        count = self._count_until(until)
        latest = self._occasion(count)
        return latest if count >= 1 and latest > after else None

    def _count_until(self, instant: float) -> int:
        return int((instant - self.since) // self.seconds)

    def _occasion(self, count: int) -> float:
        return self.since + count * self.seconds


type Timing = CronTiming | RateTiming


def parse_rate(text: str) -> int:
    """Return the seconds of a rate such as `15 minutes`. Raises TimingFault."""
    match = _RATE.fullmatch(text.strip().lower())
    if match is None:
        raise TimingFault("must be a number and a unit, such as 15 minutes, 1 hour or 7 days")
    seconds = int(match["count"]) * _SECONDS[match["unit"]]
    if seconds < SHORTEST_RATE:
        raise TimingFault("must be at least 1 minute")
    if seconds > LONGEST_RATE:
        raise TimingFault("must be at most 366 days")
    return seconds
