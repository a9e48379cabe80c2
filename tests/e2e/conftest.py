"""Credentials of deployed stacks."""

import time
from collections.abc import Callable

import pytest

from signpost.adapters.dynamodb import DynamoApiKeys
from signpost.cli.keys import new_key, stored_key
from tests.support.laptop import Laptop, Stack

type MakeKey = Callable[[Stack], str]


@pytest.fixture(scope="session")
def make_key(laptop: Laptop) -> MakeKey:
    def make(stack: Stack) -> str:
        key = new_key("default")
        keys = DynamoApiKeys(laptop.client("dynamodb"), stack.deployed.outputs["RegistryTableName"])
        assert keys.add(stored_key(key, "a test", created_at=time.time()))
        return str(key)

    return make
