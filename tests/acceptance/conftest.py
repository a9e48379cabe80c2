"""The deployed test stage against which the cases are played."""

from collections.abc import Iterator

import pytest

from tests.acceptance.deployed import Deployment, deploy_stage
from tests.acceptance.outcomes import AT_ONCE
from tests.support.laptop import Laptop


@pytest.fixture(scope="module")
def deployment(laptop: Laptop) -> Iterator[Deployment]:
    with deploy_stage(laptop) as deployment:
        deployment.warm_up(AT_ONCE)
        yield deployment
