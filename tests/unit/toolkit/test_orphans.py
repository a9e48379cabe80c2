"""What a function started and left behind is found by what the system says, where it says it."""

import os
import subprocess
from pathlib import Path

import pytest

from signpost.toolkit.orphans import OrphanTracker, Process, kill_processes
from tests.support.waiting import wait_for


def test_a_process_and_its_children_are_found_and_killed() -> None:
    leftovers = OrphanTracker()
    with subprocess.Popen("sleep 60 & wait", shell=True) as shell:  # noqa: S602 - for its child
        # A new process has its parent's name until it runs its own program.
        found = wait_for(
            "the shell and its child",
            leftovers.processes,
            lambda processes: [process.command for process in processes] == ["sh", "sleep"],
        )
        kill_processes(found)
    assert [(process.command, process.parent) for process in found] == [("sh", os.getpid()), ("sleep", shell.pid)]
    assert leftovers.processes() == []


def test_a_process_that_has_ended_is_no_orphan() -> None:
    leftovers = OrphanTracker()
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert leftovers.processes() == []


def test_killing_a_process_that_is_gone_is_no_error() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    kill_processes([Process(process.pid, "true", os.getpid())])


def test_a_system_without_process_information_has_no_orphans(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("signpost.toolkit.orphans.PROC", str(tmp_path))
    assert list(OrphanTracker().processes()) == []
