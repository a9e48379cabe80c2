"""The files of cases that are to be played, and how each is."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.acceptance import cases as registry_cases
from tests.acceptance import player as registry_player
from tests.acceptance import workflow_cases, workflow_player
from tests.acceptance.deployed import Deployment
from tests.acceptance.outcomes import Outcome, Tell, Titled
from tests.acceptance.workflows_deployed import Deployed

FACTOR = 8.0
"""A deployment on a laptop takes longer than the milliseconds that cases allow an engine in memory."""


@dataclass(frozen=True, slots=True)
class Suite:
    what: str
    cases: Sequence[Titled]
    play: Callable[[Deployment, Path, Tell], Sequence[Outcome]]
    """In the deployment, with a folder for files."""


def factor(text: str) -> float:
    """As an argument of a command."""
    number = float(text)
    if not 0 < number <= 1000:
        raise argparse.ArgumentTypeError("must be more than 0 and at most 1000")
    return number


def choose_suites(
    registry: Path | None, workflow: Path | None, *, factor: float, only: Sequence[str] | None
) -> Sequence[Suite]:
    """Those that are named, or both. Raises ValueError or OSError for what cannot be played."""
    neither = registry is None and workflow is None
    found: list[Suite] = []
    if registry or neither:
        found.append(_of_registry(registry or registry_cases.DEFAULT, only))
    if workflow or neither:
        found.append(_of_workflows(workflow or workflow_cases.DEFAULT, factor, only))
    there = [suite for suite in found if suite.cases]
    if not there:
        raise ValueError("there is no such case.")
    return there


def _of_registry(file: Path, only: Sequence[str] | None) -> Suite:
    cases = _filter_by_id(_load_cases(registry_cases.load, file), only)

    def play(deployment: Deployment, home: Path, tell: Tell) -> Sequence[Outcome]:
        del home  # it publishes no files
        return registry_player.play(cases, deployment, tell)

    return Suite(f"cases of the registry ({file})", cases, play)


def _of_workflows(file: Path, factor: float, only: Sequence[str] | None) -> Suite:
    cases = _filter_by_id(_load_cases(partial(workflow_cases.load, factor=factor), file), only)

    def play(deployment: Deployment, home: Path, tell: Tell) -> Sequence[Outcome]:
        return workflow_player.play(cases, partial(Deployed, deployment, home), tell)

    return Suite(f"cases of workflows ({file}), all times x {factor:g}", cases, play)


def _load_cases[Case](load: Callable[[Path], Sequence[Case]], file: Path) -> Sequence[Case]:
    try:
        return load(file)
    except ValueError as fault:
        raise ValueError(f"{file}: {fault}") from fault


def _filter_by_id[Case: Titled](cases: Sequence[Case], only: Sequence[str] | None) -> Sequence[Case]:
    return [case for case in cases if not only or case.id in only]
