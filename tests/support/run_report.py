"""Shows the progress of a test run, one line for each file, and the time that its parts took at the end."""

import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from local.stack import PROJECT

LAST_RUN = PROJECT / ".local/tests/last-run.json"
SLOWEST_COUNT = 20
BUDGETS: Mapping[str, int] = {
    "acceptance": 120,
    "architecture": 20,
    "attacks": 60,
    "conformance": 60,
    "contract": 240,
    "differential": 20,
    "docs": 340,
    "e2e": 1950,
    "fuzz": 80,
    "interaction": 720,
    "local": 20,
    "model": 80,
    "unit": 400,
}
"""Seconds of one worker that the tests of a folder may take on a quiet machine, with coverage."""


@dataclass(slots=True, eq=False)
class RunReport:
    """A plugin of the process that the user started. Workers send it the reports of their tests."""

    shows_lines: bool
    """Whether a line is shown for each file, instead of pytest's dots."""
    has_all_tests: bool = False
    """Whether all tests were selected."""
    workers: int = 1
    started_at: float = field(default_factory=time.monotonic)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds by test, with its setup and its teardown."""
    expected: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The tests that have not ended, by file."""
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """The counts of outcomes by file."""
    files: int = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        del node
        if not self.expected:
            self._expect(ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        if self.shows_lines and report.passed:
            return ("passed" if report.when == "call" else "", "", "PASSED")
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        file = parse_file(report.nodeid)
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[file][report.outcome] += 1
        if report.when == "teardown" and report.nodeid in self.expected.get(file, ()):
            self.expected[file].discard(report.nodeid)
            if not self.expected[file]:
                self._show(file)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write = terminalreporter.write_line
        terminalreporter.section(f"slowest {SLOWEST_COUNT} tests")
        for nodeid, seconds in sorted(self.seconds.items(), key=lambda entry: -entry[1])[:SLOWEST_COUNT]:
            write(f"{seconds:8.1f} s  {nodeid}")
        terminalreporter.section("seconds of workers by folder")
        for folder, seconds in sorted(sum_by_folder(self.seconds).items()):
            budget = BUDGETS.get(folder, 0)
            write(f"{seconds:8.1f} s of {budget:5} s  {folder}{'' if seconds <= budget else '  OVER ITS BUDGET'}")
        write(f"{time.monotonic() - self.started_at:8.1f} s of wall time")
        self._keep()

    def _expect(self, ids: Sequence[str]) -> None:
        for nodeid in ids:
            self.expected[parse_file(nodeid)].add(nodeid)
        self.files = len(self.expected)

    def _show(self, file: str) -> None:
        if not self.shows_lines:
            return
        ended = sum(not left for left in self.expected.values())
        seconds = sum(duration for nodeid, duration in self.seconds.items() if parse_file(nodeid) == file)
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes[file].items()))
        wall = time.monotonic() - self.started_at
        sys.stdout.write(
            f"\n{wall // 60:3.0f}:{wall % 60:02.0f}  {ended:3} of {self.files} files  {file}: {counts}, {seconds:.1f} s"
        )
        sys.stdout.flush()

    def _keep(self) -> None:
        LAST_RUN.parent.mkdir(parents=True, exist_ok=True)
        taken = {nodeid: round(seconds, 3) for nodeid, seconds in sorted(self.seconds.items())}
        report = {
            "date": datetime.now(UTC).date().isoformat(),
            "wall": round(time.monotonic() - self.started_at, 1),
            "workers": self.workers,
            "is_whole": self.has_all_tests and bool(self.expected) and not any(self.expected.values()),
            "tests": taken,
        }
        LAST_RUN.write_text(json.dumps(report, indent=0))


def parse_file(nodeid: str) -> str:
    return nodeid.split("::", 1)[0]


def sum_by_folder(seconds: Mapping[str, float]) -> Mapping[str, float]:
    """Return the sums by the folder of `tests/` that a test lies in."""
    sums: dict[str, float] = defaultdict(float)
    for nodeid, taken in seconds.items():
        sums[parse_folder(nodeid)] += taken
    return sums


def parse_folder(nodeid: str) -> str:
    parts = Path(parse_file(nodeid)).parts
    return parts[1] if len(parts) > 2 else "tests"


def sum_by_file(seconds: Mapping[str, float]) -> Mapping[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for nodeid, taken in seconds.items():
        sums[parse_file(nodeid)] += taken
    return sums
