"""The system's clock, as seconds and as timestamps."""

import time
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> float:
        return time.time()


class SystemTimestamps:
    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="microseconds")
