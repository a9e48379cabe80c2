"""The stack itself: what a deployment keeps, what it refuses, and what its permissions are good for."""

import json
import time
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from local.errors import CloudError
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.s3 import S3Values
from signpost.model import CatalogueItem
from tests.support.catalogues import store_stack_catalogue
from tests.support.laptop import Laptop, MakeKey, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

ITEM = CatalogueItem("deploy_pipeline", "workflow", "Deploy Pipeline")
STACK = "updated"
LEASE_MS = 10_000
UPDATED = {"AuthMode": "both", "MemorySize": "512", "LogLevel": "DEBUG"}
"""As the first test leaves the stack: the second one takes it like that, or makes it so."""


def test_a_tenant_without_a_catalogue_gets_an_empty_list(laptop: Laptop, product_stack: Stack) -> None:
    tenant = f"t-{uuid.uuid4().hex[:12]}"
    assert product_stack.list_published_ids(laptop.make_key(product_stack, tenant)) == []


@pytest.mark.invariant(11)
def test_an_update_and_a_second_deploy_keep_the_data(laptop: Laptop, make_key: MakeKey) -> None:
    first = laptop.deploy(STACK, AuthMode="both")
    key = make_key(first)
    store_stack_catalogue(laptop, first, "default", [ITEM])
    updated = laptop.deploy(STACK, "product", **UPDATED)
    assert updated.list_published_ids(key) == ["deploy_pipeline"]
    again = laptop.deploy(STACK, "product", **UPDATED)
    assert again.list_published_ids(key) == ["deploy_pipeline"]
    assert again.deployed.outputs == first.deployed.outputs


@pytest.mark.invariant(115)
def test_restored_tables_serve_keys_catalogue_and_running_workflows(laptop: Laptop, make_key: MakeKey) -> None:
    own = laptop.deploy(STACK, "product", **UPDATED)
    key, outputs = make_key(own), own.deployed.outputs
    publish_runs(laptop, own)
    lease, loan = (call_tool(own, key, "workflow.start", definitionId=name) for name in ("lease", "loan"))
    ends_at = time.time() + LEASE_MS / 1000
    parameters = {
        **restore_table(laptop, outputs["RegistryTableName"], "Registry"),
        **restore_table(laptop, outputs["WorkflowsTableName"], "Workflows"),
    }
    assert give_back(own, key, loan)["state"] == "returned"
    later_key = make_key(own)

    moved = laptop.deploy(STACK, "product", **UPDATED, **parameters)

    for table in ("RegistryTableName", "WorkflowsTableName"):
        assert moved.deployed.outputs[table] == parameters[table]
    assert moved.list_published_ids(key) == ["lease", "loan"]
    assert moved.request(later_key).status == 401, "the restored table is older than this key"
    assert call_tool(moved, key, "workflow.get", workflowId=loan["workflowId"])["state"] == "held"
    assert give_back(moved, key, loan)["state"] == "returned"
    wait_for("the deadline of the lease", time.time, lambda now: now > ends_at)
    laptop.client("lambda").invoke(
        FunctionName=moved.deployed.outputs["SweeperFunctionName"], Payload=json.dumps({"sweep": "due"}).encode()
    )
    wait_for(
        "a worker to end the lease that the index of the restored table names",
        lambda: read_state(laptop, moved, lease["workflowId"]),
        lambda state: state == "lapsed",
    )


def publish_runs(laptop: Laptop, stack: Stack) -> None:
    """Publish a loan, which a client gives back, and a lease, which lapses."""
    table, bucket = (stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
    values = S3Values(lambda: laptop.client("s3"), bucket)
    texts = DynamoDefinitionTexts(laptop.client("dynamodb"), table, values)
    states = {
        "held": {"transitions": {"give_back": {"target": "returned"}}},
        "returned": {"terminal": True},
        "lapsed": {"terminal": True},
    }
    loan = {"initialState": "held", "states": states}
    lease = {**loan, "timeoutMs": LEASE_MS, "onTimeout": {"target": "lapsed"}}
    items = [
        CatalogueItem(name, "workflow", name, definition=texts.keep("default", json.dumps(document)))
        for name, document in (("lease", lease), ("loan", loan))
    ]
    store_stack_catalogue(laptop, stack, "default", items)


def give_back(stack: Stack, key: str, started: Any) -> Any:
    submitted: dict[str, Any] = {
        "workflowId": started["workflowId"],
        "expectedVersion": 1,
        "transition": "give_back",
        "arguments": {},
    }
    return call_tool(stack, key, "workflow.submit", **submitted)


def read_state(laptop: Laptop, stack: Stack, run: str) -> str:
    """Read the state from the table, since a client that asks would have the deadline noticed."""
    outputs = stack.deployed.outputs
    values = S3Values(lambda: laptop.client("s3"), outputs["ContentBucketName"])
    instance = DynamoInstanceStore(laptop.client("dynamodb"), outputs["WorkflowsTableName"], values).load(
        "default", run
    )
    assert instance is not None
    return instance.state


def call_tool(stack: Stack, key: str, tool: str, **args: Any) -> Any:
    return stack.request(key, "tools/call", {"name": tool, "arguments": args}).json["result"]["structuredContent"]


def restore_table(laptop: Laptop, source: str, name: str) -> Mapping[str, str]:
    """Restore a table into a new one, as docs/operations.md does. Return the parameters of a stack that uses it."""
    dynamodb, target = laptop.client("dynamodb"), f"restored-{name.lower()}"
    dynamodb.restore_table_to_point_in_time(
        SourceTableName=source, TargetTableName=target, UseLatestRestorableTime=True
    )
    dynamodb.get_waiter("table_exists").wait(TableName=target, WaiterConfig={"Delay": 1})
    dynamodb.update_time_to_live(
        TableName=target, TimeToLiveSpecification={"AttributeName": "expires_at", "Enabled": True}
    )
    dynamodb.update_table(TableName=target, StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    stream = dynamodb.describe_table(TableName=target)["Table"]["LatestStreamArn"]
    return {f"{name}TableName": target, f"{name}StreamArn": stream}


@pytest.mark.invariant(3)
@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"AuthMode": "local", "EndpointUrl": ""}, "laptop cloud"),
        ({"AuthMode": "jwt", "OidcIssuer": ""}, "OidcIssuer"),
        ({"AuthMode": "api-key", "RegistryTableName": "restored"}, "RegistryStreamArn"),
        ({"AuthMode": "api-key", "WorkflowsTableName": "restored"}, "WorkflowsStreamArn"),
        ({"AuthMode": "api-key", "DomainName": "gateway.test"}, "CertificateArn"),
        ({"AuthMode": "api-key", "AllowedOrigins": ",".join(["https://page.example"] * 29)}, "AllowedOrigins"),
    ],
)
def test_a_deployment_with_unfit_parameters_is_refused(laptop: Laptop, parameters: dict[str, str], says: str) -> None:
    with pytest.raises(CloudError, match=says):
        laptop.deploy("refused", "product", **parameters)
