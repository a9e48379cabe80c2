"""One gateway for all fuzz tests of a module."""

import pytest

from tests.fuzz.target import Target


@pytest.fixture(scope="module")
def target() -> Target:
    return Target()
