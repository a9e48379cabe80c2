"""Plays a file of cases against a test stage on this machine: python -m tests.acceptance FILE."""

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
from tests.acceptance.cases import DEFAULT, Case, load  # noqa: E402 - only now can everything be found
from tests.acceptance.deployed import deployed  # noqa: E402 - only now can everything be found
from tests.acceptance.player import AT_ONCE, Outcome, play  # noqa: E402 - only now can everything be found
from tests.acceptance.report import failed, lines  # noqa: E402 - only now can everything be found
from tests.support.laptop import Laptop  # noqa: E402 - only now can everything be found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance", description="Plays a file of cases.")
    parser.add_argument("file", type=Path, nargs="?", default=DEFAULT, help="default: %(default)s")
    parser.add_argument("--only", metavar="ID", action="append", help="play this case alone; may be repeated")
    given = parser.parse_args()
    try:
        cases = [case for case in load(given.file) if not given.only or case.id in given.only]
        outcomes = _outcomes(cases, Progress(sys.stderr))
    except (CloudError, OSError, ValueError) as error:
        Progress(sys.stderr).say(f"cannot play {given.file}: {error}")
        return 2
    Progress(sys.stdout).say("\n".join(lines(outcomes)))
    return 1 if failed(outcomes) else 0


def _outcomes(cases: Sequence[Case], progress: Progress) -> Sequence[Outcome]:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="acceptance-")))
        with progress.step("deploying a test stage to an emulator of its own"):
            laptop = stack.enter_context(Laptop(home))
            deployment = stack.enter_context(deployed(laptop))
            deployment.warm_up(AT_ONCE)
        with progress.step(f"playing {len(cases)} cases") as step:
            return play(cases, deployment, lambda played: step.show(f"{played} played"))


if __name__ == "__main__":
    sys.exit(main())
