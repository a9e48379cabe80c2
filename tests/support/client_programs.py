"""Runs programs of other authors as on a machine of their own: with an empty home and no network but loopback."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from local.emulator import PROJECT

NODE_MODULES = PROJECT / ".tools/node/node_modules"
NODE_PROGRAMS = NODE_MODULES / ".bin"
PROGRAM_TIMEOUT = 60.0
_NOWHERE = "http://127.0.0.1:9"


def build_environment(home: Path) -> Mapping[str, str]:
    """Return an environment in which connections beyond loopback are refused."""
    npx = Path(shutil.which("npx") or "npx")
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(NODE_PROGRAMS), os.defpath, str(npx.parent)]),
        "HTTP_PROXY": _NOWHERE,
        "HTTPS_PROXY": _NOWHERE,
        "NO_PROXY": "localhost,127.0.0.1,::1",
        "NODE_USE_ENV_PROXY": "1",
        "npm_config_offline": "true",
        "DISABLE_TELEMETRY": "1",
    }


def run_program(
    command: Sequence[str | Path],
    home: Path,
    *,
    within: float = PROGRAM_TIMEOUT,
    added_environment: Mapping[str, str] | None = None,
) -> str:
    """Run the program and return its output, stdout and stderr together. A program that takes too long is killed with
    all processes that it started."""
    with subprocess.Popen(
        command,
        cwd=home,
        env={**build_environment(home), **(added_environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as program:
        try:
            output = program.communicate(timeout=within)[0].decode()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
    assert program.returncode == 0, output
    return output
