"""Machines that executors run on in tests: each try is played by the test."""

from collections.abc import Callable

from signpost.model import Principal
from signpost.workflow.definition import Executor
from signpost.workflow.ports import Came, Errand


class Played:
    """Guards nothing, takes as long as it was told, and goes on for as long after nobody waits for it."""

    lingering = 0.0

    def __init__(self, play: Callable[[Errand], Came], seconds: float | None = None) -> None:
        self._play = play
        self._seconds = seconds

    def lingers(self, executor: Executor, principal: Principal) -> float:
        del executor, principal
        return self.lingering

    def seconds(self, executor: Executor, principal: Principal) -> float | None:
        del executor, principal
        return self._seconds

    def guarded(self, errand: Errand, tries: Callable[[], Came]) -> Came:
        del errand
        return tries()

    def perform(self, errand: Errand) -> Came:
        return self._play(errand)


class Crash(Exception):  # noqa: N818 - it names what happened
    """Whoever executed it is gone. Nobody hears what came of it."""


class Script(Played):
    """Plays one entry for each try: what came of it, what is done to come to that, or a crash."""

    def __init__(self, *entries: Came | Crash | Callable[[Errand], Came], seconds: float | None = None) -> None:
        super().__init__(self._next, seconds)
        self.entries = list(entries)
        self.errands: list[Errand] = []

    def _next(self, errand: Errand) -> Came:
        self.errands.append(errand)
        entry = self.entries.pop(0)
        if isinstance(entry, Crash):
            raise entry
        return entry(errand) if callable(entry) else entry
