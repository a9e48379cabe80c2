"""Workflows of one tenant of a deployed stack, with steps that functions carry out: driven over HTTP, inspected in the
tables."""

import json
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import DynamoContentStore
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.due import DUE_INDEX
from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.s3 import S3ChangeBatchStore, S3Values
from signpost.content.model import ScopeNames
from signpost.errors import Unavailable
from signpost.workflow.instance import AuditEvent, Instance
from tests.acceptance.bus import add_target
from tests.support import executors as executor_stack
from tests.support.executors import Executors
from tests.support.functions import Functions, connect_functions
from tests.support.laptop import Laptop, Stack
from tests.support.manifests import publish
from tests.support.memory_gateway import GatewayAnswer, build_modern_request

CLIENT_COUNT = 8
"""The number of clients that drive workflows at the same time."""
QUEUE_COUNT_SUFFIXES = ("", "NotVisible", "Delayed")
"""The suffixes of the queue attributes that count its messages."""
type BusEvent = tuple[str, str, str, float]
"""The workflow id, the correlation id, the event type and the time of an event."""


@dataclass(frozen=True, slots=True)
class DeployedWorkflows:
    laptop: Laptop
    stack: Stack
    executors: Executors
    tenant: str
    key: str
    instances: DynamoInstanceStore
    dynamodb: Any
    """A DynamoDB client. It is shared because making a client takes longer than its calls."""
    functions: Functions
    sqs: Any

    def send(self, tool: str, arguments: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> GatewayAnswer:
        message, own = build_modern_request("tools/call", {"name": tool, "arguments": dict(arguments)})
        sent = {**own, "authorization": f"Bearer {self.key}", **(headers or {})}
        return self.stack.send("POST", "/mcp", body=json.dumps(message), headers=sent)

    def call_tool(self, tool: str, **arguments: Any) -> Any:
        answer = self.send(tool, arguments)
        assert answer.status == 200, answer.text
        return answer.json["result"]["structuredContent"]

    def start(self, definition_id: str, **workflow_input: Any) -> Any:
        return self.call_tool("workflow.start", definitionId=definition_id, input=workflow_input)

    def load_instance(self, workflow_id: str) -> Instance:
        try:
            instance = self.instances.load(self.tenant, workflow_id)
        except Unavailable:  # the emulator now and then resets a connection that thousands of calls have used
            instance = self.instances.load(self.tenant, workflow_id)
        assert instance is not None
        return instance

    def list_due(self) -> set[str]:
        """Return the ids of the workflows that are due now or later."""
        table = self.stack.deployed.outputs["WorkflowsTableName"]
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=table, IndexName=DUE_INDEX)
        return {keys.instance_of(row["pk"]["S"])[1] for page in pages for row in page["Items"]}

    def count_queued(self) -> int:
        """Return the number of messages to the worker that it has not finished."""
        queue, names = (
            self.stack.deployed.outputs["WorkQueueUrl"],
            [f"ApproximateNumberOfMessages{n}" for n in QUEUE_COUNT_SUFFIXES],
        )
        attributes = self.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
        return sum(int(attributes[name]) for name in names)

    def count_effects(self) -> Mapping[str, int]:
        """Return how often each effect happened, from the table that only the executors write."""
        pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.executors.outputs["EffectsTable"])
        rows = [row for page in pages for row in page["Items"] if "happened" in row]
        return Counter({row["pk"]["S"]: int(row["happened"]["N"]) for row in rows})

    def read_audit(self, workflow_id: str) -> Sequence[AuditEvent]:
        return self.instances.audit(self.tenant, workflow_id)

    def list_bus_events(self, workflow_id: str) -> set[BusEvent]:
        """Return the events of its audit, as they must appear on the bus."""
        return {
            (workflow_id, event.correlation_id, event.record.type, event.at) for event in self.read_audit(workflow_id)
        }

    def sweep(self) -> None:
        self.functions.invoke("Sweeper", {"sweep": "due"})


def run_concurrently[Item, Done](
    work: Callable[[Item], Done], items: Sequence[Item], clients: int = CLIENT_COUNT
) -> list[Done]:
    with ThreadPoolExecutor(clients) as threads:
        return list(threads.map(work, items))


def deploy_workflows(laptop: Laptop, name: str, manifest: Mapping[str, Any], **parameters: str) -> DeployedWorkflows:
    """Deploy a stack of this name, with executors beside it for which breakers are off, and more workers than the
    template's default, which fits the smallest account."""
    allowed = ",".join(executor_stack.list_arns(f"{name}-executors"))
    all_parameters = {"WorkerConcurrency": "20", **parameters}
    stack = laptop.deploy(name, variant="test", AuthMode="both", ExecutorFunctions=allowed, **all_parameters)
    executors = executor_stack.deploy_executors(laptop, stack, f"{name}-executors")
    executors.place_manifest("trials", tenant=None)
    tenant, outputs = f"t-{uuid.uuid4().hex[:12]}", stack.deployed.outputs
    executors.set_settings(tenant, breaker_failures=0)
    dynamodb, s3 = laptop.client("dynamodb"), laptop.client("s3")
    table, bucket = outputs["RegistryTableName"], outputs["ContentBucketName"]
    values = S3Values(lambda: s3, bucket)
    content = DynamoContentStore(
        dynamodb, table, S3ChangeBatchStore(lambda: s3, bucket), ScopeNames("skills", "prompts")
    )
    publish(content, values, DynamoDefinitionTexts(dynamodb, table, values), tenant, manifest)
    return DeployedWorkflows(
        laptop=laptop,
        stack=stack,
        executors=executors,
        tenant=tenant,
        key=laptop.make_key(stack, tenant),
        instances=DynamoInstanceStore(dynamodb, outputs["WorkflowsTableName"], values),
        dynamodb=dynamodb,
        functions=connect_functions(laptop, stack),
        sqs=laptop.client("sqs"),
    )


class EventListener:
    """Receives the events of a tenant through a rule of another stack."""

    def __init__(self, workflows: DeployedWorkflows) -> None:
        self._sqs, tenant = workflows.sqs, workflows.tenant
        self._queue = self._sqs.create_queue(QueueName=f"ear-{tenant}")["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])["Attributes"]
        pattern = {"source": ["signpost"], "resources": [f"urn:signpost:tenant:{tenant}"]}
        bus = workflows.stack.deployed.outputs["EventBusName"]
        add_target(workflows.laptop, bus, f"ear-{tenant}", pattern, attributes["QueueArn"])
        self.received_events: set[BusEvent] = set()

    def find_missing(self, expected: set[BusEvent], seconds: float) -> set[BusEvent]:
        """Return the expected events that have not arrived after so many seconds."""
        ends_at = time.monotonic() + seconds
        while (missing := expected - self.received_events) and time.monotonic() < ends_at:
            for event in receive_messages(self._sqs, self._queue):
                detail = event["detail"]
                self.received_events.add(
                    (detail["workflowId"], detail["correlationId"], event["detail-type"], detail["at"])
                )
        return missing


def receive_messages(sqs: Any, queue: str) -> Sequence[Any]:
    """Receive the messages of the queue, delete them, and return their bodies."""
    messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
    if messages:
        entries = [{"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]} for n, message in enumerate(messages)]
        sqs.delete_message_batch(QueueUrl=queue, Entries=entries)
    return [json.loads(message["Body"]) for message in messages]
