"""One gateway for all that is thrown at it."""

import pytest

from tests.fuzz.target import Target


@pytest.fixture(scope="module")
def target() -> Target:
    return Target()
