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
"""Seconds after which a test of a proof counts as hanging. An exhaustive test may take an hour."""
_ENVIRONMENT = {"SIGNPOST_PROVE": "1"}
_SECONDS_BETWEEN_UPDATES = 2.0

type RunPart = Callable[[Part, Path, Callable[[], None]], Outcome]
"""Runs a part, writes its output to the file, and calls the function regularly while the part runs."""


@dataclass(frozen=True, slots=True)
class Proof:
    parts: Sequence[Part]
    records: Records
    sources: Callable[[], str]
    """Computes the digest of the current sources."""
    run_part: RunPart
    progress: Progress
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def run(self, parts: Sequence[Part], *, fresh: bool = False) -> None:
        """Run the parts that have not passed with the current sources, or all of them if `fresh`.

        The result of each part is stored as soon as it ends, so an interrupted run loses only the running part.
        """
        for number, part in enumerate(parts, 1):
            sources = self.sources()
            record = self.records.read(part.name)
            label = f"{number} of {len(parts)}  {part.name}"
            if record and record.holds_for(sources) and not fresh:
                self.progress.say(self.progress.dim(f"  {label}: passed on {record.date}"))
            else:
                self._run(part, label, sources)

    def results(self) -> tuple[Sequence[Record], Sequence[str]]:
        """Return the records that were made with the current sources, and the names of the parts without one."""
        sources = self.sources()
        by_part = {part.name: self.records.read(part.name) for part in self.parts}
        current = [record for record in by_part.values() if record and record.sources == sources]
        missing = [name for name, record in by_part.items() if not record or record.sources != sources]
        return current, missing

    def _run(self, part: Part, label: str, sources: str) -> None:
        log = self.records.log(part.name)
        outcome = self._outcome(part, label, log)
        unchanged = self.sources() == sources
        date = self.now().strftime("%Y-%m-%d %H:%M")
        self.records.write(Record(part.name, part.folder, sources if unchanged else "", date, outcome))
        for line in _report_lines(outcome, log, unchanged=unchanged):
            self.progress.say(f"    {line}")

    def _outcome(self, part: Part, label: str, log: Path) -> Outcome:
        try:
            with self.progress.step(label) as step:
                outcome = self.run_part(part, log, _LogWatch(step, log).update)
                return _require_passed(outcome)
        except _FailedError as failed:
            return failed.outcome


class _FailedError(Exception):
    """Raised inside a progress step, so that the step is shown as failed."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


def _require_passed(outcome: Outcome) -> Outcome:
    if not outcome.has_passed:
        raise _FailedError(outcome)
    return outcome


class _LogWatch:
    """Shows the last line of a log file in a progress step, every two seconds."""

    def __init__(self, step: Step, log: Path) -> None:
        self._step = step
        self._log = log
        self._next_update = 0.0

    def update(self) -> None:
        if time.monotonic() >= self._next_update:
            self._next_update = time.monotonic() + _SECONDS_BETWEEN_UPDATES
            self._step.show(tail(self._log, 1).strip()[-100:])


def run_part(part: Part, log: Path, watch: Callable[[], None], *, workers: int) -> Outcome:
    """Run a part as a process, exhaustively."""
    if part.command:
        exit_code, seconds = run_command(part.command, log, environment=_ENVIRONMENT, watch=watch)
        return Outcome(exit_code, seconds)
    options = ["-o", f"faulthandler_timeout={LONGEST_TEST}"]
    if part.is_parallel and workers > 1:
        options += [f"--numprocesses={workers}", "--dist=loadfile"]
    return run_pytest([*options, *part.tests], log, environment=_ENVIRONMENT, watch=watch)


def _report_lines(outcome: Outcome, log: Path, *, unchanged: bool) -> Sequence[str]:
    lines = [] if unchanged else ["The sources changed while this part ran. The next run repeats it."]
    if outcome.has_passed:
        return lines
    failed = [f"failed: {test}" for test in outcome.failed] or [f"it exited with code {outcome.exit_code}"]
    return [*lines, *failed, f"its output: {log}"]
