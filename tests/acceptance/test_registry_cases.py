"""The cases of the registry over its real interfaces, as `make acceptance` plays them."""

import pytest

from tests.acceptance.cases import DEFAULT, load
from tests.acceptance.deployed import deployed
from tests.acceptance.player import AT_ONCE, play
from tests.acceptance.report import failed
from tests.support.laptop import Laptop


@pytest.mark.cloud
def test_the_registry_does_what_its_cases_say(laptop: Laptop) -> None:
    cases = load(DEFAULT)
    with deployed(laptop) as deployment:
        deployment.warm_up(AT_ONCE)
        outcomes = play(cases, deployment, lambda _: None)
    assert len(outcomes) == len(cases)
    assert {one.case.id: one.problems for one in failed(outcomes)} == {}
