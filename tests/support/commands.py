"""Runs the operator's commands as processes with AWS credentials."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.laptop import Laptop

type ProcessRunner = Callable[..., "subprocess.CompletedProcess[str]"]


def build_process_runner(laptop: Laptop, *, seconds: float = 60) -> ProcessRunner:
    """Return a runner of commands that take so many seconds at most."""
    environment: Mapping[str, str] = {**laptop.emulator.environment(), "PATH": os.environ["PATH"]}

    def run(*arguments: str, **added: str) -> "subprocess.CompletedProcess[str]":
        """Run a command. `added` are further environment variables."""
        command = [sys.executable, "-c", "import sys; from signpost.cli import main; sys.exit(main())", *arguments]
        return subprocess.run(
            command, env={**environment, **added}, capture_output=True, text=True, timeout=seconds, check=False
        )

    return run


def parse_json_lines(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]
