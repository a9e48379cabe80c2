"""The pure rules of the registry, by the cases of `registry-cases.json`."""

import pytest

from tests.acceptance import pure
from tests.acceptance.cases import DEFAULT, Case, load
from tests.acceptance.player import play_pure_case

PURE = [case for case in load(DEFAULT) if case.is_pure]


@pytest.mark.parametrize("case", PURE, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert play_pure_case(case).problems == []


def test_every_pure_rule_has_a_case_and_every_case_a_rule() -> None:
    assert {step.op for case in PURE for step in case.steps} == set(pure.RULES)
