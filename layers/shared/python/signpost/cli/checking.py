"""What is wrong with a manifest in files: `signpost check` says it, `signpost publish` refuses it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from signpost.cli.manifest_files import Found
from signpost.cli.terminal import visible
from signpost.records import dataclass
from signpost.workflow.check import EXECUTORS, problems
from signpost.workflow.problems import Problem

SAY_AFTER = 1.0
"""Seconds without a word."""
MANY = 200
"""Workflows, which take as long to be read."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="take warnings for errors")
    parser.add_argument(
        "--executor", action="append", default=[], metavar="KIND", help="a further kind of executor that there is"
    )


def rules_of(arguments: argparse.Namespace) -> "Rules":
    """By the options."""
    return Rules(strict=arguments.strict, executors=arguments.executor)


@dataclass(frozen=True, slots=True)
class Rules:
    """What nobody may publish."""

    strict: bool = False
    executors: Sequence[str] = ()
    """Kinds that there are besides those that every deployment has."""

    def refuse(self, problem: Problem) -> bool:
        return self.strict or problem.severity == "error"


def problems_with(found: Found, path: Path, rules: Rules) -> Sequence[Problem]:
    """Those of reading the files, and those of what they say."""
    if found.manifest is None:
        return found.problems
    return [*found.problems, *problems(found.manifest, [*EXECUTORS, *rules.executors], _Progress(path).tell)]


def line(problem: Problem) -> str:
    place = problem.place
    path = f" (by {' → '.join(problem.path)})" if problem.path else ""
    text = f"{place.file}:{place.line}:{place.column}: {problem.severity}: {problem.message}{path}"
    return visible(text)


class _Progress:
    """Says how far it is, now and then, apart from what is found."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._said_at = monotonic()

    def tell(self, done: int, of_all: int) -> None:
        if monotonic() - self._said_at >= SAY_AFTER or (not done and of_all >= MANY):
            self._said_at = monotonic()
            print(f"{self._path}: {done} of {of_all} workflows", file=sys.stderr)
