"""A process that dies at a chosen step: right before one of its calls to AWS leaves, or when it has been carried out.
It is killed as the kernel kills, so that nothing in it can clean up."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import boto3

MORTAL = "MORTAL"
"""In the environment of a function: what it is that dies where the function is told to."""
PROCESS, SANDBOX = "process", "sandbox"
"""One that carries out this call and nothing else; or the one that Lambda has started, and has to start again."""
DIES_AT = "dies-at"
"""The number of a step, from 0, or its name: a header of a request, or a member of an event."""
DIED_AT, PASSED = "died-at", "passed"
"""In the answer of a process: the step, or all that there were."""
BETWEEN = ", "


class Crashes:
    """Must be there before the clients whose calls are steps: they learn from the session whom to ask."""

    def __init__(self) -> None:
        self._at: str | None = None
        self._number = 0
        self._tell: Callable[[str], None] = _nobody
        boto3.setup_default_session()
        session: Any = boto3.DEFAULT_SESSION
        for moment in ("before-call", "after-call"):
            session.events.register(moment, self._step)

    def arm(self, at: int | str | None, tell: Callable[[str], None] | None = None) -> None:
        """At the step of this number or name; None for not at all. Each is told when it is reached."""
        self._at, self._number, self._tell = None if at is None else str(at), 0, tell or _nobody

    def _step(self, event_name: str, **_: Any) -> None:
        moment, service, operation = event_name.split(".")
        name = f"{moment.removesuffix('-call')} {service}.{operation}"
        self._tell(name)
        if self._at in (str(self._number), name):
            os.kill(os.getpid(), signal.SIGKILL)
        self._number += 1


@dataclass(frozen=True, slots=True)
class Lived:
    """What became of a process that carried out one call."""

    passed: Sequence[str]
    answer: Any = None
    died: bool = False
    """At the last step that it passed."""


def lived(crashes: Crashes, work: Callable[[], Any], at: int | str | None) -> Lived:
    """Done by a process that has nothing in memory but what init put there, and may die. Nothing of it is left to this
    one, which takes a second to be started anew, and whose own connections are never used."""
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
        return Lived(passed, died=True)
    assert status == 0, status
    return Lived(passed, lines[-1]["answer"])


def _live(crashes: Crashes, work: Callable[[], Any], at: int | str | None, pipe: int) -> None:
    status = 1
    try:
        crashes.arm(at, lambda step: _write(pipe, {"step": step}))
        _write(pipe, {"answer": work()})
        status = 0
    except BaseException:
        traceback.print_exc()  # nobody else says why
        raise
    finally:
        sys.stderr.flush()
        os._exit(status)


def _write(pipe: int, line: Mapping[str, Any]) -> None:
    rest = (json.dumps(line) + "\n").encode()
    while rest:
        rest = rest[os.write(pipe, rest) :]


def _nobody(step: str) -> None:
    del step


class Mortal:
    """A function of the product that dies where its event says so."""

    def __init__(self, compose: Callable[[], Any], dies: str) -> None:
        self._crashes = Crashes()
        self._product = compose()
        self._dies = dies

    def handle(self, event: Mapping[str, Any], *more: Any) -> Any:
        headers: Mapping[str, Any] = event.get("headers") or {}
        at = headers.get(DIES_AT) or event.get(DIES_AT)
        if self._dies == PROCESS:
            return self._told(event, lived(self._crashes, lambda: self._product.handle(event, *more), at))
        self._crashes.arm(at)
        return self._product.handle(event, *more)

    def _told(self, event: Mapping[str, Any], done: Lived) -> Any:
        found = {DIED_AT: done.passed[-1]} if done.died else {PASSED: BETWEEN.join(done.passed)}
        answer: dict[str, Any] = done.answer or {}
        if "requestContext" not in event:
            return answer | found
        return {"statusCode": 502, "body": "", **answer, "headers": answer.get("headers", {}) | found}


def mortal(environment: Mapping[str, str], compose: Callable[[], Any]) -> Any:
    """What was composed, so that it may die."""
    return Mortal(compose, environment.get(MORTAL, SANDBOX))
