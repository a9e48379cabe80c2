"""One framework drives a workflow at one endpoint: its block of docs/clients.md runs as pasted, with the model that
follows links behind it, and the gateway says afterwards how far the run came."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from tests.frameworks.following_model import FollowingModel, format_end
from tests.frameworks.frameworks import Framework
from tests.frameworks.model_server import ModelServer
from tests.frameworks.office_move import EXPECTED_CONTEXT, LAST_STATE, LAST_VERSION, TITLE
from tests.frameworks.stdio_host import converse
from tests.support.client_blocks import ClientBlock
from tests.support.client_programs import run_program
from tests.support.laptop import Stack
from tests.support.recording_door import RecordingDoor

ENDPOINTS = ("/mcp", "/mcp/flat")
FINISHED = "finished"
LONGEST_DRIVE = 180.0
"""Seconds. Some frameworks import for ten seconds on a busy machine."""
LONGEST_RESULT = 300
_RUN_ID = re.compile(r"wf_\w+")
_SILENT = {
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
    "MASTRA_TELEMETRY_DISABLED": "1",
    "AI_SDK_LOG_WARNINGS": "false",
}
"""Variables that stop frameworks from reporting to their authors."""


@dataclass(frozen=True, slots=True)
class Drive:
    framework: Framework
    endpoint: str
    revisions: Sequence[str]
    """The revisions of the protocol that the stack received."""
    result: str
    """`finished`, or the reason why the run did not come to its end."""
    seconds: float

    @property
    def has_passed(self) -> bool:
        return self.result == FINISHED

    def __str__(self) -> str:
        return f"{self.framework.name} at {self.endpoint}: {self.result}"


def drive(framework: Framework, endpoint: str, stack: Stack, key: str, home: Path) -> Drive:
    """Let the framework drive the workflow to its end in a folder of its own. Its output is kept there."""
    door = RecordingDoor(stack.port)
    door.start()
    began = monotonic()
    try:
        result = _run(framework, f"{door.url}{endpoint}", stack, key, home)
    finally:
        door.stop()
    return Drive(framework, endpoint, sorted(door.revisions), result, monotonic() - began)


def _run(framework: Framework, url: str, stack: Stack, key: str, home: Path) -> str:
    code, log = framework.block.paste(url, key), home / "output.log"
    with ModelServer(FollowingModel(TITLE)) as server:
        try:
            output = _execute(framework.block, code, server, home)
        except AssertionError as error:
            log.write_text(str(error))
            return _shorten(server.last_text or _last_line(str(error)))
        except (TimeoutError, subprocess.TimeoutExpired):
            return f"did not end within {LONGEST_DRIVE:.0f} s. {_shorten(server.last_text)}"
        log.write_text(output)
        return _judge(output, server.last_text, stack, key)


def _execute(block: ClientBlock, code: str, server: ModelServer, home: Path) -> str:
    """Return the output of the program, or raise AssertionError with it."""
    if block.language == "json":
        return converse(code, server, home)
    environment = {**server.environment, **_SILENT}
    return run_program(block.prepare(home, code), home, within=LONGEST_DRIVE, added_environment=environment)


def _judge(output: str, last_text: str, stack: Stack, key: str) -> str:
    """Return `finished` if the program printed the end of a run, and the gateway has that run at its end."""
    found = _RUN_ID.search(last_text)
    if found is None or last_text != format_end(found[0], LAST_STATE):
        return _shorten(last_text or f"The model was never asked. {_last_line(output)}")
    if " ".join(last_text.split()) not in " ".join(output.split()):
        return "the run has ended, and the program did not print the text of its model"
    run = _read_run(stack, key, found[0])
    seen = {name: run.get(name) for name in ("terminal", "state", "version")}
    if seen != {"terminal": True, "state": LAST_STATE, "version": LAST_VERSION}:
        return f"the gateway has the run as {seen}"
    kept = {name: run["context"].get(name) for name in EXPECTED_CONTEXT}
    return FINISHED if kept == EXPECTED_CONTEXT else f"arguments arrived as {kept}"


def _read_run(stack: Stack, key: str, workflow_id: str) -> Any:
    arguments = {"name": "workflow.get", "arguments": {"workflowId": workflow_id}}
    answer = stack.request(key, "tools/call", arguments)
    assert answer.status == 200, answer.text
    return answer.json["result"]["structuredContent"]


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_RESULT else f"{line[:LONGEST_RESULT]}…"
