"""Parses cron expressions of five fields into the minutes and days that they name."""

import re
from collections.abc import Mapping, Sequence
from datetime import date

from signpost.records import dataclass

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_PART = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d{1,4}))?", re.ASCII)
_MOST_DIGITS = 4


@dataclass(frozen=True, slots=True)
class CronField:
    """The name, the limits and the words of one of the five fields."""

    name: str
    first: int
    last: int
    words: Mapping[str, int]


FIELDS: Sequence[CronField] = (
    CronField("minute", 0, 59, {}),
    CronField("hour", 0, 23, {}),
    CronField("day of month", 1, 31, {}),
    CronField("month", 1, 12, {word: number for number, word in enumerate(_MONTHS, 1)}),
    CronField("day of week", 0, 7, {word: number for number, word in enumerate(_WEEKDAYS)}),
)


class TimingFault(Exception):  # noqa: N818 - named after the fault of the text
    """A text is no cron expression, or no rate. The message names the wrong part, and the values that it takes."""


@dataclass(frozen=True, slots=True)
class CronExpression:
    """The minutes of a day and the days that an expression names, in the time of its zone."""

    minutes: Sequence[int]
    """Minutes since midnight, ascending."""
    days_of_month: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    takes_either_day: bool
    """Whether a day counts that matches one of the two fields of days, as in every cron if neither begins with `*`."""

    def has_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        matches = day.day in self.days_of_month, day.isoweekday() % 7 in self.weekdays
        return any(matches) if self.takes_either_day else all(matches)


def parse_cron(text: str) -> CronExpression:
    """Parse an expression. Raises TimingFault."""
    written = text.split()
    if len(written) != len(FIELDS):
        names = ", ".join(field.name for field in FIELDS)
        raise TimingFault(f"has {len(written)} fields and needs five: {names}")
    minutes, hours, days, months, weekdays = (
        _parse_field(part, field) for part, field in zip(written, FIELDS, strict=True)
    )
    either = not (written[2].startswith("*") or written[4].startswith("*"))
    if not either and not any(min(days) <= _LONGEST_MONTHS[month - 1] for month in months):
        raise TimingFault("never occurs: none of its months has such a day of month")
    return CronExpression(
        minutes=[hour * 60 + minute for hour in sorted(hours) for minute in sorted(minutes)],
        days_of_month=days,
        months=months,
        weekdays=frozenset(weekday % 7 for weekday in weekdays),
        takes_either_day=either,
    )


def _parse_field(text: str, field: CronField) -> frozenset[int]:
    return frozenset(value for part in text.split(",") for value in _parse_part(part, field))


def _parse_part(text: str, field: CronField) -> range:
    match = _PART.fullmatch(text)
    if match is None or (match["first"] == "*" and match["last"]):
        raise _fault(text, field)
    first, last = _bounds(match, field)
    step = int(match["step"] or 1)
    if first > last or not step:
        raise _fault(text, field)
    return range(first, last + 1, step)


def _bounds(match: re.Match[str], field: CronField) -> tuple[int, int]:
    if match["first"] == "*":
        # Sunday is 0 here: with 7 as well, `*/2` would be every second day and Sunday twice.
        return field.first, 6 if field.last == 7 else field.last
    first = _parse_value(match["first"], field)
    if match["last"]:
        return first, _parse_value(match["last"], field)
    return first, field.last if match["step"] else first


def _parse_value(text: str, field: CronField) -> int:
    number = field.words.get(text.lower())
    if number is None and text.isdecimal() and len(text) <= _MOST_DIGITS:
        number = int(text)
    if number is None or not field.first <= number <= field.last:
        raise _fault(text, field)
    return number


def _fault(text: str, field: CronField) -> TimingFault:
    words = f" or {', '.join(field.words)}" if field.words else ""
    return TimingFault(f"has {text!r} as {field.name}, which takes {field.first} to {field.last}{words}")
