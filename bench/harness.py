"""Measures the harness of an executor: its import, and a call of a function that does nothing. Part of python -m bench;
python -m bench.harness measures the working tree alone."""

import compileall
import statistics
import sys
import sysconfig
from pathlib import Path

from bench.contender import Contender
from bench.laps import Lap, Requests, run
from local.progress import Progress

NOOP, IMPORT = "noop_call_ms", "toolkit_import_ms"
_NOOP_PROGRAM = "from bench.inside.harness import main; main()"
# The program imports `report` after the measurement, because its imports would otherwise be loaded before the harness
# imports them too, and be missing from the time.
_IMPORT_PROGRAM = f"""
import time, pydantic
started = time.process_time()
import signpost.toolkit.harness, signpost.signing.capability_tokens
milliseconds = (time.process_time() - started) * 1000
from bench.inside.invocation import report
report({{"{IMPORT}": milliseconds}})
"""
_ROOT = Path(__file__).parents[1]
_ROUNDS = 7


def harness_lap(contender: Contender, requests: Requests) -> Lap:
    del requests  # the gateway alone answers them
    return {**run(contender, _IMPORT_PROGRAM, 0).findings, **run(contender, _NOOP_PROGRAM, 0).findings}


def working_tree() -> Contender:
    source = _ROOT / "layers/shared/python"
    compileall.compile_dir(source, quiet=2)
    return Contender("harness", "", (source, _ROOT, Path(sysconfig.get_path("purelib"))))


def main() -> None:
    tree, no_requests = working_tree(), Requests("", "")
    with Progress(sys.stdout).step(f"measuring the harness, {_ROUNDS} rounds"):
        laps = [harness_lap(tree, no_requests) for _ in range(_ROUNDS + 1)][1:]
    for measure in (NOOP, IMPORT):
        print(f"{measure:<20}{statistics.median(lap[measure] for lap in laps):>8.3f}")


if __name__ == "__main__":
    main()
