"""Fixtures that more than one kind of test stands on."""

from collections.abc import Iterator

import pytest

from tests.support.laptop import Laptop, Stack


@pytest.fixture(scope="session")
def laptop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laptop]:
    with Laptop(tmp_path_factory.mktemp("laptop")) as laptop:
        yield laptop


@pytest.fixture(scope="session")
def both(laptop: Laptop) -> Stack:
    """The stack as `make run` deploys it: API keys and tokens."""
    return laptop.deploy("both", AuthMode="both")
