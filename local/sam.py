"""Runs the commands of SAM, with the project's tools and without settings of an AWS account."""

import contextlib
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from local.emulator import PROJECT, REGION
from local.errors import CloudError
from local.processes import stop_group, tail
from local.progress import Step

SAM = PROJECT / ".tools/sam/bin/sam"
_SECONDS_TO_END_SAM = 10.0
_LINES_ON_FAILURE = 25
_POLL_SECONDS = 0.2
_PLAIN_VALUE = re.compile(r"[^\s\"]+")


def tool_environment() -> dict[str, str]:
    """Return this process's environment with the project's tools on PATH, and without settings of an AWS account."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    inherited.pop("SIGNPOST_STAGE", None)
    path = f"{PROJECT / '.venv/bin'}:{SAM.parent}:{inherited.get('PATH', os.defpath)}"
    return {**inherited, "PATH": path, "SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": REGION}


def format_override(name: str, value: str) -> str:
    """Return a word of sam's --parameter-overrides. Without quotation marks sam drops an empty value, and cuts others
    at their first space."""
    if _PLAIN_VALUE.fullmatch(value):
        return f"{name}={value}"
    quoted = value.replace('"', r"\"")
    return f'{name}="{quoted}"'


def run_sam(
    arguments: Sequence[str], environment: Mapping[str, str], log: Path, step: Step, *, folder: Path = PROJECT
) -> None:
    """Run a command of SAM, with its output in the log and its last line in the step. Raises CloudError."""
    if not SAM.exists():
        raise CloudError("The SAM CLI is not installed. Install it: local/setup.sh sam")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        child = subprocess.Popen(
            [SAM, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _watch(child, log, step)
        finally:
            stop_group(child, _SECONDS_TO_END_SAM)
    if child.returncode != 0:
        raise CloudError(f"sam {arguments[0]} failed. The end of {log}:\n{tail(log, _LINES_ON_FAILURE)}")


def _watch(child: subprocess.Popen[bytes], log: Path, step: Step) -> None:
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_POLL_SECONDS)
            return
        step.show(" ".join(tail(log, 1).split()))
