"""The system's clock, as seconds and as timestamps."""

import time
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> float:
        return time.time()


class UtcTimeFormat:
    def text_of(self, at: float) -> str:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


class SystemTimestamps:
    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="microseconds")
