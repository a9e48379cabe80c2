"""Cold starts: fresh processes, in rounds, so that what the machine does meanwhile meets all of them alike."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from local.interpreter import environment, isolated

# Processes leave by os._exit: Lambda does not wait for an interpreter to tidy up either.
FLOOR = "import os, boto3; boto3.client('dynamodb'); os._exit(0)"
INIT = "import os, app; os._exit(0)"
FIRST_ANSWER = """
import json, os, sys, time
import app

class Context:
    aws_request_id = function_name = "bench"
    function_version = "$LATEST"
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"
    memory_limit_in_mb = "1024"

    def get_remaining_time_in_millis(self):
        return 29000

event = json.loads(sys.argv[1])
# The gateway's deadline counts from here.
event["requestContext"]["timeEpoch"] = int(time.time() * 1000)
answer = app.handler(event, Context())
if answer["statusCode"] != 200 or "tools" not in json.loads(answer["body"])["result"]:
    sys.exit(f"not an answer: {answer}")
os._exit(0)
"""
_PATIENCE = 60.0


class BenchError(Exception):
    """A contender could not be timed."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A program whose fresh process is timed. A peer has its own venv: name its python, and its site-packages
    as the search path. Without a bar it is only shown."""

    name: str
    program: str
    search_path: tuple[Path, ...]
    bar: float | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    arguments: tuple[str, ...] = ()
    python: Path = Path(sys.executable)


@dataclass(frozen=True, slots=True)
class Result:
    contender: Contender
    median_ms: float
    ratio: float

    @property
    def met(self) -> bool | None:
        return None if self.contender.bar is None else self.ratio <= self.contender.bar


@dataclass(frozen=True, slots=True)
class Results:
    rounds: int
    reference_loop_ms: float
    rows: tuple[Result, ...]


def compare(floor: Contender, others: Sequence[Contender], rounds: int) -> Results:
    """Times everybody in every round; ratios are medians by the floor's median."""
    contenders = (floor, *others)
    for contender in contenders:
        _run(contender)  # the first run reads from disk what the others find in memory
    laps = [[_ms(_reference_loop), *(_ms(lambda c=c: _run(c)) for c in contenders)] for _ in range(rounds)]
    reference, *medians = (statistics.median(column) for column in zip(*laps, strict=True))
    results = (Result(c, ms, ms / medians[0]) for c, ms in zip(contenders, medians, strict=True))
    return Results(rounds, reference, tuple(results))


def _run(contender: Contender) -> None:
    try:
        subprocess.run(
            isolated("-c", contender.program, *contender.arguments, python=contender.python),
            env=environment(contender.search_path, contender.variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=True,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        raise BenchError(f"{contender.name}: {error.stderr.strip()}") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{contender.name}: not done after {_PATIENCE:.0f} s") from error


def _reference_loop() -> None:
    """Nothing of ours: says how fast the machine was while the others ran."""
    total = 0
    for number in range(1_000_000):
        total += number * number


def _ms(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000
