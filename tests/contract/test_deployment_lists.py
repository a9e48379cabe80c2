"""What the core relies on of the lists of the deployment, whichever adapter stands behind the port."""

from collections.abc import Callable
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb.deployment_lists import DynamoDeploymentLists
from signpost.adapters.memory.deployment_lists import MemoryDeploymentLists
from signpost.deployment_lists import DeploymentLists
from signpost.ports import DeploymentListStore
from tests.contract.conftest import ENGINES, TABLE

LONG = DeploymentLists(
    origins=tuple(f"https://page-{number}.example" for number in range(1_000)),
    executors=tuple(f"arn:aws:lambda:us-east-1:000000000000:function:executor-{number}" for number in range(1_000)),
    claims=tuple(f"https://acme.test/claims/{number}" for number in range(100)),
)


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, dynamodb: Callable[[str], Any]) -> DeploymentListStore:
    if request.param == "memory":
        return MemoryDeploymentLists()
    return DynamoDeploymentLists(dynamodb(request.param), TABLE)


def test_lists_are_empty_at_first_and_read_as_they_were_last_written(store: DeploymentListStore) -> None:
    store.write(DeploymentLists())
    assert store.read() == DeploymentLists()
    store.write(LONG)
    assert store.read() == LONG
    store.write(DeploymentLists(executors=("arn:one",)))
    assert store.read() == DeploymentLists(executors=("arn:one",))


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_a_row_of_an_earlier_release_names_no_claims(engine: str, dynamodb: Callable[[str], Any]) -> None:
    client = dynamodb(engine)
    store = DynamoDeploymentLists(client, TABLE)
    store.write(DeploymentLists(executors=("arn:one",), claims=("department",)))
    key = keys.deployment_lists()
    client.update_item(TableName=TABLE, Key=key, UpdateExpression="REMOVE claims")
    assert store.read() == DeploymentLists(executors=("arn:one",))
