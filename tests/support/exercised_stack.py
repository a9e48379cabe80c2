"""A stack on which tests exercise everything that its functions need permissions for."""

import io
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zipfile import ZipFile

from signpost.adapters.dynamodb import DynamoBreakers, DynamoDirectory, DynamoRuntimeSettings
from signpost.adapters.dynamodb.content_head import ContentHead, head_row
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.outbox import ChangeBatch
from signpost.adapters.s3 import S3ChangeBatchStore, S3Values
from signpost.content.model import Change
from signpost.contract import BreakerState, Executor, HostedFunction
from signpost.model import CatalogueItem, Json
from stage.calls import CALL_FUNCTION
from stage.samples import TENANT
from tests.support.catalogues import store_stack_catalogue
from tests.support.functions import Functions, connect_functions
from tests.support.laptop import Laptop, Stack
from tests.support.receiver import Receiver

FOREIGN_LAMBDA = "stranger"
FOREIGN_FUNCTION, LONG_FUNCTION = "strange::function", "strange::long"
"""A Lambda function of another stack, and the functions that it hosts. One answers with something that is no reply, the
other with a text of as many characters as its argument says."""
ASKING_FUNCTION = "asks::once"
"""Another function that it hosts; it asks a question whose answer counts once."""
STRANGER = """\
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
QUESTION = {"method": "elicitation/create", "params": {"message": "Who are you?", "requestedSchema": FORM}}

def handler(event, context):
    call = event.get("call", {})
    if call.get("function") == "asks::once" and call.get("answers"):
        return {"signpost": 1, "result": "answered"}
    if call.get("function") == "asks::once":
        return {"signpost": 1, "inputRequired": {"requests": {"who": QUESTION}, "state": None, "singleUse": True}}
    if call.get("function") == "strange::long":
        return {"signpost": 1, "result": "x" * call["arguments"]["characters"]}
    return {"statusCode": 200, "body": "hello"}
"""
RELEASE: Mapping[str, Any] = {
    "initialState": "draft",
    "states": {
        "draft": {
            "transitions": {
                "ask": {
                    "target": "waiting",
                    "inputSchema": {"type": "object"},
                    "executor": {"kind": "human"},
                    "output": {"what": "$.arguments.what"},
                }
            }
        },
        "waiting": {"transitions": {"approve": {"target": "released", "actor": "human", "decision": "approve"}}},
        "released": {"terminal": True},
    },
}
WORK: Mapping[str, Any] = {
    "initialState": "ready",
    "states": {
        "ready": {
            "transitions": {
                "wait": {
                    "target": "done",
                    "executor": {"kind": "function", "function": "core::wait", "arguments": {"seconds": 0}},
                },
                "fail": {"target": "done", "executor": {"kind": "function", "function": FOREIGN_FUNCTION}},
            }
        },
        "asked": {"transitions": {"approve": {"target": "done", "actor": "human"}}},
        "done": {"terminal": True},
    },
    "timeoutMs": 3_600_000,
    "onTimeout": {"target": "done"},
}


@dataclass(frozen=True, slots=True)
class ExercisedStack:
    """A stack of the test stage, with a tool that calls any function, and a function with long answers."""

    laptop: Laptop
    stack: Stack
    functions: Functions

    def read_output(self, name: str) -> str:
        return self.stack.deployed.outputs[name]

    @property
    def table(self) -> str:
        return self.read_output("RegistryTableName")

    @property
    def dynamodb(self) -> Any:
        return self.laptop.client("dynamodb")

    @property
    def directory(self) -> DynamoDirectory:
        return DynamoDirectory(self.dynamodb, self.table)

    @property
    def breakers(self) -> DynamoBreakers:
        return DynamoBreakers(self.dynamodb, self.table)

    @property
    def change_batches(self) -> S3ChangeBatchStore:
        s3 = self.laptop.client("s3")
        return S3ChangeBatchStore(lambda: s3, self.read_output("ContentBucketName"))

    @property
    def values(self) -> S3Values:
        s3 = self.laptop.client("s3")
        return S3Values(lambda: s3, self.read_output("ContentBucketName"))

    def leave_overlay(self, tenant: str, changes: Sequence[Change], version: int) -> None:
        """Publish changes of a tenant as a change batch that is not yet written into its rows."""
        overlay = ChangeBatch(1, changes).save(tenant, self.change_batches)
        self.dynamodb.put_item(
            TableName=self.table, Item=head_row(tenant, ContentHead(version=version, overlay=overlay))
        )

    def call_registry(self, function_id: str, payload: Mapping[str, Any]) -> Any:
        return self.functions.invoke("Registry", {"function_id": function_id, "payload": payload})

    def make_token(self, person: str) -> str:
        return self.laptop.issuer.access_token(person, self.stack.url, tenant=TENANT)

    def call_tool(self, token: str, name: str, arguments: Mapping[str, Json], path: str = "/mcp") -> Any:
        """Call a tool and return its result; empty if it has none."""
        answer = self.stack.request(token, "tools/call", {"name": name, "arguments": dict(arguments)}, path)
        return answer.json.get("result", {})

    def call_function(self, token: str, function: str, **arguments: Json) -> Any:
        """Call a function, and return the executor's reply as the gateway received it."""
        called: Mapping[str, Json] = {"function": function, "arguments": arguments or {"seconds": 0}}
        return self.call_tool(token, CALL_FUNCTION.name, called).get("structuredContent", {})

    def define(self, name: str, document: Mapping[str, Any], tenant: str = TENANT) -> CatalogueItem:
        """Store a workflow definition, and return the catalogue item that names it."""
        texts = DynamoDefinitionTexts(self.dynamodb, self.table, self.values)
        return CatalogueItem(name, "workflow", name, definition=texts.keep(tenant, json.dumps(document)))

    def set_breakers(self) -> None:
        """Close the breaker of the function that fails, and open that of a working function until now."""
        self.breakers.close(TENANT, FOREIGN_FUNCTION)
        self.breakers.open(TENANT, "core::wait", BreakerState(opened_until=0, failures=1, last_failure="crashed"))

    def list_open_breakers(self) -> set[str]:
        return set(self.breakers.of_tenant(TENANT))


def _create_stranger(laptop: Laptop) -> str:
    """Create the Lambda function of another stack, and return its ARN."""
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = laptop.client("iam").create_role(RoleName=FOREIGN_LAMBDA, AssumeRolePolicyDocument=policy)["Role"]["Arn"]
    code = io.BytesIO()
    with ZipFile(code, "w") as archive:
        archive.writestr("index.py", STRANGER)
    created = laptop.client("lambda").create_function(
        FunctionName=FOREIGN_LAMBDA,
        Runtime="python3.13",
        Role=role,
        Handler="index.handler",
        Code={"ZipFile": code.getvalue()},
    )
    return created["FunctionArn"]


def deploy_exercised_stack(laptop: Laptop, receiver: Receiver) -> ExercisedStack:
    """Deploy the stack, with a catalogue, two definitions, a search provider and an executor of another stack."""
    stranger = _create_stranger(laptop)
    secret = laptop.client("secretsmanager").create_secret(Name=f"search-{uuid.uuid4().hex[:8]}", SecretString="key")
    stack = laptop.deploy(
        "exercised",
        variant="test",
        AuthMode="both",
        ExecutorFunctions=stranger,
        AllowedPrivateHosts="127.0.0.1",
        SearchProvider="json",
        SearchEndpoint=f"{receiver.url}/{{query}}",
        SearchKeySecretArn=secret["ARN"],
    )
    exercised = ExercisedStack(laptop, stack, connect_functions(laptop, stack))
    items = [CatalogueItem(f"item-{number:03}", "workflow", "Item") for number in range(201)]
    defined = [exercised.define("release", RELEASE), exercised.define("work", WORK)]
    store_stack_catalogue(laptop, stack, TENANT, [*items, *defined])
    store_stack_catalogue(laptop, stack, "default", items)
    DynamoRuntimeSettings(exercised.dynamodb, exercised.table).set(TENANT, FOREIGN_FUNCTION, "breaker_failures", 1)
    exercised.functions.configure("Sweeper", HURRIED="0.001")
    for name in ("Delivery", "Worker"):  # only the test takes messages from their queues
        exercised.functions.configure_event_source(name, Enabled=False)
    # Started in advance, because a call of it has only three seconds.
    exercised.functions.lambdas.invoke(FunctionName=stranger, Payload=b"{}")
    for tenant in (TENANT, "default"):
        exercised.directory.place(
            tenant,
            Executor(stranger, "none", 3_000),
            [
                HostedFunction(FOREIGN_FUNCTION, readable=True),
                HostedFunction(LONG_FUNCTION),
                HostedFunction(ASKING_FUNCTION, input_schema={"type": "object"}),
            ],
        )
    return exercised
