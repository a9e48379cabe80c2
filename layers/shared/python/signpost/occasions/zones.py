"""Time zones by their IANA names, and the instants of their wall times."""

from bisect import bisect_left
from datetime import date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

_NO_PLACES = frozenset({"Factory", "localtime"})
"""Files of the database that are no zones: their meaning depends on the machine."""


@lru_cache(1)
def zone_names() -> frozenset[str]:
    """Return the names of all zones. It reads many files, once in a process."""
    return frozenset(available_timezones()) - _NO_PLACES


@lru_cache(256)
def zone_of(name: str) -> tzinfo:
    """Return a zone whose name was checked before."""
    return ZoneInfo(name)


def read_instant(text: str) -> int:
    """Read a time in the form of RFC 3339, in whole seconds since the epoch."""
    return int(datetime.fromisoformat(text).timestamp())


def write_instant(instant: float, zone: str) -> str:
    """Write a time in the form of RFC 3339, as the clocks of a zone show it."""
    return datetime.fromtimestamp(instant, zone_of(zone)).isoformat(timespec="seconds")


def instant_of(day: date, minute: int, zone: tzinfo) -> int:
    """Return the instant of a wall time, in seconds since the epoch. Later wall times never have earlier instants.

    A wall time that occurs twice, because the clock is set back, is its first occurrence. One that is skipped, because
    the clock is set forward, is the instant at which the clock is set.
    """
    wall = datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=zone)
    other = wall.replace(fold=1)
    before, after = wall.utcoffset(), other.utcoffset()
    if before is None or after is None or before >= after:
        return int(wall.timestamp())
    skipped = range(int(other.timestamp()), int(wall.timestamp()) + 1)
    return skipped[bisect_left(skipped, after, key=lambda instant: _offset_at(instant, zone))]


def day_of(instant: float, zone: tzinfo) -> date:
    return datetime.fromtimestamp(instant, zone).date()


def _offset_at(instant: float, zone: tzinfo) -> timedelta:
    return datetime.fromtimestamp(instant, zone).utcoffset() or timedelta()
