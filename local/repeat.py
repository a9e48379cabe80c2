"""Run the same tests repeatedly to find those that fail only sometimes: `make test REPEAT=n PATHS=…`.

python -m local.repeat --times N [--load] PATH...
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TextIO

from local.emulator import PROJECT
from local.interruption import STOPPING, Interruption
from local.progress import Progress
from local.pytest_run import Outcome, run_pytest

FOLDER = PROJECT / ".local/repeat"

_INTERRUPTED = 130
_BUSY_PROGRAM = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"
"""The program that keeps one core busy. It ends when its parent is gone, so also when the run is killed."""

type RunOnce = Callable[[Path], Outcome]
"""A function that runs the tests once and writes their output to the file."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m local.repeat",
        description="Runs the same tests repeatedly and counts the failures of each.",
        allow_abbrev=False,
    )
    parser.add_argument("--times", type=_positive, required=True)
    parser.add_argument("--load", action="store_true", help="keep all cores busy while the tests run")
    parser.add_argument("paths", nargs="+", help="files and tests, as pytest takes them")
    arguments, options = parser.parse_known_args()
    load = keep_cores_busy(os.cpu_count() or 1) if arguments.load else contextlib.nullcontext()
    try:
        with Interruption(Progress(sys.stdout), STOPPING), load:
            return repeat(
                arguments.times, lambda log: run_pytest([*options, *arguments.paths], log), FOLDER, sys.stdout
            )
    except KeyboardInterrupt:
        return _INTERRUPTED


def repeat(times: int, run_once: RunOnce, folder: Path, out: TextIO) -> int:
    """Run the tests `times` times and count the failures of each test. Returns 1 if any failed."""
    shutil.rmtree(folder, ignore_errors=True)  # the output of earlier rounds
    failures: Counter[str] = Counter()
    bad_rounds = 0
    for number in range(1, times + 1):
        log = folder / f"round-{number}.log"
        outcome = run_once(log)
        if not outcome.is_complete:
            print(
                f"round {number} of {times}: pytest did not run the tests.",
                _read_text(log),
                sep="\n",
                file=out,
                flush=True,
            )
            return 1
        failures.update(outcome.failed)
        bad_rounds += not outcome.has_passed
        print(_describe_round(number, times, outcome, log), file=out, flush=True)
        if outcome.has_passed:
            log.unlink(missing_ok=True)
    for test, count in failures.most_common():
        print(f"{count:5} of {times} failed: {test}", file=out)
    print(f"{times - bad_rounds} of {times} rounds passed.", file=out, flush=True)
    return 1 if bad_rounds else 0


@contextlib.contextmanager
def keep_cores_busy(cores: int) -> Generator[None]:
    """Keep this number of cores busy with one process each."""
    processes = [subprocess.Popen([sys.executable, "-c", _BUSY_PROGRAM, str(os.getpid())]) for _ in range(cores)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _describe_round(number: int, times: int, outcome: Outcome, log: Path) -> str:
    passed = outcome.tests - len(outcome.failed)
    counts = f"{passed} passed, {len(outcome.failed)} failed, {len(outcome.skipped)} skipped"
    failed = "".join(f"\n  {test}" for test in outcome.failed)
    output = "" if outcome.has_passed else f"; its output: {log}"
    return f"round {number} of {times}: {counts}, {outcome.seconds:.1f} s{output}{failed}"


def _read_text(log: Path) -> str:
    return log.read_text(errors="replace") if log.exists() else ""


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
