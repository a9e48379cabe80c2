"""A proof goes on where it stopped, and believes nothing that was found with other sources."""

import io
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from local.affected.changes import Repository
from local.progress import Progress
from local.prove.page import PAGE, TABLE, format_report, format_table
from local.prove.parts import ATTACKS, CHECKS, CLIENTS, MUTANTS, Part, find_parts
from local.prove.records import Records, digest_sources
from local.prove.run import Proof, run_part
from local.pytest_run import Outcome

PARTS = [
    Part("make check", command=("make", "check")),
    Part("one", ("tests/e2e/one.py",)),
    Part("two", ("tests/e2e/two.py",)),
]
PASSED = Outcome(0, 90.0, tests=7, skipped=("tests/e2e/one.py::test_x: no such engine",))
FAILED = Outcome(1, 30.0, tests=7, failed=("tests/e2e/two.py::test_a", "tests/e2e/two.py::test_b"))


@dataclass
class Runner:
    """Stands for the processes: it answers what it is told to, and notes which parts it was asked to run."""

    folder: Path
    outcomes: dict[str, Outcome | BaseException] = field(default_factory=dict[str, Outcome | BaseException])
    ran: list[str] = field(default_factory=list[str])
    sources: str = "the sources"
    meanwhile: Callable[[], None] = lambda: None
    out: io.StringIO = field(default_factory=io.StringIO)

    def __call__(self, part: Part, log: Path, watch: Callable[[], None]) -> Outcome:
        del log  # nothing is written
        self.ran.append(part.name)
        watch()
        self.meanwhile()
        outcome = self.outcomes.get(part.name, PASSED)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def proof(self) -> Proof:
        noon = datetime(2026, 11, 19, 12, tzinfo=UTC)
        return Proof(PARTS, Records(self.folder), lambda: self.sources, self, Progress(self.out), lambda: noon)

    def again(self, *, fresh: bool = False) -> Sequence[str]:
        self.ran.clear()
        self.proof().run(PARTS, fresh=fresh)
        return self.ran


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def passed_parts(runner: Runner) -> Iterable[str]:
    return [record.part for record in runner.proof().results()[0] if record.has_passed]


def test_passed_parts_are_not_run_again_unless_requested(runner: Runner) -> None:
    assert runner.again() == ["make check", "one", "two"]
    assert passed_parts(runner) == ["make check", "one", "two"]
    assert runner.again() == []
    assert "2 of 3  one: passed on 2026-11-19 12:00" in runner.out.getvalue()
    assert runner.again(fresh=True) == ["make check", "one", "two"]


def test_an_interrupted_proof_continues_with_its_interrupted_part(runner: Runner) -> None:
    runner.outcomes["one"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        runner.again()
    assert runner.ran == ["make check", "one"]
    records, missing = runner.proof().results()
    assert ([record.part for record in records], missing) == (["make check"], ["one", "two"])
    runner.outcomes.clear()
    assert runner.again() == ["one", "two"]
    assert runner.proof().results()[1] == []


def test_a_failed_part_stops_no_other_and_runs_again(runner: Runner) -> None:
    runner.outcomes["one"] = FAILED
    runner.again()
    assert runner.ran == ["make check", "one", "two"]
    assert passed_parts(runner) == ["make check", "two"]
    printed = runner.out.getvalue().splitlines()
    assert "    failed: tests/e2e/two.py::test_b" in printed
    assert [line[:13] for line in printed if line[0] in "✓✗"] == ["✓ 1 of 3  mak", "✗ 2 of 3  one", "✓ 3 of 3  two"]
    assert runner.again() == ["one"]


def test_a_command_that_fails_without_tests_has_failed(runner: Runner) -> None:
    runner.outcomes["make check"] = Outcome(2, 1.0)
    runner.again()
    assert passed_parts(runner) == ["one", "two"]
    assert "    it exited with code 2" in runner.out.getvalue().splitlines()


def test_changed_sources_make_everything_run_again(runner: Runner) -> None:
    runner.again()
    runner.sources = "other sources"
    assert passed_parts(runner) == []
    assert runner.again() == ["make check", "one", "two"]


def test_a_part_that_ran_while_sources_changed_does_not_count(runner: Runner) -> None:
    def edit() -> None:
        if runner.ran[-1] == "one":
            runner.sources = "edited"

    runner.meanwhile = edit
    runner.again()
    assert passed_parts(runner) == ["two"]
    assert "The sources changed while this part ran" in runner.out.getvalue()
    assert runner.again() == ["make check", "one"]


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"outcome": 1}', '{"part": "one"}'])
def test_an_unreadable_record_is_ignored(runner: Runner, kept: str) -> None:
    runner.again()
    (runner.folder / "parts/one.json").write_text(kept)
    assert runner.again() == ["one"]


def test_the_report_has_a_row_for_each_part_and_names_failed_tests(runner: Runner) -> None:
    runner.outcomes |= {"one": FAILED, "two": KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        runner.again()
    lines = format_report(*runner.proof().results(), "the sources").splitlines()
    assert lines[2].startswith("**Failed**: one. 14 tests in 2 parts")
    assert "| make check | 7 | 0 | 1 | 90 | 2026-11-19 12:00 | passed |" in lines
    assert "| one | 7 | 2 | 0 | 30 | 2026-11-19 12:00 | FAILED |" in lines
    assert "| two | | | | | | not run |" in lines
    assert "- tests/e2e/two.py::test_a" in lines
    assert "- tests/e2e/one.py::test_x: no such engine" in lines


def test_the_page_has_a_row_for_each_folder(runner: Runner) -> None:
    assert format_table(*runner.proof().results()) == "No part has run yet.\n"
    runner.outcomes["two"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        runner.again()
    assert format_table(*runner.proof().results()).startswith("**Incomplete**: 1 parts have not passed")
    runner.outcomes.clear()
    runner.again()
    lines = format_table(*runner.proof().results()).splitlines()
    assert lines[0].startswith("**All parts passed**: 21 tests in 3 parts, 0.1 hours. It ran from 2026-11-19 12:00")
    assert lines[-1] == "| e2e | 2 | 14 | 0 | 2 | 3.0 |"


def test_the_table_of_the_page_is_replaced_and_a_page_without_a_place_is_refused() -> None:
    text = f"# Benchmarks\n\n{TABLE.begin}\nold\n{TABLE.end}\n\nMore.\n"
    once = TABLE.replaced(text, "new\n")
    assert "old" not in once
    assert TABLE.replaced(once, "newer\n") == TABLE.replaced(text, "newer\n")
    assert once.endswith(f"new\n{TABLE.end}\n\nMore.\n")
    with pytest.raises(ValueError, match="must have the lines"):
        TABLE.replaced("# Benchmarks\n", "new\n")


def test_the_digest_of_the_sources_covers_all_files_except_the_table(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / PAGE).write_text(f"Before.\n{TABLE.begin}\nold\n{TABLE.end}\nAfter.\n")
    (tmp_path / "code.py").write_text("one")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    repository = Repository(tmp_path)
    before = digest_sources(repository)
    (tmp_path / PAGE).write_text(f"Before.\n{TABLE.begin}\nnew\n{TABLE.end}\nAfter.\n")
    assert digest_sources(repository) == before
    (tmp_path / PAGE).write_text(f"Before.\n{TABLE.begin}\nnew\n{TABLE.end}\nAfterwards.\n")
    other_page = digest_sources(repository)
    (tmp_path / "code.py").write_text("two")
    assert len({before, other_page, digest_sources(repository)}) == 3


def test_slow_files_and_files_with_more_effort_are_parts_of_their_own(tmp_path: Path) -> None:
    for name, text in {
        "unit/test_a.py": "",
        "unit/deep/test_b.py": "",
        "unit/test_more.py": "from tests.support.effort import times\n",
        "unit/test_marked.py": "import pytest\n\n\n@pytest.mark.prove\ndef test_x(): ...\n",
        "e2e/test_c.py": "",
        "e2e/conftest.py": "",
    }.items():
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name).write_text(text)
    found = find_parts(tmp_path)
    assert list(found[: len(CHECKS)]) == list(CHECKS)
    assert list(found[len(CHECKS) + 1 : len(CHECKS) + 3]) == [ATTACKS, CLIENTS], "slow files read their tables"
    assert found[-1] == MUTANTS
    assert [part.tests for part in found[len(CHECKS) : -1]] == [
        ("tests/unit/deep/test_b.py", "tests/unit/test_a.py"),
        (),
        (),
        ("tests/e2e/test_c.py",),
        ("tests/unit/test_marked.py",),
        ("tests/unit/test_more.py",),
    ]
    assert [part.folder for part in found[len(CHECKS) : -1]] == ["unit", "attacks", "clients", "e2e", "unit", "unit"]


def test_a_part_runs_as_a_proof(tmp_path: Path) -> None:
    """In a process of its own, whose environment says so."""
    test = tmp_path / "test_environment.py"
    test.write_text("import os\n\n\ndef test_it():\n    assert os.environ['SIGNPOST_PROVE'] == '1'\n")
    outcome = run_part(Part("p", (str(test), f"--rootdir={tmp_path}")), tmp_path / "log", lambda: None, workers=1)
    assert (outcome.exit_code, outcome.tests, outcome.failed) == (0, 1, ())
    command = Part("c", command=("sh", "-c", 'test "$SIGNPOST_PROVE" = 1 && exit 3'))
    assert run_part(command, tmp_path / "log", lambda: None, workers=1).exit_code == 3


def test_a_part_that_is_interrupted_leaves_no_process(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = Part("c", command=("sh", "-c", f"echo $$ > {pid}; exec sleep 600"))

    def interrupt() -> None:
        if pid.exists() and pid.read_text().endswith("\n"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_part(command, tmp_path / "log", interrupt, workers=1)
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_part_can_be_interrupted_if_the_proof_runs_in_the_background(tmp_path: Path) -> None:
    """A shell starts background jobs with SIGINT ignored."""
    log, handler = tmp_path / "log", signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run_part(Part("c", command=("grep", "SigIgn", "/proc/self/status")), log, lambda: None, workers=1)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, handler)
    ignored = int(log.read_text().split()[-1], 16)
    assert not ignored & 1 << signal.SIGINT - 1
