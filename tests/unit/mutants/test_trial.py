"""A mutant counts as noticed only if an assertion fails that holds without it."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from local.pytest_run import Outcome
from tests.mutants.__main__ import choose_mutants
from tests.mutants.copied_project import CopiedProject, copy_project
from tests.mutants.mutant import Mutant
from tests.mutants.trial import Finding, MutantTrial, format_table, judge_run

TESTS = """\
import os

import thing


def test_double():
    assert thing.double(2) == 4


def test_it_runs_as_make_test_does():
    assert os.environ["SIGNPOST_PROVE"] == "0"


def test_wrong():
    assert thing.double(2) == 5
"""
DOUBLE = "test_thing.py::test_double"
MUTANT = Mutant("a-mutant", 1, "layers/shared/python/thing.py", "2 * n", "3 * n", (DOUBLE,))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with a single module, and git that knows its files."""
    root = tmp_path_factory.mktemp("project")
    (root / "layers/shared/python").mkdir(parents=True)
    (root / "layers/shared/python/thing.py").write_text("import json\n\n\ndef double(n):\n    return 2 * n\n")
    (root / "test_thing.py").write_text(TESTS)
    (root / "pyproject.toml").write_text("[tool.pytest]\nmarkers = ['cloud']\n")
    (root / ".gitignore").write_text(".venv/\n")
    (root / ".venv").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


@pytest.fixture(scope="module")
def copied(project: Path) -> Iterator[CopiedProject]:
    with copy_project(project) as copied:
        yield copied


@pytest.fixture(scope="module")
def trial(copied: CopiedProject, tmp_path_factory: pytest.TempPathFactory) -> MutantTrial:
    """Of the module, since it remembers which tests pass without a mutant."""
    return MutantTrial(copied, tmp_path_factory.mktemp("logs"))


def test_a_copy_has_every_file_and_links_to_folders_that_git_ignores(project: Path, copied: CopiedProject) -> None:
    assert (copied.root / "test_thing.py").read_text() == TESTS
    assert (copied.root / ".venv").is_symlink()
    assert (copied.root / ".venv").resolve() == project / ".venv"
    assert not (copied.root / ".git").exists()


def test_a_mutant_changes_only_the_copy_and_only_for_its_trial(project: Path, copied: CopiedProject) -> None:
    with copied.apply_mutant(MUTANT):
        assert "3 * n" in (copied.root / MUTANT.file).read_text()
        assert "3 * n" not in (project / MUTANT.file).read_text()
    with pytest.raises(KeyboardInterrupt), copied.apply_mutant(MUTANT):
        raise KeyboardInterrupt
    assert (copied.root / MUTANT.file).read_text() == (project / MUTANT.file).read_text()


def test_a_mutant_is_noticed_by_a_test_that_fails_with_it_alone(trial: MutantTrial) -> None:
    found = trial.try_mutant(replace(MUTANT, tests=("test_thing.py::test_it_runs_as_make_test_does", DOUBLE)))
    assert (found.verdict, found.reason) == ("noticed", DOUBLE)


def test_a_mutant_that_changes_nothing_survives(trial: MutantTrial) -> None:
    found = trial.try_mutant(replace(MUTANT, instead="n + n"))
    assert (found.verdict, found.reason) == ("SURVIVED", "1 tests pass with it")


def test_a_mutant_that_cannot_be_imported_is_not_noticed(trial: MutantTrial) -> None:
    found = trial.try_mutant(replace(MUTANT, there="import json", instead="import no_such_module"))
    assert found.verdict == "UNDECIDED"
    assert found.reason.startswith("no assertion failed, but ")


def test_a_test_that_fails_without_the_mutant_notices_nothing(trial: MutantTrial) -> None:
    found = trial.try_mutant(replace(MUTANT, tests=("test_thing.py::test_wrong",)))
    assert found.verdict == "UNDECIDED"
    assert found.reason.startswith("the tests fail without it: test_thing.py::test_wrong")


def test_skipped_tests_notice_no_mutant(copied: CopiedProject, trial: MutantTrial) -> None:
    """As those of an engine that is not published for this machine."""
    skipped = "import pytest\n\n\n@pytest.mark.skip\ndef test_it():\n    assert False\n"
    (copied.root / "test_skipped.py").write_text(skipped)
    found = trial.try_mutant(replace(MUTANT, tests=("test_skipped.py",)))
    assert (found.verdict, found.reason) == ("UNDECIDED", "none of its tests runs on this machine")


def test_a_mutant_that_does_not_fit_is_named(trial: MutantTrial) -> None:
    found = trial.try_mutant(replace(MUTANT, there="4 * n"))
    assert found.verdict == "UNDECIDED"
    assert "cannot be applied" in found.reason


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("assert 6 == 4", "noticed"),
        ("AssertionError: two times two\nassert 6 == 4", "noticed"),
        ("Failed: DID NOT RAISE <class 'ValueError'>", "noticed"),
        ("KeyError: 'expires_at'", "UNDECIDED"),
        ("ModuleNotFoundError: No module named 'thing'", "UNDECIDED"),
        ("", "UNDECIDED"),
    ],
)
def test_only_a_failed_assertion_notices_a_mutant(said: str, verdict: str) -> None:
    assert judge_run(Outcome(1, 1.0, 1, (DOUBLE,)), {DOUBLE: said})[0] == verdict


@pytest.mark.parametrize("exit_code", [1, 2, 3, -9])
def test_a_run_without_a_failed_test_is_undecided(exit_code: int) -> None:
    assert judge_run(Outcome(exit_code, 1.0), {})[0] == "UNDECIDED"


def test_the_table_has_a_row_for_each_mutant() -> None:
    lines = format_table(
        [Finding(MUTANT, "noticed", DOUBLE, 1.25), Finding(MUTANT, "SURVIVED", "1 tests pass with it")]
    )
    assert lines[2:] == [
        f"| a-mutant | 1 | noticed | {DOUBLE} | 1.2 |",
        "| a-mutant | 1 | SURVIVED | 1 tests pass with it | 0.0 |",
    ]


def test_mutants_on_the_cloud_are_left_out_unless_requested() -> None:
    mutants = [MUTANT, replace(MUTANT, name="on-the-cloud", needs="cloud")]
    assert [one.name for one in choose_mutants(mutants, (), cloud=False)] == ["a-mutant"]
    assert [one.name for one in choose_mutants(mutants, (), cloud=True)] == ["a-mutant", "on-the-cloud"]
    assert [one.name for one in choose_mutants(mutants, ("on-the-cloud",), cloud=True)] == ["on-the-cloud"]
    assert choose_mutants(mutants, ("on-the-cloud",), cloud=False) == []
