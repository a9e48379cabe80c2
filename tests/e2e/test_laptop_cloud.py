"""`make run` as a process: what it says, what survives, and what it does when the emulator is killed."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TextIO

import pytest

from local.errors import CloudError
from local.ports import Ports, ensure_free, free_port
from tests.support.memory_gateway import modern

pytestmark = pytest.mark.cloud
PATIENCE = 120


class MakeRun:
    """`python -m local run`, which is what `make run` runs, with its output in a file."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.port = port
        self._log = home.with_suffix(".log")
        self._child: subprocess.Popen[bytes] | None = None
        self._out: TextIO | None = None

    @property
    def said(self) -> str:
        return self._log.read_text()

    def start(self) -> None:
        with self._log.open("w") as out:
            command = [sys.executable, "-m", "local", "run", "--home", str(self.home), "--port", str(self.port)]
            self._child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        self.wait_for("Signpost answers on")

    def stop(self) -> int:
        """Ctrl-C."""
        child, self._child = self._child, None
        if child is None:
            return 0
        child.send_signal(signal.SIGINT)
        return child.wait(PATIENCE)

    def kill_everything(self) -> None:
        assert self._child is not None
        self._child.kill()
        self._child.wait()
        self.kill_the_emulator()
        self._child = None

    def kill_the_emulator(self) -> None:
        os.kill(int((self.home / "emulator" / "pid").read_text()), signal.SIGKILL)

    @property
    def key(self) -> str:
        found = re.search(r"sp_default_[0-9a-f]+_[0-9a-f]+", self.said)
        assert found
        return found[0]

    def answers(self, key: str) -> bool:
        message, headers = modern("tools/call", {"name": "gateway.home", "arguments": {}})
        connection = HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            connection.request("POST", "/mcp", json.dumps(message), {**headers, "authorization": f"Bearer {key}"})
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def wait_for(self, words: str) -> None:
        self._wait(lambda: words in self.said, f"it never said {words!r}")

    def wait_until_it_answers(self, key: str) -> None:
        self._wait(lambda: self.answers(key), "it never answered")

    def _wait(self, happened: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            if time.monotonic() > deadline or (self._child is not None and self._child.poll() is not None):
                pytest.fail(f"{otherwise}:\n{self.said}")
            time.sleep(0.1)  # a real process: there is no clock to turn


@pytest.fixture(scope="module")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRun]:
    running = MakeRun(tmp_path_factory.mktemp("cloud") / "home", _three_free_ports())
    try:
        yield running
    finally:
        running.stop()


def _three_free_ports() -> int:
    """The first of three in a row."""
    while True:
        ports = Ports(free_port())
        with contextlib.suppress(CloudError, OverflowError):
            for port in ports:
                ensure_free(port)
            return ports.door


def test_it_starts_serves_stops_and_keeps_its_data(make_run: MakeRun) -> None:
    make_run.start()
    key = make_run.key
    assert make_run.answers(key)
    assert "claude mcp add" in make_run.said
    assert make_run.stop() == 0
    began = time.monotonic()
    make_run.start()
    assert time.monotonic() - began < 15
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
    running = MakeRun(tmp_path / "home", _three_free_ports())
    running.start()
    key = running.key
    running.kill_everything()
    running.start()
    try:
        assert "nothing had been saved yet" in running.said
        assert "deploying the stack" in running.said
        running.wait_until_it_answers(key)
    finally:
        running.stop()
