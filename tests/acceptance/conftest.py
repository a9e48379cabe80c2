"""The test stage that cases of every kind are played against."""

from collections.abc import Iterator

import pytest

from tests.acceptance.deployed import Deployment, deployed
from tests.acceptance.outcomes import AT_ONCE
from tests.support.laptop import Laptop


@pytest.fixture(scope="module")
def deployment(laptop: Laptop) -> Iterator[Deployment]:
    with deployed(laptop) as deployment:
        deployment.warm_up(AT_ONCE)
        yield deployment
