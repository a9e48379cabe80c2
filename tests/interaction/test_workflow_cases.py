"""The acceptance cases that need nothing but the engine and the catalogue, through the protocol and in memory."""

import pytest

from tests.acceptance.workflow_cases import DEFAULT, Case, load
from tests.acceptance.workflow_selection import reason_to_skip
from tests.acceptance.workflow_steps import problems
from tests.acceptance.workflows_in_memory import InMemory

DISCOVERY = DEFAULT.with_name("discovery-cases.json")
HERE = {"skills", "stub", "audit", "sleep", "principal", "workflow", "onenter-failure"}
"""What a case may ask for here; the rest is played on a deployed stack."""


def is_played_here(case: Case) -> bool:
    return case.requires <= HERE and not reason_to_skip(case)


CASES = [case for file in (DEFAULT, DISCOVERY) for case in load(file) if is_played_here(case)]


def test_enough_cases_are_played_in_memory() -> None:
    assert len(CASES) >= 101


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert problems(case, InMemory(case)) == (), case.title
