"""Tries mutants: the named tests must pass without the mutant, and fail with it by an assertion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from local.pytest_run import Outcome, read_failures, run_pytest
from tests.mutants.copied_project import CopiedProject
from tests.mutants.mutant import PYTEST_OPTIONS, MisfitError, Mutant

type Verdict = Literal["noticed", "SURVIVED", "UNDECIDED"]
"""The result for a mutant. It is undecided if the mutant does not fit, or if the tests fail for another reason."""

ASSERTION_PREFIXES = ("assert ", "AssertionError", "Failed: ")
"""The first words of pytest's report of a failed check."""
COMMON_OPTIONS = ("--exitfirst", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=300")
"""Options of every run. A mutant may make a test wait for ever, hence the timeout."""


@dataclass(frozen=True, slots=True)
class Finding:
    mutant: Mutant
    verdict: Verdict
    reason: str
    """The test that noticed the mutant, or the reason why none did."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MutantTrial:
    project: CopiedProject
    logs: Path
    _unchanged: dict[tuple[object, ...], Outcome] = field(default_factory=dict[tuple[object, ...], Outcome])
    """Runs without a mutant, which mutants with the same tests share."""

    def try_mutant(self, mutant: Mutant) -> Finding:
        key = (mutant.tests, mutant.needs)
        if key not in self._unchanged:
            self._unchanged[key] = self._run(mutant, self.logs / f"{mutant.name}.unchanged.log")
        log = self.logs / f"{mutant.name}.log"
        if problem := _problem_of(self._unchanged[key], log):
            return Finding(mutant, "UNDECIDED", problem)
        try:
            with self.project.apply_mutant(mutant):
                outcome = self._run(mutant, log)
        except MisfitError as fault:
            return Finding(mutant, "UNDECIDED", str(fault))
        verdict, reason = judge_run(outcome, read_failures(log))
        return Finding(mutant, verdict, reason, outcome.seconds)

    def _run(self, mutant: Mutant, log: Path) -> Outcome:
        arguments = [*COMMON_OPTIONS, *PYTEST_OPTIONS[mutant.needs], *mutant.tests]
        return run_pytest(arguments, log, folder=self.project.root, environment=self.project.environment)


def _problem_of(unchanged: Outcome, log: Path) -> str | None:
    """Return why the tests show nothing about a mutant: they fail without it, or there are none."""
    if not unchanged.has_passed:
        failed = ", ".join(unchanged.failed) or f"pytest ended with {unchanged.exit_code}"
        return f"the tests fail without it: {failed}; see {log.parent}"
    return None if unchanged.tests else "none of its tests runs on this machine"


def judge_run(changed: Outcome, failures: Mapping[str, str]) -> tuple[Verdict, str]:
    """Return the verdict of a run with a mutant, and its reason. A test that stops by an error other than an assertion
    has checked nothing."""
    if changed.has_passed:
        return "SURVIVED", f"{changed.tests} tests pass with it"
    for test, message in failures.items():
        if message.startswith(ASSERTION_PREFIXES):
            return "noticed", test
    message = next(iter(failures.values()), "").partition("\n")[0]
    failed = next(iter(changed.failed), f"pytest ended with {changed.exit_code}")
    return "UNDECIDED", f"no assertion failed, but {failed}{message and f': {message}'}"


def format_table(findings: Sequence[Finding]) -> Sequence[str]:
    """Return a Markdown table with a row for each mutant."""
    rows = [
        f"| {it.mutant.name} | {it.mutant.invariant} | {it.verdict} | {it.reason} | {it.seconds:.1f} |"
        for it in findings
    ]
    return ["| mutant | invariant | | by | seconds |", "|---|---|---|---|---|", *rows]
