"""Fresh processes, in rounds in which every contender takes part, so that what the machine does meanwhile meets all
alike. Times are of the processor: nothing that is measured waits, and other processes may use the machine as well."""

import json
import resource
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench import tools
from bench.contender import Contender
from bench.errors import BenchError
from local.interpreter import environment, isolated
from local.progress import Progress

type Lap = Mapping[str, float]
"""What one contender showed in one round, by measure."""

INIT, FIRST, PEAK, CALL, LOOP = "init_ms", "first_list_ms", "peak_mb", "warm_call_ms", "reference_loop_ms"
LISTS = {200: "warm_list_200_ms", 500: "warm_list_500_ms"}
"""By the number of tools."""
CALLED_AMONG = 200
COLD_TOOLS = 1
"""As many as the gateway lists."""

_FIRST = "from bench.inside.first import main; main()"
_WARM = "from bench.inside.warm import main; main()"
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Requests:
    """Events as text: tools/list, and a tools/call of the first tool."""

    listing: str
    calling: str


@dataclass(frozen=True, slots=True)
class Run:
    milliseconds: float
    findings: Lap


def cold_lap(contender: Contender, requests: Requests) -> Lap:
    init = run(contender, f"import os; {contender.init}; os._exit(0)", COLD_TOOLS)
    if not contender.answering:
        return {INIT: init.milliseconds}
    first = run(contender, _FIRST, COLD_TOOLS, contender.answering, requests.listing)
    return {INIT: init.milliseconds, FIRST: first.milliseconds, PEAK: first.findings["peak_mb"]}


def warm_lap(contender: Contender, requests: Requests) -> Lap:
    lap: dict[str, float] = {}
    for count, measure in LISTS.items() if contender.warm else ():
        found = run(contender, _WARM, count, contender.warm, str(count), requests.listing, requests.calling).findings
        lap[measure] = found["list_ms"]
        if count == CALLED_AMONG:
            lap[CALL] = found["call_ms"]
    return lap


def rounds(
    lap: Callable[[Contender, Requests], Lap],
    contenders: Sequence[Contender],
    requests: Requests,
    count: int,
    progress: Progress,
) -> Iterable[tuple[str, Lap]]:
    name = lap.__name__.partition("_")[0]
    with progress.step(f"measuring {name} processes, {count} rounds of {len(contenders)}") as step:
        for number in range(count):
            yield LOOP, {LOOP: reference_loop()}
            for contender in contenders:
                step.show(f"round {number + 1}, {contender.name}")
                yield contender.name, lap(contender, requests)


def run(contender: Contender, program: str, tool_count: int, *arguments: str) -> Run:
    variables = {**contender.variables, "PYTHONUNBUFFERED": "1", tools.VARIABLE: str(tool_count)}
    command = isolated("-c", program, *arguments, python=contender.python)
    before = _processor_seconds_of_children()
    try:
        done = subprocess.run(
            command,
            env=environment(contender.search_path, variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_PATIENCE,
            check=True,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        raise BenchError(f"{contender.name}: {error.stderr.strip()}") from error
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{contender.name}: not done after {_PATIENCE:.0f} s") from error
    return Run((_processor_seconds_of_children() - before) * 1000, _findings(done.stderr))


def _processor_seconds_of_children() -> float:
    """Of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _findings(said: str) -> Lap:
    """What the program reported on its last line, if it is one of ours that reports."""
    last = said.strip().rpartition("\n")[2]
    return json.loads(last) if last.startswith("{") else {}


def reference_loop() -> float:
    """Nothing of ours: says how fast the machine was while the others ran."""
    started = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number * number
    return (time.process_time() - started) * 1000
