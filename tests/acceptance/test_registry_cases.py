"""The cases of the registry over its real interfaces, as `make acceptance` plays them."""

import pytest

from tests.acceptance.cases import DEFAULT, load
from tests.acceptance.deployed import Deployment
from tests.acceptance.outcomes import failed_outcomes
from tests.acceptance.player import play


@pytest.mark.cloud
def test_the_registry_passes_its_cases(deployment: Deployment) -> None:
    cases = load(DEFAULT)
    outcomes = play(cases, deployment, lambda _: None)
    assert len(outcomes) == len(cases)
    assert {one.case.id: one.problems for one in failed_outcomes(outcomes)} == {}
