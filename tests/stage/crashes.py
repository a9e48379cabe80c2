"""Ends a process at a chosen step: right before one of its calls to AWS is sent, or after it has been carried out. The
process gets SIGKILL, so that nothing in it can clean up."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3

MORTAL_VARIABLE = "MORTAL"
"""The environment variable of a function that says which process dies at the chosen step: `PROCESS` or `SANDBOX`."""
PROCESS, SANDBOX = "process", "sandbox"
"""A process that carries out this call and nothing else; or the sandbox that Lambda has started, and has to start
again."""
CRASH_STEP = "dies-at"
"""The header of a request, or the member of an event, with the number of a step, from 0, or its name."""
CRASHED_AT, PASSED_STEPS = "died-at", "passed"
"""The members of an answer with the step at which the process died, or with all steps that it passed."""
STEP_SEPARATOR = ", "


class CrashInjector:
    """Kills the process at the armed step. Every call to AWS is a step.

    Create it before the clients: they take the event handlers of the session when they are created.
    """

    def __init__(self) -> None:
        self._at: str | None = None
        self._number = 0
        self._tell: Callable[[str], None] = _ignore_step
        boto3.setup_default_session()
        session: Any = boto3.DEFAULT_SESSION
        for moment in ("before-call", "after-call"):
            session.events.register(moment, self._step)

    def arm(self, at: int | str | None, tell: Callable[[str], None] | None = None) -> None:
        """Kill the process at the step of this number or name; None for no step. `tell` is called with each step that
        is reached."""
        self._at, self._number, self._tell = None if at is None else str(at), 0, tell or _ignore_step

    def _step(self, event_name: str, **_: Any) -> None:
        moment, service, operation = event_name.split(".")
        name = f"{moment.removesuffix('-call')} {service}.{operation}"
        self._tell(name)
        if self._at in (str(self._number), name):
            os.kill(os.getpid(), signal.SIGKILL)
        self._number += 1


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The result of a process that carried out one call."""

    passed_steps: Sequence[str]
    answer: Any = None
    has_crashed: bool = False
    """Whether it died, at the last step that it passed."""


def run_in_fork(crashes: CrashInjector, work: Callable[[], Any], at: int | str | None) -> ProcessResult:
    """Run `work` in a forked process that has only the memory that init filled, and that may die.

    It leaves nothing in this process, which takes a second to be started again; the connections of this process are
    never used.
    """
    reading, writing = os.pipe()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _live(crashes, work, at, writing)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        lines = [json.loads(line) for line in pipe]
    _, status = os.waitpid(child, 0)
    passed = [line["step"] for line in lines if "step" in line]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return ProcessResult(passed, has_crashed=True)
    assert status == 0, status
    return ProcessResult(passed, lines[-1]["answer"])


def _live(crashes: CrashInjector, work: Callable[[], Any], at: int | str | None, pipe: int) -> None:
    status = 1
    try:
        crashes.arm(at, lambda step: _write(pipe, {"step": step}))
        _write(pipe, {"answer": work()})
        status = 0
    except BaseException:
        traceback.print_exc()  # the parent sees only the exit status
        raise
    finally:
        sys.stderr.flush()
        os._exit(status)


def _write(pipe: int, line: Mapping[str, Any]) -> None:
    rest = (json.dumps(line) + "\n").encode()
    while rest:
        rest = rest[os.write(pipe, rest) :]


def _ignore_step(step: str) -> None:
    del step


class MortalFunction:
    """A function of the product that dies at the step that its event names."""

    def __init__(self, compose: Callable[[], Any], dies: str) -> None:
        self._crashes = CrashInjector()
        self._product = compose()
        self._dies = dies

    def handle(self, event: Mapping[str, Any], *more: Any) -> Any:
        headers: Mapping[str, Any] = event.get("headers") or {}
        at = headers.get(CRASH_STEP) or event.get(CRASH_STEP)
        if self._dies == PROCESS:
            return self._told(event, run_in_fork(self._crashes, lambda: self._product.handle(event, *more), at))
        self._crashes.arm(at)
        return self._product.handle(event, *more)

    def _told(self, event: Mapping[str, Any], run: ProcessResult) -> Any:
        crash_report = (
            {CRASHED_AT: run.passed_steps[-1]}
            if run.has_crashed
            else {PASSED_STEPS: STEP_SEPARATOR.join(run.passed_steps)}
        )
        answer: dict[str, Any] = run.answer or {}
        if "requestContext" not in event:
            return answer | crash_report
        return {"statusCode": 502, "body": "", **answer, "headers": answer.get("headers", {}) | crash_report}


def make_mortal(environment: Mapping[str, str], compose: Callable[[], Any]) -> Any:
    """Return the composed function so that it can be killed."""
    return MortalFunction(compose, environment.get(MORTAL_VARIABLE, SANDBOX))
