"""Runs `make run` as a process."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TextIO

import pytest

from local.errors import CloudError
from local.ports import Ports, ensure_free, free_port
from signpost.model import JsonObject
from tests.support.memory_gateway import build_modern_request

PATIENCE = 120


class MakeRunProcess:
    """`python -m local run`, the command of `make run`, with its output in a file."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.port = port
        self._log = home.with_suffix(".log")
        self._child: subprocess.Popen[bytes] | None = None
        self._out: TextIO | None = None

    @property
    def output(self) -> str:
        return self._log.read_text()

    def start(self) -> None:
        with self._log.open("w") as out:
            command = [sys.executable, "-m", "local", "run", "--home", str(self.home), "--port", str(self.port)]
            self._child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        self.wait_for_output("Signpost answers on")

    def stop(self) -> int:
        """Stop it as Ctrl-C does, and return its exit code."""
        child, self._child = self._child, None
        if child is None:
            return 0
        child.send_signal(signal.SIGINT)
        return child.wait(PATIENCE)

    def kill(self) -> None:
        assert self._child is not None
        self._child.kill()
        self._child.wait()
        self.kill_emulator()
        self._child = None

    def kill_emulator(self) -> None:
        os.kill(int((self.home / "emulator" / "pid").read_text()), signal.SIGKILL)

    @property
    def key(self) -> str:
        found = re.search(r"sp_default_[0-9a-f]+_[0-9a-f]+", self.output)
        assert found
        return found[0]

    def is_answering(self, key: str) -> bool:
        try:
            return self.call(key, "/mcp", "gateway.home", {})[0] == 200
        except (OSError, HTTPException):
            return False

    def call(self, key: str, path: str, tool: str, arguments: JsonObject) -> tuple[int, str]:
        """Call a tool, and return the status and the text of the answer."""
        message, headers = build_modern_request("tools/call", {"name": tool, "arguments": arguments})
        connection = HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            connection.request("POST", path, json.dumps(message), {**headers, "authorization": f"Bearer {key}"})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def wait_for_output(self, text: str) -> None:
        self._wait(lambda: text in self.output, f"{text!r} did not appear in its output")

    def wait_until_answering(self, key: str) -> None:
        self._wait(lambda: self.is_answering(key), "the gateway did not answer")

    def _wait(self, condition: Callable[[], bool], failure: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline or (self._child is not None and self._child.poll() is not None):
                pytest.fail(f"{failure}:\n{self.output}")
            time.sleep(0.1)  # a real process: there is no clock to turn


def find_free_ports() -> int:
    """Return the first of three consecutive free ports."""
    while True:
        ports = Ports(free_port())
        with contextlib.suppress(CloudError, OverflowError):
            for port in ports:
                ensure_free(port)
            return ports.door
