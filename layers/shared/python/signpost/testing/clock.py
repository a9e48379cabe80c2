"""The clock of an embedded gateway, which moves only when a test advances it."""


class ManualClock:
    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds
