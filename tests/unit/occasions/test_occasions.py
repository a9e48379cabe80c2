"""The occasions of schedules: cron expressions and rates, in every zone, when the clock is set forward and back."""

from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signpost.occasions.cron import CronExpression, TimingFault, parse_cron
from signpost.occasions.timing import CronTiming, RateTiming, parse_rate
from signpost.occasions.zones import zone_names
from tests.support.effort import count_examples

MINUTE, DAY = 60, 86_400
YEARS = (1995, 2026)
"""The years whose changes of the clock are tried."""
SHIFTS = {
    "America/New_York": datetime(2026, 3, 8, tzinfo=UTC),
    "Europe/Berlin": datetime(2026, 10, 25, tzinfo=UTC),
    "Europe/Dublin": datetime(2026, 3, 29, tzinfo=UTC),  # its standard time is that of summer
    "Australia/Lord_Howe": datetime(2026, 4, 4, tzinfo=UTC),  # by half an hour
    "Antarctica/Troll": datetime(2026, 3, 29, tzinfo=UTC),  # by two hours
    "Africa/Cairo": datetime(2026, 4, 23, tzinfo=UTC),  # at midnight
    "America/Santiago": datetime(2026, 4, 4, tzinfo=UTC),  # at midnight, back
    "Pacific/Apia": datetime(2011, 12, 29, tzinfo=UTC),  # skipped a whole day
    "Asia/Pyongyang": datetime(2015, 8, 14, tzinfo=UTC),
    "Asia/Kathmandu": datetime(2026, 1, 1, tzinfo=UTC),
}
EXPRESSIONS = ("* * * * *", "*/20 * * * *", "30 2 * * *", "0 0 * * *", "15 0-3 * * *", "59 23 * * *", "0 1,2 * * sun")


def list_expected(expression: CronExpression, zone: tzinfo, since: float, until: float) -> list[float]:
    """List the occasions minute by minute, from the wall times that a clock on the wall shows one after the other."""
    found: list[float] = []
    shown = read_wall(since - DAY, zone)
    for instant in range(int(since - DAY) + MINUTE, int(until) + 1, MINUTE):
        wall = read_wall(instant, zone)
        new_walls = [
            shown + timedelta(minutes=count) for count in range(1, int((wall - shown).total_seconds()) // 60 + 1)
        ]
        if any(matches(expression, new) for new in new_walls):
            found.append(instant)
        shown = max(shown, wall)
    return [instant for instant in found if since < instant <= until]


def read_wall(instant: float, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0)


def matches(expression: CronExpression, wall: datetime) -> bool:
    return expression.has_day(wall.date()) and wall.hour * 60 + wall.minute in expression.minutes


def list_occasions(timing: CronTiming | RateTiming, since: float, until: float) -> list[float]:
    found: list[float] = []
    occasion = timing.find_next(since)
    while occasion is not None and occasion <= until:
        found.append(occasion)
        occasion = timing.find_next(occasion)
    return found


def check_window(text: str, zone: tzinfo, since: float, until: float) -> None:
    expression = parse_cron(text)
    timing, expected = CronTiming(expression, zone), list_expected(expression, zone, since, until)
    assert list_occasions(timing, since, until) == expected
    assert timing.find_latest(since, until) == (expected[-1] if expected else None)
    for before, occasion in pairwise(expected):
        assert timing.find_latest(since, occasion - 1) == before
        assert timing.find_latest(before, occasion) == occasion


@pytest.mark.parametrize("zone", SHIFTS)
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_occasion_is_found_once_when_the_clock_is_set(zone: str, text: str) -> None:
    since = SHIFTS[zone].timestamp()
    check_window(text, ZoneInfo(zone), since, since + 2 * DAY)


def find_shifts(zone: tzinfo, year: int) -> list[float]:
    days = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=count) for count in range(366)]
    offsets = [day.astimezone(zone).utcoffset() for day in days]
    return [day.timestamp() for day, before, after in zip(days, offsets, offsets[1:], strict=False) if before != after]


@settings(max_examples=count_examples(40))
@given(st.sampled_from(sorted(zone_names())), st.sampled_from(EXPRESSIONS), st.sampled_from(YEARS), st.data())
def test_occasions_are_those_of_a_clock_on_the_wall_in_every_zone(
    name: str, text: str, year: int, data: st.DataObject
) -> None:
    zone = ZoneInfo(name)
    shifts = find_shifts(zone, year) or [datetime(year, 6, 1, tzinfo=UTC).timestamp()]
    since = data.draw(st.sampled_from(shifts)) + MINUTE * data.draw(st.integers(-60, 60))
    check_window(text, zone, since, since + DAY)


def test_a_time_that_the_clock_skips_is_the_moment_at_which_it_is_set() -> None:
    timing = CronTiming(parse_cron("30 2 * * *"), ZoneInfo("America/New_York"))
    before = datetime(2026, 3, 7, 12, tzinfo=ZoneInfo("America/New_York")).timestamp()
    assert describe(timing, timing.find_next(before)) == "2026-03-08T03:00:00-04:00"


def test_a_time_that_occurs_twice_is_its_first_occurrence() -> None:
    timing = CronTiming(parse_cron("30 1 * * *"), ZoneInfo("America/New_York"))
    before = datetime(2026, 10, 31, 12, tzinfo=ZoneInfo("America/New_York")).timestamp()
    first = timing.find_next(before)
    assert describe(timing, first) == "2026-11-01T01:30:00-04:00"
    assert describe(timing, timing.find_next(first or 0)) == "2026-11-02T01:30:00-05:00"


def describe(timing: CronTiming, instant: float | None) -> str:
    assert instant is not None
    return datetime.fromtimestamp(instant, timing.zone).isoformat()


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 0 29 2 *", ["2028-02-29", "2032-02-29"]),
        ("0 0 1 * mon", ["2027-01-18", "2027-01-25", "2027-02-01"]),  # either field of days, as in every cron
        ("0 0 */10 * mon", ["2027-02-01", "2027-03-01"]),  # both, because one begins with *
        ("0 0 * * 7", ["2027-01-17", "2027-01-24"]),
        ("0 0 * * FRI-7", ["2027-01-15", "2027-01-16", "2027-01-17"]),
        ("0 0 31 jan,mar *", ["2027-01-31", "2027-03-31"]),
        ("0 0 1-10/4 3 *", ["2027-03-01", "2027-03-05", "2027-03-09"]),
        ("0 0 28/2 1 *", ["2027-01-28", "2027-01-30", "2028-01-28"]),
    ],
)
def test_days_are_chosen_as_by_cron(text: str, days: list[str]) -> None:
    timing = CronTiming(parse_cron(text), UTC)
    since = datetime(2027, 1, 14, 12, tzinfo=UTC).timestamp()
    until = datetime.fromisoformat(days[-1]).replace(tzinfo=UTC).timestamp()
    found = list_occasions(timing, since, until)
    assert [datetime.fromtimestamp(at, UTC).date().isoformat() for at in found] == days


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("* * * *", "has 4 fields and needs five: minute, hour, day of month, month, day of week"),
        ("60 * * * *", "has '60' as minute, which takes 0 to 59"),
        ("* 24 * * *", "has '24' as hour, which takes 0 to 23"),
        ("* * 0 * *", "has '0' as day of month, which takes 1 to 31"),
        ("* * * juno *", "has 'juno' as month, which takes 1 to 12 or jan, feb"),
        ("* * * * 8", "has '8' as day of week, which takes 0 to 7 or sun, mon"),
        ("5-1 * * * *", "has '5-1' as minute"),
        ("*/0 * * * *", "has '*/0' as minute"),
        ("*-5 * * * *", "has '*-5' as minute"),
        ("1,,2 * * * *", "has '' as minute"),
        ("\u0665 * * * *", "as minute"),
        ("0 0 30 2 *", "never occurs"),
        ("0 0 31 4,6 *", "never occurs"),
    ],
)
def test_a_refused_expression_names_the_field(text: str, message: str) -> None:
    with pytest.raises(TimingFault) as refused:
        parse_cron(text)
    assert message in str(refused.value)


@pytest.mark.parametrize("text", ["1 second", "30 seconds", "59 seconds"])
def test_a_rate_below_a_minute_is_refused(text: str) -> None:
    with pytest.raises(TimingFault, match="at least 1 minute"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["", "5", "minutes", "1.5 hours", "5 months", "-1 hour", "400 days", "1  minute"])
def test_a_rate_has_a_number_and_a_unit(text: str) -> None:
    with pytest.raises(TimingFault):
        parse_rate(text)


@given(st.integers(60, 100_000), st.integers(0, 2_000_000_000), st.integers(-10, 1_000_000))
def test_the_occasions_of_a_rate_have_equal_distances(seconds: int, since: int, elapsed: int) -> None:
    timing, now = RateTiming(seconds, since), since + elapsed
    upcoming, latest = timing.find_next(now), timing.find_latest(0, now)
    assert upcoming is not None
    assert now < upcoming
    assert (upcoming - since) % seconds == 0
    assert latest == (upcoming - seconds if upcoming - seconds > since else None)
    assert latest is None or timing.find_latest(latest, now) is None


def test_units_of_a_rate() -> None:
    assert [parse_rate(text) for text in ("1 minute", "90 seconds", "2 Hours", "7 days")] == [60, 90, 7_200, 604_800]
