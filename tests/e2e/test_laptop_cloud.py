"""`make run` as a process: what it says, what survives, and what it does when the emulator is killed."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.machine import Machine
from tests.support.make_run import MakeRun, three_free_ports

pytestmark = pytest.mark.cloud

STARTS_AGAIN_WITHIN = 15.0
"""Seconds, of a cloud that has its stack already."""


@pytest.fixture(scope="module")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRun]:
    running = MakeRun(tmp_path_factory.mktemp("cloud") / "home", three_free_ports())
    try:
        yield running
    finally:
        running.stop()


def test_it_starts_serves_stops_and_keeps_its_data(make_run: MakeRun) -> None:
    make_run.start()
    key = make_run.key
    assert make_run.answers(key)
    assert "claude mcp add" in make_run.said
    assert make_run.stop() == 0
    with Machine() as machine:
        began = time.monotonic()
        make_run.start()
        took = time.monotonic() - began
    assert took < machine.seconds(STARTS_AGAIN_WITHIN)
    assert "deploying" not in make_run.said
    assert make_run.key == key
    assert make_run.answers(key)
    assert make_run.stop() == 0


@pytest.mark.invariant(18)
def test_when_the_emulator_is_killed_it_comes_back_and_says_what_was_lost(make_run: MakeRun) -> None:
    make_run.start()
    key = make_run.key
    make_run.kill_the_emulator()
    make_run.wait_for("serving again")
    assert re.search(r"changes since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d are lost", make_run.said)
    make_run.wait_until_it_answers(key)


@pytest.mark.invariant(18)
def test_when_everything_is_killed_the_next_start_brings_the_stack_back(make_run: MakeRun) -> None:
    key = make_run.key
    make_run.kill_everything()
    make_run.start()
    assert "are lost" in make_run.said
    make_run.wait_until_it_answers(key)
    assert make_run.stop() == 0


def test_a_stack_that_was_never_saved_is_deployed_again(tmp_path: Path) -> None:
    running = MakeRun(tmp_path / "home", three_free_ports())
    running.start()
    key = running.key
    running.kill_everything()
    running.start()
    try:
        assert "it had saved nothing before" in running.said
        assert "deploying the stack" in running.said
        running.wait_until_it_answers(key)
    finally:
        running.stop()
