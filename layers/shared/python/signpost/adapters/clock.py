"""The system's clock, as a number and as a text."""

import time
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> float:
        return time.time()


class SystemTimestamps:
    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="microseconds")
