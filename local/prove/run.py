"""Runs the parts of a proof that have not passed yet with these sources."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from local.processes import tail
from local.progress import Progress, Step
from local.prove.parts import Part
from local.prove.records import Record, Records
from local.pytest_run import Outcome, run_command, run_pytest

LONGEST_TEST = 4 * 3600
"""Seconds after which a test of a proof is said to hang; one that tries everything may take an hour."""
_ENVIRONMENT = {"SIGNPOST_PROVE": "1"}
_SECONDS_BETWEEN_LOOKS = 2.0

type RunPart = Callable[[Part, Path, Callable[[], None]], Outcome]
"""Runs one part, with a file for its output; calls the function while it does."""


@dataclass(frozen=True, slots=True)
class Proof:
    parts: Sequence[Part]
    records: Records
    sources: Callable[[], str]
    """The digest of the sources as they are now."""
    run_part: RunPart
    progress: Progress
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def run(self, parts: Sequence[Part], *, fresh: bool = False) -> None:
        """Runs what has not passed of these. May be interrupted: what has run until then is kept."""
        for number, part in enumerate(parts, 1):
            sources = self.sources()
            kept = self.records.read(part.name)
            label = f"{number} of {len(parts)}  {part.name}"
            if kept and kept.holds_for(sources) and not fresh:
                self.progress.say(self.progress.dim(f"  {label}: passed on {kept.date}"))
            else:
                self._run(part, label, sources)

    def results(self) -> tuple[Sequence[Record], Sequence[str]]:
        """The last result of each part that counts for these sources, and the parts that have none."""
        sources = self.sources()
        found = {part.name: self.records.read(part.name) for part in self.parts}
        counting = [one for one in found.values() if one and one.sources == sources]
        missing = [name for name, one in found.items() if not one or one.sources != sources]
        return counting, missing

    def _run(self, part: Part, label: str, sources: str) -> None:
        log = self.records.log(part.name)
        outcome = self._outcome(part, label, log)
        unchanged = self.sources() == sources
        date = self.now().strftime("%Y-%m-%d %H:%M")
        self.records.write(Record(part.name, part.folder, sources if unchanged else "", date, outcome))
        for line in _said(outcome, log, unchanged=unchanged):
            self.progress.say(f"    {line}")

    def _outcome(self, part: Part, label: str, log: Path) -> Outcome:
        try:
            with self.progress.step(label) as step:
                outcome = self.run_part(part, log, _Watch(step, log).look)
                return _checked(outcome)
        except _FailedError as failed:
            return failed.outcome


class _FailedError(Exception):
    """Has a step shown as one that failed."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def _checked(outcome: Outcome) -> Outcome:
    if not outcome.has_passed:
        raise _FailedError(outcome)
    return outcome


class _Watch:
    """Shows the last line of a file, now and then."""

    def __init__(self, step: Step, log: Path) -> None:
        self._step = step
        self._log = log
        self._next = 0.0

    def look(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _SECONDS_BETWEEN_LOOKS
            self._step.show(tail(self._log, 1).strip()[-100:])


def run_part(part: Part, log: Path, watch: Callable[[], None], *, workers: int) -> Outcome:
    """As a process, exhaustively."""
    if part.command:
        exit_code, seconds = run_command(part.command, log, environment=_ENVIRONMENT, watch=watch)
        return Outcome(exit_code, seconds)
    options = ["-o", f"faulthandler_timeout={LONGEST_TEST}"]
    if part.is_parallel and workers > 1:
        options += [f"--numprocesses={workers}", "--dist=loadfile"]
    return run_pytest([*options, *part.tests], log, environment=_ENVIRONMENT, watch=watch)


def _said(outcome: Outcome, log: Path, *, unchanged: bool) -> Sequence[str]:
    lines = [] if unchanged else ["The sources changed while it ran, so it will run again."]
    if outcome.has_passed:
        return lines
    failed = [f"failed: {test}" for test in outcome.failed] or [f"it ended with {outcome.exit_code}"]
    return [*lines, *failed, f"its output: {log}"]
