"""`make run` as a process: what it says, what survives, and what it does when the emulator is killed."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.stack import PROJECT
from tests.support.make_run import MakeRunProcess, find_free_ports
from tests.support.receiver import ReceiverReply, start_receiver
from tests.support.slowdown import SlowdownMeter

pytestmark = pytest.mark.cloud

STARTS_AGAIN_WITHIN = 15.0
"""Seconds, of a cloud that has its stack already."""


@pytest.fixture(scope="module")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRunProcess]:
    running = MakeRunProcess(tmp_path_factory.mktemp("cloud") / "home", find_free_ports())
    try:
        yield running
    finally:
        running.stop()


def test_make_run_starts_serves_stops_and_keeps_its_data(make_run: MakeRunProcess) -> None:
    make_run.start()
    key = make_run.key
    assert make_run.is_answering(key)
    assert "claude mcp add" in make_run.output
    assert make_run.stop() == 0
    with SlowdownMeter() as machine:
        began = time.monotonic()
        make_run.start()
        took = time.monotonic() - began
    assert took < machine.extend(STARTS_AGAIN_WITHIN)
    assert "deploying" not in make_run.output
    assert make_run.key == key
    assert make_run.is_answering(key)
    assert make_run.stop() == 0


def test_the_resources_of_a_running_cloud_serve_local_invoke(make_run: MakeRunProcess, tmp_path: Path) -> None:
    make_run.start()
    resources = tmp_path / "resources.json"
    home = ["--home", str(make_run.home)]
    resources.write_text(run_module("local", "resources", *home))
    assert json.loads(resources.read_text())["RegistryTable"].startswith("signpost-")
    exported = re.findall(r"^export (AWS_\w+)=(\S+)$", run_module("local", "env", *home), re.MULTILINE)
    case = ["--function", "registry", "--case", "skills_register"]
    printed = run_module("local.invoke", "--resources", str(resources), *case, **dict(exported))
    assert "1 passed, 0 failed" in printed
    assert make_run.stop() == 0


def run_module(*arguments: str, **added: str) -> str:
    environment = {**os.environ, **added}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, env=environment, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.invariant(87)
def test_a_caller_reaches_no_port_of_the_machine_that_runs_make_run(make_run: MakeRunProcess) -> None:
    make_run.start()
    with start_receiver(lambda _: ReceiverReply(200, b"a secret of the developer")) as receiver:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            url = f"http://{host}:{receiver.server_port}/"
            _, text = make_run.call(make_run.key, "/mcp/flat", "skill:http_fetch", {"url": url})
            assert "is not a public address" in text or "may only be reached at port" in text, text
            assert "secret" not in text
    assert make_run.stop() == 0


@pytest.mark.invariant(18)
def test_make_run_restarts_a_killed_emulator_and_reports_lost_changes(make_run: MakeRunProcess) -> None:
    make_run.start()
    key = make_run.key
    make_run.kill_emulator()
    make_run.wait_for_output("serving again")
    assert re.search(r"changes since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d are lost", make_run.output)
    make_run.wait_until_answering(key)


@pytest.mark.invariant(18)
def test_make_run_restores_the_stack_after_all_processes_are_killed(make_run: MakeRunProcess) -> None:
    key = make_run.key
    make_run.kill()
    make_run.start()
    assert "are lost" in make_run.output
    make_run.wait_until_answering(key)
    assert make_run.stop() == 0


def test_make_run_deploys_a_stack_again_that_was_never_saved(tmp_path: Path) -> None:
    running = MakeRunProcess(tmp_path / "home", find_free_ports())
    running.start()
    key = running.key
    running.kill()
    running.start()
    try:
        assert "it had saved nothing before" in running.output
        assert "deploying the stack" in running.output
        running.wait_until_answering(key)
    finally:
        running.stop()
