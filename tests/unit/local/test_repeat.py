"""Tests that are run again and again: what is counted, and that the load ends with the run."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.pytest_run import Outcome, read_outcome, run_pytest
from local.repeat import keep_cores_busy, repeat
from tests.support.function_host import list_child_processes

FLAKY_TESTS = """
from pathlib import Path

import pytest

COUNT = Path(__file__).parent / "count"


def test_every_third_time():
    COUNT.write_text(COUNT.read_text() + "x" if COUNT.exists() else "x")
    assert len(COUNT.read_text()) % 3


class TestInAClass:
    @pytest.mark.parametrize("text", ["a.b", "c::d"])
    def test_text(self, text):
        assert text != "c::d"


@pytest.mark.skip(reason="not today")
def test_skipped(): ...


def test_passes(): ...
"""


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    path = tmp_path / "test_sometimes.py"
    path.write_text(FLAKY_TESTS)
    return path


def rounds(*outcomes: Outcome) -> tuple[int, str]:
    each: Iterator[Outcome] = iter(outcomes)
    out = io.StringIO()
    return repeat(len(outcomes), lambda _: next(each), Path("nowhere"), out), out.getvalue()


def test_rounds_that_pass_are_counted() -> None:
    good = Outcome(0, 1.25, tests=3, skipped=("t: no",))
    code, printed = rounds(good, good)
    assert code == 0
    assert printed.splitlines() == [
        "round 1 of 2: 3 passed, 0 failed, 1 skipped, 1.2 s",
        "round 2 of 2: 3 passed, 0 failed, 1 skipped, 1.2 s",
        "2 of 2 rounds passed.",
    ]


def test_a_failure_stops_nothing_and_is_counted_by_test() -> None:
    code, printed = rounds(
        Outcome(1, 1, tests=2, failed=("a", "b")), Outcome(0, 1, tests=2), Outcome(1, 1, tests=2, failed=("b",))
    )
    assert code == 1
    assert printed.splitlines()[-3:] == ["    2 of 3 failed: b", "    1 of 3 failed: a", "1 of 3 rounds passed."]


def test_a_run_that_does_not_begin_is_not_repeated() -> None:
    code, printed = rounds(Outcome(4, 1), Outcome(0, 1))
    assert code == 1
    assert printed.splitlines() == ["round 1 of 2: pytest did not run the tests.", ""]


def test_the_failures_of_real_rounds_are_found_and_their_output_is_kept(tests: Path, tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", io.StringIO()
    arguments = ["-p", "no:cacheprovider", f"--rootdir={tmp_path}", f"--confcutdir={tmp_path}", "-c", os.devnull]
    code = repeat(3, lambda log: run_pytest([*arguments, str(tests)], log), logs, out)
    assert code == 1
    *_, often, once, summed = out.getvalue().splitlines()
    assert often == "    3 of 3 failed: test_sometimes.py::TestInAClass::test_text[c::d]"
    assert once == "    1 of 3 failed: test_sometimes.py::test_every_third_time"
    assert summed == "0 of 3 rounds passed."
    assert "round 1 of 3: 3 passed, 1 failed, 1 skipped" in out.getvalue()
    assert "assert text !=" in (logs / "round-1.log").read_text()


@pytest.mark.parametrize("exit_code", [0, 1, 3, -9])
def test_a_run_without_a_result_has_neither_passed_nor_ended(tmp_path: Path, exit_code: int) -> None:
    outcome = read_outcome(tmp_path / "missing.xml", exit_code, 1.0)
    assert not outcome.has_passed
    assert not outcome.is_complete


def test_the_load_ends_with_the_run() -> None:
    before = list_child_processes()
    with keep_cores_busy(2):
        assert len(list_child_processes() - before) == 2
    assert list_child_processes() <= before
