"""How the emulator is started with its additions."""

import subprocess
from pathlib import Path

import pytest

from local.emulator_app import RECORD
from local.stack import PROJECT


def start_with(change: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Start the program in the emulator's interpreter, after a change to the emulator."""
    program = f"""
import os, runpy, ministack.app as app, ministack.core.iam_evaluator as evaluator
{change}
runpy.run_path({str(PROJECT / "local/emulator_app.py")!r}, run_name="__main__")
"""
    interpreter = PROJECT / ".tools/emulator/bin/python"
    environment = {
        RECORD: str(folder / "record"),
        "PATH": "/usr/bin:/bin",
        "STATE_DIR": str(folder),
        "HOME": str(folder),
    }
    command = [interpreter, "-P", "-c", program]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.cloud
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("del evaluator.evaluate", "has no evaluate("),
        ("evaluator.enforce = lambda request: None", "has no enforce("),
        ("app.enforce = evaluator.enforce", "binds enforce"),
    ],
)
def test_an_incompatible_emulator_is_not_started(change: str, named: str, tmp_path: Path) -> None:
    ended = start_with(f"app.main = lambda: print('started')\n{change}", tmp_path)
    assert ended.returncode == 1
    assert named in ended.stderr
    assert "started" not in ended.stdout


@pytest.mark.cloud
def test_functions_do_not_inherit_the_path_of_the_decision_record(tmp_path: Path) -> None:
    ended = start_with(f"app.main = lambda: print('inherits', {RECORD!r} in os.environ)", tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "inherits False" in ended.stdout
