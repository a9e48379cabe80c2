"""Deploys the executors of the test stage: a stack of their own, placed in the directory of the stack that calls
them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from local.stack import PROJECT, machine_architecture
from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import DynamoDirectory, DynamoRuntimeSettings
from signpost.adapters.executor_configuration import LambdaConfiguration
from signpost.adapters.lambdas import BotoLambdaTransport
from signpost.adapters.secrets_manager import SecretMasterKeys, TaggedExecutorSecrets
from signpost.contract import Executor, HostedFunction
from signpost.directory.keys import ExecutorKeys
from signpost.directory.offers import Offers
from signpost.directory.placement import Placer
from signpost.model import Json, JsonObject, SettingValue
from stage.calls import CALL_FUNCTION
from stage.effects import build_script_key
from tests.support.laptop import Laptop, Stack

STACK = "stage-executors"
TIMEOUT_MS = 3_000
SHORT_LEASE_MARGIN_MS = "1000"
"""The parameter LeaseMarginMs of stacks in which tests wait for the end of a lease."""
EXECUTOR_NAMES = ("blocking", "trials", "stub", "patient", "stranger", "doomed")
"""The executors of `tests/stage/executors.yaml`."""
FIXTURE_NAMES = ("conformance", "interview")
"""The executors of `tests/stage/fixtures.yaml`."""


def list_arns(stack: str, names: Sequence[str] = EXECUTOR_NAMES) -> Sequence[str]:
    """Return the ARNs of the executors, known before they are deployed, so that the gateway's stack can be allowed to
    call them."""
    return [f"arn:aws:lambda:us-east-1:000000000000:function:{stack}-{name}" for name in names]


@dataclass(frozen=True, slots=True)
class Executors:
    """The deployed executors, for everything that a test does with them besides calling them through the gateway."""

    laptop: Laptop
    gateway: Stack
    stack: str
    outputs: Mapping[str, str]

    def find_executor(self, name: str) -> Executor:
        arn = f"arn:aws:lambda:us-east-1:000000000000:function:{self.stack}-{name}"
        return Executor(arn, self.outputs.get(f"{name.capitalize()}Keys") or self.outputs["StubKeys"], TIMEOUT_MS)

    def place(
        self, name: str, hosted: Sequence[HostedFunction], tenant: str | None, *, timeout_ms: int = TIMEOUT_MS
    ) -> None:
        """Place functions that the executor's manifest does not list; any id is possible."""
        self._placer.place_as(replace(self.find_executor(name), timeout_ms=timeout_ms), hosted, tenant)

    def place_manifest(self, name: str, tenant: str | None) -> None:
        """Place the functions that the executor's manifest lists."""
        assert self._placer.place(self.find_executor(name).arn, tenant)

    @property
    def _placer(self) -> Placer:
        secretsmanager, functions = self.laptop.client("secretsmanager"), self.laptop.client("lambda")
        clock = SystemClock()
        link = BotoLambdaTransport(lambda: functions, clock=clock, log_abandoned_call=lambda _: None)
        stack_keys = SecretMasterKeys(lambda: secretsmanager, self.gateway.deployed.outputs["MasterSecretArn"])
        secrets = TaggedExecutorSecrets(lambda: secretsmanager)
        return Placer(
            offers=Offers(inspector=LambdaConfiguration(lambda: functions), link=link, clock=clock),
            keys=ExecutorKeys(stack_keys=stack_keys, secrets=secrets, directory=self.directory),
            directory=self.directory,
        )

    @property
    def directory(self) -> DynamoDirectory:
        return DynamoDirectory(self.laptop.client("dynamodb"), self.gateway.deployed.outputs["RegistryTableName"])

    def invoke(self, name: str, message: Mapping[str, Any]) -> bytes:
        answer = self.laptop.client("lambda").invoke(
            FunctionName=f"{self.stack}-{name}", Payload=json.dumps(message).encode()
        )
        assert "FunctionError" not in answer, answer["Payload"].read()
        return answer["Payload"].read()

    def set_settings(self, tenant: str, **settings: SettingValue) -> None:
        table = self.gateway.deployed.outputs["RegistryTableName"]
        stored = DynamoRuntimeSettings(self.laptop.client("dynamodb"), table)
        for name, value in settings.items():
            stored.set(tenant, None, name, value)

    def make_key(self, tenant: str) -> str:
        """Return a credential of the tenant."""
        return self.laptop.make_key(self.gateway, tenant)

    def call(self, key: str, function: str, arguments: JsonObject | None = None, **request: Json) -> Any:
        """Call a function, and return the reply as the gateway received it."""
        request_arguments: JsonObject = {"function": function, "arguments": arguments or {}, **request}
        answer = self.gateway.request(key, "tools/call", {"name": CALL_FUNCTION.name, "arguments": request_arguments})
        assert answer.status == 200, answer.text
        assert "result" in answer.json, answer.text
        return answer.json["result"]["structuredContent"]

    def restart(self, name: str) -> None:
        self.laptop.restart_function(f"{self.stack}-{name}")

    def restart_gateway(self) -> None:
        for function in ("GatewayFunctionName", "NestedCallsFunctionName"):
            self.laptop.restart_function(self.gateway.deployed.outputs[function])

    def read_log(self, function: str) -> str:
        """Return everything that a Lambda function has logged so far."""
        pages = self.laptop.client("logs").get_paginator("filter_log_events")
        group = self.gateway.deployed.outputs["GatewayLogGroup"] if function == "gateway" else self._group(function)
        return "\n".join(event["message"] for page in pages.paginate(logGroupName=group) for event in page["events"])

    def read_log_lines(self, function: str) -> list[dict[str, Any]]:
        """Return the lines of a function's log that are JSON."""
        lines = [line for line in self.read_log(function).split("\n") if line.startswith("{")]
        return [json.loads(line) for line in lines]

    def _group(self, name: str) -> str:
        return f"/aws/lambda/{self.stack}-{name}"

    def count_effect(self, effect: str) -> int:
        """Return how often an effect happened, from the table that only the functions write."""
        row = self._row(effect, "count")
        return int(row["happened"]["N"]) if row else 0

    def write_script(self, tenant: str, function: str, entries: Sequence[Mapping[str, Any]]) -> None:
        row = {
            "pk": {"S": build_script_key(tenant, function)},
            "sk": {"S": "script"},
            "text": {"S": json.dumps(entries)},
        }
        self.laptop.client("dynamodb").put_item(TableName=self.outputs["EffectsTable"], Item=row)

    def list_calls(self, tenant: str, function: str) -> Sequence[Any]:
        """Return the recorded calls of the stub, the first call first."""
        pages = (
            self.laptop.client("dynamodb")
            .get_paginator("query")
            .paginate(
                TableName=self.outputs["EffectsTable"],
                KeyConditionExpression="pk = :pk AND begins_with(sk, :call)",
                ExpressionAttributeValues={":pk": {"S": build_script_key(tenant, function)}, ":call": {"S": "call#"}},
            )
        )
        return [json.loads(row["text"]["S"]) for page in pages for row in page["Items"]]

    def _row(self, pk: str, sk: str) -> Any:
        key = {"pk": {"S": pk}, "sk": {"S": sk}}
        table = self.outputs["EffectsTable"]
        return self.laptop.client("dynamodb").get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")


def deploy_executors(laptop: Laptop, gateway: Stack, stack: str, template: str = "executors.yaml") -> Executors:
    """Create the stack from the text of the template: there is nothing to build, because the code is in the layer."""
    cloudformation = laptop.client("cloudformation")
    outputs = gateway.deployed.outputs
    parameters = {
        "Layer": outputs["LayerArn"],
        "NestedCalls": outputs["NestedCallsFunctionArn"],
        "ContentBucket": outputs["ContentBucketName"],
        "Endpoint": laptop.emulator.url,
        "Architecture": machine_architecture(),
    }
    cloudformation.create_stack(
        StackName=stack,
        TemplateBody=(PROJECT / "tests/stage" / template).read_text(),
        Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()],
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
    )
    cloudformation.get_waiter("stack_create_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
    (described,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    stack_outputs = {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}
    return Executors(laptop, gateway, stack, stack_outputs)
