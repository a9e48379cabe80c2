"""The stack itself: what a deployment keeps, what it refuses, and what its permissions are good for."""

import json
from contextlib import suppress
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from local.errors import CloudError
from local.intrinsics import parse_template
from local.stack import PROJECT
from signpost.adapters.dynamodb import DynamoCatalogue
from signpost.model import CatalogueItem
from signpost.protocol.dispatch import LONGEST_ANSWER
from stage.fixtures import TENANT
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
    )
    for page in dynamodb.get_paginator("scan").paginate(TableName=source):
        for row in page["Items"]:
            dynamodb.put_item(TableName="restored-registry", Item=row)
    moved = laptop.deploy("restored", AuthMode="both", RegistryTableName="restored-registry")
    assert moved.deployed.outputs["RegistryTableName"] == "restored-registry"
    assert catalogue(laptop, moved).publish("default", [ITEM], replacing=0)
    assert [item["id"] for item in moved.home(key)] == ["deploy_pipeline"]


@pytest.mark.invariant(3)
@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"AuthMode": "local", "EndpointUrl": ""}, "laptop cloud"),
        ({"AuthMode": "jwt", "OidcIssuer": ""}, "OidcIssuer"),
        ({"AuthMode": "api-key", "DomainName": "gateway.test"}, "CertificateArn"),
    ],
)
def test_a_deployment_that_cannot_work_is_refused(laptop: Laptop, parameters: dict[str, str], says: str) -> None:
    with pytest.raises(CloudError, match=says):
        laptop.deploy("refused", "product", **parameters)


def granted_actions() -> list[str]:
    """Every action of the gateway's role, but for those on its log: the emulator writes logs by itself."""
    template: Any = parse_template((PROJECT / "template.yaml").read_text())
    policies = template["Resources"]["GatewayRole"]["Properties"]["Policies"]
    actions = [statement["Action"] for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
    flat = [action for listed in actions for action in ([listed] if isinstance(listed, str) else listed)]
    return [action for action in flat if not action.startswith("logs:")]


@pytest.fixture
def exercised(laptop: Laptop) -> Stack:
    """A stack of its own, so that taking a permission away disturbs nobody; of the test stage, which has a tool whose
    answer is as long as one likes."""
    stack = laptop.deploy("exercised", variant="test", AuthMode="both")
    items = [CatalogueItem(f"item-{number:03}", "workflow", "Item") for number in range(201)]
    catalogue(laptop, stack).publish(TENANT, items, replacing=catalogue(laptop, stack).pointer(TENANT).version)
    return stack


def exercise(laptop: Laptop, stack: Stack) -> bool:
    """Requests that need every permission: a token under a key unknown so far, a page with a cursor, and an answer
    that is too long to be sent."""
    laptop.issuer.rotate()
    _forget_the_issuers_keys(laptop, stack)
    _restart(laptop, stack)
    token = laptop.issuer.access_token("reader", stack.url, tenant=TENANT)
    answer = stack.ask(token, "tools/call", {"name": "gateway.home", "arguments": {}})
    if answer.status != 200 or "nextCursor" not in answer.json.get("result", {}).get("structuredContent", {}):
        return False
    arguments = {"characters": LONGEST_ANSWER}
    long = stack.ask(token, "tools/call", {"name": "test_long_answer", "arguments": arguments}).json
    return "result" in long and _can_be_read(long["result"]["content"][1]["uri"])


def _can_be_read(address: str) -> bool:
    with suppress(HTTPError), urlopen(address) as response:  # noqa: S310 - an address of the emulator
        return len(response.read()) > LONGEST_ANSWER
    return False


def _forget_the_issuers_keys(laptop: Laptop, stack: Stack) -> None:
    row = {"pk": {"S": "deployment"}, "sk": {"S": f"issuer-keys#{laptop.issuer.url}"}}
    laptop.client("dynamodb").delete_item(TableName=stack.deployed.outputs["RegistryTableName"], Key=row)


def _restart(laptop: Laptop, stack: Stack) -> None:
    """A new environment variable makes Lambda start anew."""
    functions, name = laptop.client("lambda"), stack.deployed.outputs["GatewayFunctionName"]
    variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    variables["RESTARTED"] = str(int(variables.get("RESTARTED", "0")) + 1)
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})


def test_the_function_works_with_its_permissions(laptop: Laptop, exercised: Stack) -> None:
    assert exercise(laptop, exercised)


@pytest.mark.invariant(16)
@pytest.mark.parametrize("permission", granted_actions())
def test_a_function_stripped_of_one_permission_fails(laptop: Laptop, exercised: Stack, permission: str) -> None:
    iam = laptop.client("iam")
    name = exercised.deployed.outputs["GatewayFunctionName"]
    role = laptop.client("lambda").get_function_configuration(FunctionName=name)["Role"].rsplit("/", 1)[-1]
    (policy,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
    granted = document if isinstance(document, str) else json.dumps(document)
    stripped = granted.replace(f'"{permission}"', '"dynamodb:DescribeLimits"')
    assert stripped != granted
    iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=stripped)
    try:
        assert not exercise(laptop, exercised)
    finally:
        iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=granted)
    assert exercise(laptop, exercised)
