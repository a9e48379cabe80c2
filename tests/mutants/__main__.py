"""Tries mutants: python -m tests.mutants [--only NAME] [--cloud] [--list]"""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from local.interruption import STOPPING, Interruption
from local.progress import Progress
from tests.mutants.catalogue import MUTANTS
from tests.mutants.copied_project import copy_project
from tests.mutants.mutant import Mutant
from tests.mutants.trial import Finding, MutantTrial, format_table

PROJECT = Path(__file__).resolve().parents[2]
LOGS = PROJECT / ".local/mutants"


def main() -> int:
    options = _parser().parse_args()
    progress = Progress(sys.stdout)
    mutants = choose_mutants(MUTANTS, options.only, cloud=options.cloud)
    if options.list:
        for mutant in mutants:
            progress.say(f"{mutant.name}: invariant {mutant.invariant}, {mutant.file}")
        return 0
    if not mutants:
        progress.say("There is no mutant of this name. List the mutants: --list, or --list --cloud.")
        return 2
    findings: list[Finding] = []
    with contextlib.suppress(KeyboardInterrupt), Interruption(progress, STOPPING):
        _try_all(mutants, progress, findings)
    for line in ["", *format_table(findings)]:
        progress.say(line)
    noticed = sum(finding.verdict == "noticed" for finding in findings)
    progress.say(f"\n{noticed} of {len(mutants)} mutants were noticed, {len(mutants) - len(findings)} not tried.")
    return 0 if noticed == len(mutants) else 1


def choose_mutants(mutants: Sequence[Mutant], names: Sequence[str], *, cloud: bool) -> Sequence[Mutant]:
    """Return the mutants with these names, or all; those that need the laptop cloud only with `cloud`."""
    available = [mutant for mutant in mutants if cloud or mutant.needs != "cloud"]
    return [mutant for mutant in available if not names or mutant.name in names]


def _try_all(mutants: Sequence[Mutant], progress: Progress, findings: list[Finding]) -> None:
    with copy_project(PROJECT) as project:
        trial = MutantTrial(project, LOGS)
        for number, mutant in enumerate(mutants, 1):
            finding = trial.try_mutant(mutant)
            progress.say(
                f"{number} of {len(mutants)}  {mutant.name}  {finding.verdict}  {progress.dim(finding.reason)}"
            )
            findings.append(finding)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description="Shows which mutants the tests notice."
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only the mutant of this name")
    parser.add_argument("--cloud", action="store_true", help="also mutants that need the laptop cloud")
    parser.add_argument("--list", action="store_true", help="list the mutants without trying them")
    return parser


if __name__ == "__main__":
    sys.exit(main())
