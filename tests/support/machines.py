"""Machines that executors run on in tests: each try is played by the test."""

from collections.abc import Callable

from signpost.model import Principal
from signpost.workflow.definition import ExecutorSpec
from signpost.workflow.ports import StepAttempt, StepOutcome


class Played:
    """Guards nothing, takes as long as it was told, and goes on for as long after nobody waits for it."""

    lingering = 0.0

    def __init__(self, play: Callable[[StepAttempt], StepOutcome], seconds: float | None = None) -> None:
        self._play = play
        self._seconds = seconds

    def linger_seconds(self, executor: ExecutorSpec, principal: Principal) -> float:
        del executor, principal
        return self.lingering

    def timeout_seconds(self, executor: ExecutorSpec, principal: Principal) -> float | None:
        del executor, principal
        return self._seconds

    def run_attempts(self, attempt: StepAttempt, run: Callable[[], StepOutcome]) -> StepOutcome:
        del attempt
        return run()

    def perform(self, attempt: StepAttempt) -> StepOutcome:
        return self._play(attempt)


class Crash(Exception):  # noqa: N818 - it names what happened
    """Whoever executed it is gone. Nobody hears what came of it."""


class Script(Played):
    """Plays one entry for each try: what came of it, what is done to come to that, or a crash."""

    def __init__(
        self, *entries: StepOutcome | Crash | Callable[[StepAttempt], StepOutcome], seconds: float | None = None
    ) -> None:
        super().__init__(self._next, seconds)
        self.entries = list(entries)
        self.errands: list[StepAttempt] = []

    def _next(self, errand: StepAttempt) -> StepOutcome:
        self.errands.append(errand)
        entry = self.entries.pop(0)
        if isinstance(entry, Crash):
            raise entry
        return entry(errand) if callable(entry) else entry
