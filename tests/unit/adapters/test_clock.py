"""The system's clock."""

import re
from datetime import UTC, datetime

from signpost.adapters.clock import SystemClock, SystemTimestamps


def test_timestamps_are_utc_with_microseconds_and_agree_with_the_clock() -> None:
    text = SystemTimestamps().now()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", text)
    assert abs(datetime.fromisoformat(text).astimezone(UTC).timestamp() - SystemClock().now()) < 60
