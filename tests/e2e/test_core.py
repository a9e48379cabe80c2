"""What a deployment ships is there when it is done, and follows the code."""

import uuid

import pytest

from signpost.adapters.dynamodb import DynamoFunctionStates
from tests.support.executors import Executors
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud


def test_the_core_functions_can_be_called_as_soon_as_the_stack_stands(executors: Executors, key: str) -> None:
    assert executors.call(key, "core::wait", {"seconds": 0.1})["result"] == {"waited": 0.1}
    failed = executors.call(key, "core::wait", {"seconds": 1_000})["failure"]
    assert (failed["code"], failed["outcome"]) == ("reported", "none")
    assert executors.call(key, "core::wait", {"seconds": "long"})["failure"]["code"] == "invalid_arguments"


def test_a_deployment_places_them_with_the_timeout_that_they_have(laptop: Laptop, both: Stack) -> None:
    states = DynamoFunctionStates(laptop.client("dynamodb"), both.deployed.outputs["RegistryTableName"])
    placement = states.read(f"t-{uuid.uuid4().hex[:8]}", "core::wait").shipped
    assert placement is not None
    assert placement.executor.timeout_ms == 30_000
