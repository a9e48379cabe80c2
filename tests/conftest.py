"""Fixtures that more than one kind of test stands on."""

from collections.abc import Iterator

import pytest

from stage.fixtures import TENANT
from tests.support.laptop import Laptop, MakeKey, Stack


@pytest.fixture(scope="session")
def laptop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laptop]:
    with Laptop(tmp_path_factory.mktemp("laptop")) as laptop:
        yield laptop


@pytest.fixture(scope="session")
def both(laptop: Laptop) -> Stack:
    """The stack as `make run` deploys it: API keys and tokens."""
    return laptop.deploy("both", AuthMode="both")


@pytest.fixture(scope="session")
def make_key(laptop: Laptop) -> MakeKey:
    def make(stack: Stack) -> str:
        return laptop.key(stack, "default")

    return make


@pytest.fixture(scope="session")
def stage(laptop: Laptop) -> Stack:
    """The test stage in local mode: whoever calls from this machine is in the tenant that sees the fixtures."""
    return laptop.deploy("stage", variant="test", AuthMode="local", DefaultTenant=TENANT)
