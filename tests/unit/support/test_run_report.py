"""The report of a run: a line a file, the slowest tests, the seconds of each folder."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import run_report, schedule
from tests.support.run_report import RunReport
from tests.support.times_page import insert_times


def report(nodeid: str, when: str, seconds: float, outcome: str = "passed") -> Any:
    return SimpleNamespace(nodeid=nodeid, when=when, duration=seconds, outcome=outcome, passed=outcome == "passed")


class Terminal:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def section(self, title: str) -> None:
        self.lines.append(title)

    def write_line(self, line: str) -> None:
        self.lines.append(line)


A, B, SLOW = "tests/unit/test_a.py::test_one", "tests/unit/test_a.py::test_two", "tests/e2e/test_b.py::test_slow"


@pytest.fixture
def finished_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> RunReport:
    del capsys  # it has to be there before anything is written
    monkeypatch.setattr(run_report, "LAST_RUN", tmp_path / "run/last.json")
    monkeypatch.setattr(schedule, "LAST_RUN", tmp_path / "run/last.json")
    monkeypatch.setattr(schedule, "SECONDS_FILE", tmp_path / "seconds.json")
    found = RunReport(shows_lines=True)
    found.pytest_xdist_node_collection_finished(None, [A, B, SLOW])
    found.pytest_xdist_node_collection_finished(None, [A, B, SLOW])
    for nodeid, seconds in ((A, 1.0), (B, 2.0), (SLOW, 4000.0)):
        outcome = "failed" if nodeid == B else "passed"
        found.pytest_runtest_logreport(report(nodeid, "setup", 0.5))
        found.pytest_runtest_logreport(report(nodeid, "call", seconds, outcome))
        found.pytest_runtest_logreport(report(nodeid, "teardown", 0.5))
    return found


def test_a_file_has_a_line_when_its_last_test_has_ended(
    finished_report: RunReport, capsys: pytest.CaptureFixture[str]
) -> None:
    del finished_report
    lines = [line.split("  ", 1)[1].strip() for line in capsys.readouterr().out.split("\n") if line]
    assert [line.rpartition("  ")[2] for line in lines] == [
        "tests/unit/test_a.py: 1 failed, 1 passed, 5.0 s",
        "tests/e2e/test_b.py: 1 passed, 4001.0 s",
    ]


def test_the_summary_names_the_slowest_and_the_folders_over_their_budget(finished_report: RunReport) -> None:
    terminal = Terminal()
    finished_report.pytest_terminal_summary(terminal)
    text = "\n".join(terminal.lines)
    assert text.index(SLOW) < text.index(B) < text.index(A)
    (e2e,) = [line for line in terminal.lines if line.endswith("e2e  OVER ITS BUDGET")]
    assert e2e.split()[0] == "4001.0"
    assert any(line.endswith("s  unit") for line in terminal.lines)


def test_the_next_run_begins_with_the_slowest_files(finished_report: RunReport) -> None:
    finished_report.pytest_terminal_summary(Terminal())
    schedule.store_last_run()
    assert json.loads(schedule.SECONDS_FILE.read_text()) == {"tests/e2e/test_b.py": 4001, "tests/unit/test_a.py": 5}
    items: list[Any] = [SimpleNamespace(nodeid=nodeid) for nodeid in (A, "tests/unit/test_new.py::t", B, SLOW)]
    schedule.sort_by_length(items)
    assert [item.nodeid for item in items] == [SLOW, A, B, "tests/unit/test_new.py::t"]


def test_a_run_of_some_files_leaves_the_others_in_the_table(finished_report: RunReport) -> None:
    known = {"tests/conftest.py": 7, "tests/unit/test_a.py": 99, "tests/unit/test_gone.py": 8}
    schedule.SECONDS_FILE.write_text(json.dumps(known))
    finished_report.pytest_terminal_summary(Terminal())
    schedule.store_last_run()
    assert json.loads(schedule.SECONDS_FILE.read_text()) == {
        "tests/e2e/test_b.py": 4001,
        "tests/conftest.py": 7,
        "tests/unit/test_a.py": 5,
    }


def test_the_page_of_times_has_a_row_for_each_folder(finished_report: RunReport) -> None:
    finished_report.pytest_terminal_summary(Terminal())
    run = json.loads(run_report.LAST_RUN.read_text())
    page = insert_times("Before.\n<!-- times -->\nNot measured yet.\n<!-- /times -->\nAfter.\n", run)
    assert page.startswith("Before.\n<!-- times -->\nOn ")
    assert page.endswith("<!-- /times -->\nAfter.\n")
    assert "Not measured" not in page
    budget = run_report.BUDGETS["e2e"]
    assert f"| `tests/e2e` | 1 | 4001 | {budget} | `test_b.py`, 4001 s |\n| `tests/unit` | 2 | 5 |" in page
