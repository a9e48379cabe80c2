"""The pure rules of the registry, by the cases of `registry-cases.json`."""

import pytest

from tests.acceptance import pure
from tests.acceptance.cases import DEFAULT, Case, load
from tests.acceptance.player import played_by_rules

PURE = [case for case in load(DEFAULT) if case.is_pure]


@pytest.mark.parametrize("case", PURE, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert played_by_rules(case).problems == []


def test_there_is_a_case_for_every_rule_and_a_rule_for_every_case() -> None:
    assert {step.op for case in PURE for step in case.steps} == set(pure.RULES)
