"""Finds the problems of a manifest in files: `signpost check` prints them, `signpost publish` refuses errors."""

import argparse
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from time import monotonic

from signpost.cli.publish.manifest_files import FoundManifest
from signpost.cli.terminal import make_printable, print_progress
from signpost.records import dataclass
from signpost.workflow.authoring.lint.check import BUILT_IN_KINDS, check_manifest
from signpost.workflow.authoring.problems import Problem
from signpost.workflow.authoring.source_tree import SourcePlace
from signpost.workflow.executor_kinds import ExecutorKinds

PROGRESS_INTERVAL = 1.0
"""In seconds, between two lines about the progress of a check."""
MANY_WORKFLOWS = 200
"""The number of workflows that take about PROGRESS_INTERVAL to read. With so many, the check reports its start."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="treat warnings as errors")
    parser.add_argument(
        "--executor", action="append", default=[], metavar="KIND", help="a kind of executor that the deployment adds"
    )


def rules_of(arguments: argparse.Namespace) -> "CheckRules":
    """Build the rules from the options of a command."""
    return CheckRules(strict=arguments.strict, executors=arguments.executor)


@dataclass(frozen=True, slots=True)
class CheckRules:
    """Decides which problems keep a manifest from being published."""

    strict: bool = False
    executors: Sequence[str] = ()
    """Kinds of executors that this deployment runs, besides those that every deployment runs."""

    @property
    def kinds(self) -> ExecutorKinds:
        # Imported on first use: the composition of the step executors takes long to import.
        from signpost.wiring.workflows import EXECUTED_KINDS  # noqa: PLC0415

        return ExecutorKinds([*BUILT_IN_KINDS, *self.executors], [*EXECUTED_KINDS, *self.executors])

    def is_refused(self, problem: Problem) -> bool:
        return self.strict or problem.severity == "error"


def list_workflows(manifests: Iterable[FoundManifest]) -> Sequence[str]:
    """List the ids of the workflows in manifests that are published together."""
    parts = [found.manifest.get("workflows") for found in manifests if found.manifest is not None]
    return [name for part in parts if part is not None for name in part.members]


def find_problems(
    found: FoundManifest, path: Path, rules: CheckRules, other_workflows: Collection[str] = ()
) -> Sequence[Problem]:
    """Return the problems of reading the files, and those of their contents. `other_workflows` has the ids of the
    workflows that are published with them."""
    if found.manifest is None:
        return found.problems
    return [*found.problems, *check_manifest(found.manifest, rules.kinds, _CheckProgress(path).report, other_workflows)]


def format_problem(problem: Problem) -> str:
    path = f" (by {' → '.join(problem.path)})" if problem.path else ""
    code = f" [{problem.code}]" if problem.code else ""
    return make_printable(f"{format_place(problem.place)}: {problem.severity}: {problem.message}{path}{code}")


def format_place(place: SourcePlace) -> str:
    return f"{place.file}:{place.line}:{place.column}"


class _CheckProgress:
    """Prints the progress of a check from time to time, on standard error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reported_at = monotonic()

    def report(self, done: int, total: int) -> None:
        if monotonic() - self._reported_at >= PROGRESS_INTERVAL or (not done and total >= MANY_WORKFLOWS):
            self._reported_at = monotonic()
            print_progress(f"{self._path}: {done} of {total} workflows")
