"""A stack with long lists of executors and origins, up to the length that CloudFormation accepts in a parameter."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from local.limits import LONGEST_ENVIRONMENT, LONGEST_POLICIES, measure_environment, measure_policy
from local.longest_values import LONGEST_PARAMETER
from signpost.adapters.dynamodb import DynamoDirectory
from signpost.contract import Executor, HostedFunction
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

STACK = "long-lists"
ARN_PREFIX = "arn:aws:lambda:us-east-1:000000000000:function:"
EXECUTORS = [f"{ARN_PREFIX}executor-{number:02}" for number in range(60)]
ORIGINS = [f"https://page-{number:02}.example.com" for number in range(100)]


@dataclass(frozen=True, slots=True)
class LongLists:
    laptop: Laptop
    stack: Stack

    def load(self, executor: str) -> str:
        """Ask for the load of an executor that does not exist, and return the code of the refusal."""
        event = json.dumps({"function_id": "skills::load", "payload": {"executor": executor}})
        name = self.stack.deployed.outputs["RegistryFunctionName"]
        answer = self.laptop.client("lambda").invoke(FunctionName=name, Payload=event.encode())
        return json.loads(answer["Payload"].read())["error"]["code"]

    def list_configurations(self) -> list[Any]:
        pages = self.laptop.client("lambda").get_paginator("list_functions").paginate()
        prefix = f"{self.stack.deployed.name}-"
        return [one for page in pages for one in page["Functions"] if one["FunctionName"].startswith(prefix)]

    def measure_policies(self, role_arn: str) -> int:
        """Return the length of the inline policies of a role together."""
        iam, role = self.laptop.client("iam"), role_arn.rpartition("/")[2]
        names = iam.list_role_policies(RoleName=role)["PolicyNames"]
        documents = [iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names]
        return sum(
            measure_policy(json.loads(document) if isinstance(document, str) else document) for document in documents
        )


@pytest.fixture(scope="module")
def long_lists(laptop: Laptop) -> LongLists:
    executors, origins = ",".join(EXECUTORS), ",".join(ORIGINS)
    assert max(len(executors), len(origins)) <= LONGEST_PARAMETER
    stack = laptop.deploy(
        STACK, AuthMode="both", ExecutorFunctions=executors, MoreOrigins=origins, PassedClaims="department,groups"
    )
    return LongLists(laptop, stack)


@pytest.mark.invariant(107)
def test_pages_of_a_long_list_are_allowed_and_no_others(long_lists: LongLists) -> None:
    answer = long_lists.stack.send("POST", "/mcp", headers={"origin": ORIGINS[-1]})
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (401, ORIGINS[-1])
    assert long_lists.stack.send("POST", "/mcp", headers={"origin": "https://evil.example.com"}).status == 403


def test_executors_of_a_long_list_may_be_loaded_and_no_others(long_lists: LongLists) -> None:
    assert long_lists.load(EXECUTORS[-1]) == "no_executor"
    assert long_lists.load(f"{ARN_PREFIX}another") == "not_allowed"


@pytest.mark.invariant(174)
def test_lists_go_by_the_claims_that_the_parameter_names_and_no_others(long_lists: LongLists) -> None:
    laptop, stack = long_lists.laptop, long_lists.stack
    directory = DynamoDirectory(laptop.client("dynamodb"), stack.deployed.outputs["RegistryTableName"])
    sell = HostedFunction("yard::sell", name="sell", visible_when={"claim": {"department": "sales"}})
    dig = HostedFunction("yard::dig", name="dig", visible_when={"claim": {"country": "fr"}})
    assert directory.place("claimed", Executor(EXECUTORS[0], "secret:yard", 1_000), [sell, dig]) == []

    def list_tools(**claims: str) -> str:
        token = laptop.issuer.access_token("reader", stack.url, tenant="claimed", **claims)
        answer = stack.request(token, "tools/list", path="/mcp/flat")
        assert answer.status == 200, answer.text
        return answer.text

    seller = list_tools(department="sales", country="fr")
    assert ("skill:sell" in seller, "skill:dig" in seller) == (True, False)
    assert "skill:sell" not in list_tools(department="legal")


def test_a_stack_with_long_lists_stays_within_the_limits(long_lists: LongLists) -> None:
    """The emulator has neither limit."""
    configurations = long_lists.list_configurations()
    assert configurations
    for one in configurations:
        assert measure_environment(one["Environment"]["Variables"]) <= LONGEST_ENVIRONMENT, one["FunctionName"]
        assert long_lists.measure_policies(one["Role"]) <= LONGEST_POLICIES, one["FunctionName"]
