"""Step executors of tests: the test plays each attempt."""

from collections.abc import Callable

from signpost.model import Principal
from signpost.workflow.definition import ExecutorSpec
from signpost.workflow.ports import StepAttempt, StepOutcome


class PlayedExecutor:
    """A step executor that runs attempts without a breaker, with the timeout and the linger time that it is given."""

    linger_time = 0.0

    def __init__(self, play: Callable[[StepAttempt], StepOutcome], seconds: float | None = None) -> None:
        self._play = play
        self._seconds = seconds

    def linger_seconds(self, executor: ExecutorSpec, principal: Principal) -> float:
        del executor, principal
        return self.linger_time

    def timeout_seconds(self, executor: ExecutorSpec, principal: Principal) -> float | None:
        del executor, principal
        return self._seconds

    def run_attempts(self, attempt: StepAttempt, run: Callable[[], StepOutcome]) -> StepOutcome:
        del attempt
        return run()

    def perform(self, attempt: StepAttempt) -> StepOutcome:
        return self._play(attempt)


class ExecutorCrash(Exception):  # noqa: N818 - it names what happened
    """The process that executed the attempt has died, and no result was recorded."""


class ScriptedExecutor(PlayedExecutor):
    """Plays one entry for each attempt: its outcome, a function that makes the outcome, or a crash."""

    def __init__(
        self, *entries: StepOutcome | ExecutorCrash | Callable[[StepAttempt], StepOutcome], seconds: float | None = None
    ) -> None:
        super().__init__(self._next, seconds)
        self.entries = list(entries)
        self.attempts: list[StepAttempt] = []

    def _next(self, attempt: StepAttempt) -> StepOutcome:
        self.attempts.append(attempt)
        assert self.entries, f"attempt {len(self.attempts)} is not in the script"
        entry = self.entries.pop(0)
        if isinstance(entry, ExecutorCrash):
            raise entry
        return entry(attempt) if callable(entry) else entry
