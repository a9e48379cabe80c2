"""What every store promises of when instances are to be looked at."""

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from local.intrinsics import parse_template
from local.stack import PROJECT
from signpost.adapters.dynamodb.due import DynamoDue
from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.memory import MemoryTextStore
from signpost.adapters.memory.due import MemoryDue
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.workflow.ports import DueInstances, InstanceStore
from signpost.workflow.wakes import WakeMessage
from tests.contract.conftest import ENGINES
from tests.support.due_instances import write_due_instance

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TEMPLATE: Any = parse_template((PROJECT / "template.yaml").read_text())
TABLE = TEMPLATE["Resources"]["WorkflowsTable"]["Properties"]
NOW = 1_800_000_000.5
MANY = 1_000


@dataclass(frozen=True, slots=True)
class Store:
    instances: InstanceStore
    due: DueInstances

    def write(self, tenant: str, workflow_id: str, due_at: float | None) -> None:
        """An instance, with when it is due from now on."""
        write_due_instance(self.instances, tenant, workflow_id, due_at)

    def found(self, now: float = NOW, most: int = MANY) -> list[str]:
        return [message.workflow_id for message in self.due.find_due(now, most)]


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, dynamodb: Any) -> Store:
    if request.param == "memory":
        memory = MemoryInstanceStore()
        return Store(memory, MemoryDue(memory))
    client: DynamoDBClient = dynamodb(request.param)
    table = f"due-{uuid.uuid4().hex[:12]}"
    shape = {name: TABLE[name] for name in ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")}
    client.create_table(TableName=table, BillingMode="PAY_PER_REQUEST", **shape)
    client.get_waiter("table_exists").wait(TableName=table)
    return Store(DynamoInstanceStore(client, table, MemoryTextStore()), DynamoDue(client, table))


def test_due_instances_are_found_with_their_tenants(store: Store) -> None:
    store.write("acme", "wf_a", NOW)
    store.write("zed", "wf_b", NOW - 0.25)
    store.write("zed", "wf_later", NOW + 0.25)
    store.write("zed", "wf_never", None)
    assert store.due.find_due(NOW, MANY) == [WakeMessage("zed", "wf_b"), WakeMessage("acme", "wf_a")]
    assert store.found(NOW + 1) == ["wf_b", "wf_a", "wf_later"]
    assert store.found(NOW - 1) == []


@pytest.mark.invariant(54)
def test_the_longest_due_instance_comes_first(store: Store) -> None:
    for number in range(40):
        store.write("acme", f"wf_{number}", NOW - (number * 17 % 40))
    oldest_first = sorted(range(40), key=lambda number: -(number * 17 % 40))
    assert store.found() == [f"wf_{number}" for number in oldest_first]
    assert store.found(most=7) == [f"wf_{number}" for number in oldest_first[:7]]
    assert store.found(most=1) == [f"wf_{oldest_first[0]}"]


def test_a_rewritten_instance_is_due_at_its_new_time(store: Store) -> None:
    for due_at in (NOW - 5, NOW + 5):
        store.write("acme", "wf_a", due_at)
    store.write("acme", "wf_b", NOW - 5)
    store.write("acme", "wf_b", None)
    assert store.found() == []
    assert store.found(NOW + 5) == ["wf_a"]


def test_two_tenants_may_have_instances_of_one_name(store: Store) -> None:
    store.write("acme", "wf_a", NOW)
    store.write("zed", "wf_a", NOW - 1)
    assert store.due.find_due(NOW, MANY) == [WakeMessage("zed", "wf_a"), WakeMessage("acme", "wf_a")]
