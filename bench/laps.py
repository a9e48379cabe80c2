"""Measures contenders in fresh processes.

Every contender runs in every round, so that other load on the machine affects all of them alike. Times are processor
times, because the measured code does not wait and other processes may use the machine too.
"""

import json
import resource
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench import tools
from bench.contender import Contender
from bench.errors import BenchError
from local.interpreter import environment, isolated_command
from local.progress import Progress

type Lap = Mapping[str, float]
"""The values of one contender in one round, by measure."""

INIT, FIRST, PEAK, CALL, LOOP = "init_ms", "first_list_ms", "peak_mb", "warm_call_ms", "reference_loop_ms"
LISTS = {200: "warm_list_200_ms", 500: "warm_list_500_ms"}
"""The measures of warm tools/list, by the number of tools."""
CALL_TOOL_COUNT = 200
"""The number of tools that a contender serves when one of them is called."""
COLD_TOOL_COUNT = 1
"""The number of tools that the gateway lists."""

_FIRST_PROGRAM = "from bench.inside.first import main; main()"
_WARM_PROGRAM = "from bench.inside.warm import main; main()"
_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Requests:
    """The events of a tools/list and of a tools/call of the first tool, as text."""

    listing: str
    calling: str


@dataclass(frozen=True, slots=True)
class Run:
    """The processor time of a process, and the findings that it reported."""

    milliseconds: float
    findings: Lap


def cold_lap(contender: Contender, requests: Requests) -> Lap:
    init = run(contender, f"import os; {contender.init}; os._exit(0)", COLD_TOOL_COUNT)
    if not contender.first_module:
        return {INIT: init.milliseconds}
    first = run(contender, _FIRST_PROGRAM, COLD_TOOL_COUNT, contender.first_module, requests.listing)
    return {INIT: init.milliseconds, FIRST: first.milliseconds, PEAK: first.findings["peak_mb"]}


def warm_lap(contender: Contender, requests: Requests) -> Lap:
    lap: dict[str, float] = {}
    for count, measure in LISTS.items() if contender.warm_module else ():
        arguments = (contender.warm_module, str(count), requests.listing, requests.calling)
        findings = run(contender, _WARM_PROGRAM, count, *arguments).findings
        lap[measure] = findings["list_ms"]
        if count == CALL_TOOL_COUNT:
            lap[CALL] = findings["call_ms"]
    return lap


def run_rounds(
    lap: Callable[[Contender, Requests], Lap],
    contenders: Sequence[Contender],
    requests: Requests,
    count: int,
    progress: Progress,
) -> Iterable[tuple[str, Lap]]:
    """Measure the reference loop and every contender in each round. Yields laps with the name of the contender."""
    name = lap.__name__.partition("_")[0]
    with progress.step(f"measuring {name} processes, {count} rounds of {len(contenders)}") as step:
        for number in range(count):
            yield LOOP, {LOOP: time_reference_loop()}
            for contender in contenders:
                step.show(f"round {number + 1}, {contender.name}")
                yield contender.name, lap(contender, requests)


def run(contender: Contender, program: str, tool_count: int, *arguments: str) -> Run:
    """Run a program in a process of the contender that serves this number of tools. Raises BenchError."""
    variables = {**contender.variables, "PYTHONUNBUFFERED": "1", tools.VARIABLE: str(tool_count)}
    command = isolated_command("-c", program, *arguments, python=contender.python)
    seconds_before = _processor_seconds_of_children()
    try:
        process = subprocess.run(
            command,
            env=environment(contender.search_path, variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT_SECONDS,
            check=True,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        raise BenchError(f"{contender.name}: {error.stderr.strip()}") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{contender.name}: stopped after {_TIMEOUT_SECONDS:.0f} s without a result") from error
    return Run((_processor_seconds_of_children() - seconds_before) * 1000, _read_findings(process.stderr))


def _processor_seconds_of_children() -> float:
    """Return the processor time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read_findings(stderr: str) -> Lap:
    """Read the report on the last line, or nothing if the program does not report."""
    last_line = stderr.strip().rpartition("\n")[2]
    return json.loads(last_line) if last_line.startswith("{") else {}


def time_reference_loop() -> float:
    """Time a loop that runs no code of the project, and so shows how fast the machine was during the round."""
    started = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number * number
    return (time.process_time() - started) * 1000
