"""Plays files of cases against a test stage on this machine: python -m tests.acceptance."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
# As pytest has it: what runs in the test stage calls itself `stage`.
sys.path.append(str(PROJECT / "tests"))

from local.errors import CloudError  # noqa: E402 - only now can everything be found
from local.progress import Progress  # noqa: E402 - only now can everything be found
from tests.acceptance import suites  # noqa: E402 - only now can everything be found
from tests.acceptance.deployed import deploy_stage  # noqa: E402 - only now can everything be found
from tests.acceptance.outcomes import AT_ONCE, Outcome  # noqa: E402 - only now can everything be found
from tests.acceptance.report import exit_code, lines  # noqa: E402 - only now can everything be found
from tests.acceptance.suites import Suite  # noqa: E402 - only now can everything be found
from tests.support.laptop import Laptop  # noqa: E402 - only now can everything be found


def main() -> int:
    given = _parser().parse_args()
    try:
        chosen = suites.choose_suites(given.registry, given.workflow, factor=given.factor, only=given.only)
        outcomes = _outcomes(chosen, Progress(sys.stderr))
    except (CloudError, OSError, ValueError) as error:
        Progress(sys.stderr).say(f"cannot play: {error}")
        return 2
    return exit_code(outcomes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.acceptance", description="Plays files of cases; without any, those of this repository."
    )
    parser.add_argument("--registry", type=Path, metavar="FILE", help="cases of the registry")
    parser.add_argument("--workflow", type=Path, metavar="FILE", help="cases of workflows")
    parser.add_argument(
        "--factor",
        type=suites.factor,
        default=suites.FACTOR,
        help="by which all times of workflow cases are multiplied (default: %(default)s)",
    )
    parser.add_argument("--only", metavar="ID", action="append", help="play this case alone; may be repeated")
    return parser


def _outcomes(chosen: Sequence[Suite], progress: Progress) -> Sequence[Outcome]:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="acceptance-")))
        with progress.step("deploying a test stage to an emulator of its own"):
            laptop = stack.enter_context(Laptop(home))
            deployment = stack.enter_context(deploy_stage(laptop))
            deployment.warm_up(AT_ONCE)
        found: list[Outcome] = []
        for suite in chosen:
            with progress.step(f"playing {len(suite.cases)} {suite.what}") as step:
                outcomes = suite.play(deployment, home, lambda played, step=step: step.show(f"{played} played"))
            Progress(sys.stdout).say("\n".join([f"{suite.what}, {step.elapsed():.1f} s", *lines(outcomes)]))
            found += outcomes
        return found


if __name__ == "__main__":
    sys.exit(main())
