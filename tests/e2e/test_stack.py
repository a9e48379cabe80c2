"""The stack itself: what a deployment keeps, what it refuses, and what its permissions are good for."""

import json
import uuid
from dataclasses import replace
from typing import Any

import pytest

from local.errors import CloudError
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.s3 import S3Values
from signpost.model import CatalogueItem
from tests.support.catalogues import store_stack_catalogue
from tests.support.laptop import Laptop, MakeKey, Stack

pytestmark = pytest.mark.cloud

ITEM = CatalogueItem("deploy_pipeline", "workflow", "Deploy Pipeline")
STACK = "updated"
UPDATED = {"AuthMode": "both", "MemorySize": "512", "LogLevel": "DEBUG"}
"""As the first test leaves the stack: the second one takes it like that, or makes it so."""


def test_a_tenant_without_a_catalogue_gets_an_empty_list(laptop: Laptop, product_stack: Stack) -> None:
    tenant = f"t-{uuid.uuid4().hex[:12]}"
    assert product_stack.list_home_items(laptop.make_key(product_stack, tenant)) == []


@pytest.mark.invariant(11)
def test_an_update_and_a_second_deploy_keep_the_data(laptop: Laptop, make_key: MakeKey) -> None:
    first = laptop.deploy(STACK, AuthMode="both")
    key = make_key(first)
    store_stack_catalogue(laptop, first, "default", [ITEM])
    updated = laptop.deploy(STACK, "product", **UPDATED)
    assert [item["id"] for item in updated.list_home_items(key)] == ["deploy_pipeline"]
    again = laptop.deploy(STACK, "product", **UPDATED)
    assert [item["id"] for item in again.list_home_items(key)] == ["deploy_pipeline"]
    assert again.deployed.outputs == first.deployed.outputs


def test_restored_tables_replace_the_tables_of_the_stack(laptop: Laptop, make_key: MakeKey) -> None:
    own = laptop.deploy(STACK, "product", **UPDATED)
    key, outputs = make_key(own), own.deployed.outputs
    started = start_workflow(laptop, own, key)
    stream = restore_table(laptop, outputs["RegistryTableName"], "restored-registry")
    steps = restore_table(laptop, outputs["WorkflowsTableName"], "restored-workflows")
    parameters = {
        "RegistryTableName": "restored-registry",
        "RegistryStreamArn": stream,
        "WorkflowsTableName": "restored-workflows",
        "WorkflowsStreamArn": steps,
    }
    moved = laptop.deploy(STACK, "product", **UPDATED, **parameters)
    assert moved.deployed.outputs["RegistryTableName"] == "restored-registry"
    assert moved.deployed.outputs["WorkflowsTableName"] == "restored-workflows"
    assert call_tool(moved, key, "workflow.get", workflowId=started["workflowId"])["state"] == "open"
    store_stack_catalogue(laptop, moved, "default", [ITEM])
    assert [item["id"] for item in moved.list_home_items(key)] == ["deploy_pipeline"]


def start_workflow(laptop: Laptop, stack: Stack, key: str) -> Any:
    table, bucket = (stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
    values = S3Values(lambda: laptop.client("s3"), bucket)
    document = json.dumps({"initialState": "open", "states": {"open": {}}})
    definition = DynamoDefinitionTexts(laptop.client("dynamodb"), table, values).keep("default", document)
    store_stack_catalogue(laptop, stack, "default", [replace(ITEM, definition=definition)])
    return call_tool(stack, key, "workflow.start", definitionId=ITEM.id)


def call_tool(stack: Stack, key: str, tool: str, **args: Any) -> Any:
    return stack.request(key, "tools/call", {"name": tool, "arguments": args}).json["result"]["structuredContent"]


def restore_table(laptop: Laptop, source: str, target: str) -> str:
    """Under another name, with a stream of its own; answers that."""
    dynamodb = laptop.client("dynamodb")
    described = dynamodb.describe_table(TableName=source)["Table"]
    told = ("IndexName", "KeySchema", "Projection")
    indexes = [{name: index[name] for name in told} for index in described.get("GlobalSecondaryIndexes", [])]
    dynamodb.create_table(
        TableName=target,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=described["AttributeDefinitions"],
        KeySchema=described["KeySchema"],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
    )
    for page in dynamodb.get_paginator("scan").paginate(TableName=source):
        for row in page["Items"]:
            dynamodb.put_item(TableName=target, Item=row)
    return dynamodb.describe_table(TableName=target)["Table"]["LatestStreamArn"]


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
