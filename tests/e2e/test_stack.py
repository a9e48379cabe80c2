"""The stack itself: what a deployment keeps, what it refuses, and what its permissions are good for."""

import pytest

from local.errors import CloudError
from signpost.adapters.dynamodb import DynamoCatalogue
from signpost.model import CatalogueItem
from tests.support.laptop import Laptop, MakeKey, Stack

pytestmark = pytest.mark.cloud

ITEM = CatalogueItem("deploy_pipeline", "workflow", "Deploy Pipeline")


def catalogue(laptop: Laptop, stack: Stack) -> DynamoCatalogue:
    return DynamoCatalogue(laptop.client("dynamodb"), stack.deployed.outputs["RegistryTableName"])


def test_an_empty_catalogue_is_answered_as_one(both: Stack, make_key: MakeKey) -> None:
    assert both.home(make_key(both)) == []


@pytest.mark.invariant(11)
def test_an_update_and_a_second_deploy_keep_the_data(laptop: Laptop, make_key: MakeKey) -> None:
    first = laptop.deploy("updated", AuthMode="both")
    key = make_key(first)
    assert catalogue(laptop, first).publish("default", [ITEM], replacing=0)
    updated = laptop.deploy("updated", AuthMode="both", MemorySize="512", LogLevel="DEBUG")
    assert [item["id"] for item in updated.home(key)] == ["deploy_pipeline"]
    again = laptop.deploy("updated", AuthMode="both", MemorySize="512", LogLevel="DEBUG")
    assert [item["id"] for item in again.home(key)] == ["deploy_pipeline"]
    assert again.deployed.outputs == first.deployed.outputs


def test_a_restored_table_is_used_in_place_of_the_stacks_own(laptop: Laptop, make_key: MakeKey) -> None:
    own = laptop.deploy("restored", AuthMode="both")
    key = make_key(own)
    dynamodb = laptop.client("dynamodb")
    source = own.deployed.outputs["RegistryTableName"]
    described = dynamodb.describe_table(TableName=source)["Table"]
    dynamodb.create_table(
        TableName="restored-registry",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=described["AttributeDefinitions"],
        KeySchema=described["KeySchema"],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )
    stream = dynamodb.describe_table(TableName="restored-registry")["Table"]["LatestStreamArn"]
    for page in dynamodb.get_paginator("scan").paginate(TableName=source):
        for row in page["Items"]:
            dynamodb.put_item(TableName="restored-registry", Item=row)
    parameters = {"RegistryTableName": "restored-registry", "RegistryStreamArn": stream}
    moved = laptop.deploy("restored", "product", AuthMode="both", **parameters)
    assert moved.deployed.outputs["RegistryTableName"] == "restored-registry"
    assert catalogue(laptop, moved).publish("default", [ITEM], replacing=0)
    assert [item["id"] for item in moved.home(key)] == ["deploy_pipeline"]


@pytest.mark.invariant(3)
@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"AuthMode": "local", "EndpointUrl": ""}, "laptop cloud"),
        ({"AuthMode": "jwt", "OidcIssuer": ""}, "OidcIssuer"),
        ({"AuthMode": "api-key", "RegistryTableName": "restored"}, "RegistryStreamArn"),
        ({"AuthMode": "api-key", "DomainName": "gateway.test"}, "CertificateArn"),
    ],
)
def test_a_deployment_that_cannot_work_is_refused(laptop: Laptop, parameters: dict[str, str], says: str) -> None:
    with pytest.raises(CloudError, match=says):
        laptop.deploy("refused", "product", **parameters)
