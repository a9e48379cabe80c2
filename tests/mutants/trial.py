"""Tries mutants: the named tests pass without one, and fail with it by an assertion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from local.pytest_run import Outcome, read_failures, run_pytest
from tests.mutants.copied_project import CopiedProject
from tests.mutants.mutant import OPTIONS, MisfitError, Mutant

type Verdict = Literal["noticed", "SURVIVED", "UNDECIDED"]
"""Undecided is what shows nothing: the mutant does not fit, or the tests fail for another reason."""

BY_ASSERTION = ("assert ", "AssertionError", "Failed: ")
"""How pytest begins what it says of a test that checked something and found it otherwise."""
ALWAYS = ("--exitfirst", "-p", "no:cacheprovider", "-o", "faulthandler_timeout=300")
"""A mutant may make a test wait for ever."""


@dataclass(frozen=True, slots=True)
class Finding:
    mutant: Mutant
    verdict: Verdict
    reason: str
    """The test that noticed it, or why none did."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Trial:
    project: CopiedProject
    logs: Path
    _unchanged: dict[tuple[object, ...], Outcome] = field(default_factory=dict[tuple[object, ...], Outcome])
    """Runs without a mutant, which several mutants may share."""

    def of(self, mutant: Mutant) -> Finding:
        key = (mutant.tests, mutant.needs)
        if key not in self._unchanged:
            self._unchanged[key] = self._run(mutant, self.logs / f"{mutant.name}.unchanged.log")
        log = self.logs / f"{mutant.name}.log"
        if problem := _problem_of(self._unchanged[key], log):
            return Finding(mutant, "UNDECIDED", problem)
        try:
            with self.project.mutated(mutant):
                outcome = self._run(mutant, log)
        except MisfitError as fault:
            return Finding(mutant, "UNDECIDED", str(fault))
        verdict, reason = judge(outcome, read_failures(log))
        return Finding(mutant, verdict, reason, outcome.seconds)

    def _run(self, mutant: Mutant, log: Path) -> Outcome:
        arguments = [*ALWAYS, *OPTIONS[mutant.needs], *mutant.tests]
        return run_pytest(arguments, log, folder=self.project.root, environment=self.project.environment)


def _problem_of(unchanged: Outcome, log: Path) -> str | None:
    """Why the tests say nothing of a mutant: they fail without it, or there are none."""
    if not unchanged.has_passed:
        failed = ", ".join(unchanged.failed) or f"pytest ended with {unchanged.exit_code}"
        return f"the tests fail without it: {failed}; see {log.parent}"
    return None if unchanged.tests else "none of its tests runs on this machine"


def judge(changed: Outcome, failures: Mapping[str, str]) -> tuple[Verdict, str]:
    """What a run with a mutant shows. A test that stops by another error than an assertion has checked nothing."""
    if changed.has_passed:
        return "SURVIVED", f"{changed.tests} tests pass with it"
    for test, said in failures.items():
        if said.startswith(BY_ASSERTION):
            return "noticed", test
    said = next(iter(failures.values()), "").partition("\n")[0]
    failed = next(iter(changed.failed), f"pytest ended with {changed.exit_code}")
    return "UNDECIDED", f"no assertion failed, but {failed}{said and f': {said}'}"


def table(findings: Sequence[Finding]) -> Sequence[str]:
    """A row for each mutant, as Markdown."""
    rows = [
        f"| {one.mutant.name} | {one.mutant.invariant} | {one.verdict} | {one.reason} | {one.seconds:.1f} |"
        for one in findings
    ]
    return ["| mutant | invariant | | by | seconds |", "|---|---|---|---|---|", *rows]
