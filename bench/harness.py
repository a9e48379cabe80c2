"""What an executor's harness costs: a call of a function that does nothing, and its import. Part of python -m bench;
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
_NOOP = "from bench.inside.harness import main; main()"
# What the program itself needs is loaded after the lap, lest it takes a part of the harness's time on itself.
_IMPORT = f"""
import time, pydantic
started = time.process_time()
import signpost.toolkit.harness, signpost.signing.capability_tokens
took = (time.process_time() - started) * 1000
from bench.inside.invocation import report
report({{"{IMPORT}": took}})
"""
_ROOT = Path(__file__).parents[1]
_ROUNDS = 7


def harness_lap(contender: Contender, requests: Requests) -> Lap:
    del requests  # they are the gateway's
    return {**run(contender, _IMPORT, 0).findings, **run(contender, _NOOP, 0).findings}


def working_tree() -> Contender:
    source = _ROOT / "layers/shared/python"
    compileall.compile_dir(source, quiet=2)
    return Contender("harness", "", (source, _ROOT, Path(sysconfig.get_path("purelib"))))


def main() -> None:
    tree, nothing = working_tree(), Requests("", "")
    with Progress(sys.stdout).step(f"measuring the harness, {_ROUNDS} rounds"):
        laps = [harness_lap(tree, nothing) for _ in range(_ROUNDS + 1)][1:]
    for measure in (NOOP, IMPORT):
        print(f"{measure:<20}{statistics.median(lap[measure] for lap in laps):>8.3f}")


if __name__ == "__main__":
    main()
