"""What happens in workflows of a deployed stack is told on its bus, and what is to be looked at again is in the queue
of the worker: by the stream at once, by the index within a minute.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.due import due_attributes, wake_attributes
from signpost.adapters.s3 import S3Values
from signpost.model import CatalogueItem
from signpost.workflow.wakes import Wake, WakeMessage, message_of
from tests.acceptance.bus import add_target
from tests.support.catalogues import store_stack_catalogue
from tests.support.commands import ProcessRunner
from tests.support.functions import connect_functions
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

PATIENCE = 40.0
SWEEP_SECONDS = 90.0
"""Seconds in which there is one, whatever the emulator has to do besides."""
COUNTER: Mapping[str, Any] = {
    "initialState": "open",
    "states": {
        "open": {
            "transitions": {
                "add": {"target": "open", "inputSchema": {"type": "object", "properties": {"n": {"maxLength": 3}}}},
                "close": {"target": "closed"},
            }
        },
        "closed": {"terminal": True},
    },
}


@dataclass(frozen=True, slots=True)
class QueueReader:
    """A queue, and what has come out of it so far."""

    sqs: Any
    url: str
    heard: list[Any] = field(default_factory=list[Any])
    sent_at: list[float] = field(default_factory=list[float])
    """When each of them was sent."""

    @property
    def message_count(self) -> int:
        """Messages that nobody has received."""
        names = ["ApproximateNumberOfMessages"]
        return int(self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"][names[0]])

    def wait_until(self, is_enough: Callable[[Sequence[Any]], bool], seconds: float = PATIENCE) -> Sequence[Any]:
        ends_at, wanted = time.monotonic() + seconds, ["SentTimestamp"]
        while not is_enough(self.heard):
            assert time.monotonic() < ends_at, f"not enough of it came in {seconds:.0f} s: {self.heard}"
            answer = self.sqs.receive_message(
                QueueUrl=self.url, MaxNumberOfMessages=10, WaitTimeSeconds=1, AttributeNames=wanted
            )
            for message in answer.get("Messages", []):
                self.heard.append(json.loads(message["Body"]))
                self.sent_at.append(int(message["Attributes"]["SentTimestamp"]) / 1000)
                self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return self.heard


@dataclass(frozen=True, slots=True)
class ObservedTenant:
    """A tenant of the test's own, and what a rule of another stack hears of it."""

    laptop: Laptop
    stack: Stack
    tenant: str
    events: QueueReader
    work: QueueReader

    def call_tool(self, tool: str, **args: Any) -> Any:
        token = self.laptop.issuer.access_token("agent", self.stack.url, tenant=self.tenant)
        answer = self.stack.request(token, "tools/call", {"name": tool, "arguments": args})
        return answer.json["result"]["structuredContent"]

    def write(self, workflow_id: str, attributes: Mapping[str, Any]) -> None:
        write_instance_row(self.laptop, self.stack, self.tenant, workflow_id, attributes)

    def list_wakes(self) -> Sequence[WakeMessage]:
        return [message for message in read_wakes(self.work) if message.tenant == self.tenant]


def read_wakes(work: QueueReader) -> Sequence[WakeMessage]:
    """To the worker, so far."""
    return [message_of(json.dumps(body)) for body in work.heard]


def write_instance_row(
    laptop: Laptop, stack: Stack, tenant: str, workflow_id: str, attributes: Mapping[str, Any]
) -> None:
    """The row of an instance, with these attributes and nothing else to it."""
    row = {**keys.workflow_row(tenant, workflow_id, keys.HEAD), **attributes, **rows.schema_attribute()}
    laptop.client("dynamodb").put_item(TableName=stack.deployed.outputs["WorkflowsTableName"], Item=row)


@pytest.fixture(scope="module")
def stack(laptop: Laptop) -> Stack:
    """Whose worker is asleep, so that what is in its queue can be seen."""
    stack = laptop.deploy("steps", AuthMode="both")
    connect_functions(laptop, stack).configure_event_source("Worker", Enabled=False)
    return stack


@pytest.fixture(scope="module")
def work_queue(laptop: Laptop, stack: Stack) -> QueueReader:
    return QueueReader(laptop.client("sqs"), stack.deployed.outputs["WorkQueueUrl"])


@dataclass(frozen=True, slots=True)
class DueTenant:
    """A tenant with an instance that is due, and one that is not: no stream and no other row says so."""

    tenant: str
    written_at: float


@pytest.fixture(scope="module")
def due_tenant(laptop: Laptop, stack: Stack) -> DueTenant:
    due_tenant = DueTenant(f"t-{uuid.uuid4().hex[:12]}", time.time())
    write_instance_row(laptop, stack, due_tenant.tenant, "wf_due", due_attributes("wf_due", due_tenant.written_at - 1))
    write_instance_row(
        laptop, stack, due_tenant.tenant, "wf_later", due_attributes("wf_later", due_tenant.written_at + 3600)
    )
    return due_tenant


@pytest.fixture
def observed_tenant(laptop: Laptop, stack: Stack, work_queue: QueueReader, due_tenant: DueTenant) -> ObservedTenant:
    assert due_tenant  # written before the first test begins
    tenant = f"t-{uuid.uuid4().hex[:12]}"
    outputs, sqs = stack.deployed.outputs, laptop.client("sqs")
    values = S3Values(lambda: laptop.client("s3"), outputs["ContentBucketName"])
    texts = DynamoDefinitionTexts(laptop.client("dynamodb"), outputs["RegistryTableName"], values)
    item = CatalogueItem("counter", "workflow", "Count", definition=texts.keep(tenant, json.dumps(COUNTER)))
    store_stack_catalogue(laptop, stack, tenant, [item])
    queue = sqs.create_queue(QueueName=f"listener-{tenant}")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {"source": ["signpost"], "resources": [f"urn:signpost:tenant:{tenant}"]}
    add_target(laptop, outputs["EventBusName"], f"listener-{tenant}", pattern, arn)
    return ObservedTenant(laptop, stack, tenant, QueueReader(sqs, queue), work_queue)


def is_completed(events: Sequence[Any]) -> bool:
    return any(event["detail-type"] == "workflow.completed" for event in events)


def group_by_call(events: Sequence[Any]) -> Mapping[str, Sequence[Any]]:
    """In the order in which the calls came; the bus keeps none."""
    calls: dict[str, list[Any]] = {}
    for event in sorted(events, key=lambda event: event["detail"]["at"]):
        calls.setdefault(event["detail"]["correlationId"], []).append(event)
    return calls


def run_counter(desk: ObservedTenant) -> str:
    """A step that is refused, and one that ends it."""
    workflow_id = desk.call_tool("workflow.start", definitionId="counter")["workflowId"]
    desk.call_tool(
        "workflow.submit",
        workflowId=workflow_id,
        expectedVersion=1,
        transition="add",
        arguments={"n": "hunter2"},
    )
    closed = desk.call_tool("workflow.submit", workflowId=workflow_id, expectedVersion=1, transition="close")
    assert closed["terminal"] is True
    return workflow_id


@pytest.mark.invariant(53)
def test_every_event_of_a_call_arrives_on_the_bus_as_documented(observed_tenant: ObservedTenant) -> None:
    before = time.time()
    workflow_id = run_counter(observed_tenant)
    calls = group_by_call(observed_tenant.events.wait_until(is_completed))
    told = [
        {event["detail-type"]: {**event["detail"], "at": 0, "correlationId": "", "hash": ""} for event in events}
        for events in calls.values()
    ]
    about = {"workflowId": workflow_id, "correlationId": "", "at": 0, "actor": "agent", "hash": ""}
    asked = {**about, "expectedVersion": 1, "fromState": "open"}
    assert told == [
        {"workflow.started": {**about, "definitionId": "counter", "state": "open", "version": 1}},
        {
            "transition.requested": {**asked, "transition": "add"},
            "transition.rejected": {
                **about,
                "transition": "add",
                "code": "INPUT_SCHEMA_VIOLATION",
                "fromState": "open",
            },
        },
        {
            "transition.requested": {**asked, "transition": "close"},
            "workflow.transitioned": {**about, "transition": "close", "state": "closed", "version": 2},
            "workflow.completed": {**about, "state": "closed"},
        },
    ]
    for event in observed_tenant.events.heard:
        assert event["source"] == "signpost"
        assert event["resources"] == [
            f"urn:signpost:instance:{workflow_id}",
            f"urn:signpost:tenant:{observed_tenant.tenant}",
        ]
        assert before < event["detail"]["at"] < time.time()
        assert len(event["detail"]["hash"]) == 64
    assert "hunter2" not in json.dumps(observed_tenant.events.heard)


def test_a_row_with_wakes_becomes_messages_to_the_worker(observed_tenant: ObservedTenant) -> None:
    observed_tenant.write(
        "wf_child", {"version": rows.number(2), **wake_attributes([Wake("wf_child"), Wake("wf_parent")])}
    )
    observed_tenant.write("wf_quiet", {"version": rows.number(2)})
    observed_tenant.write("wf_last", wake_attributes([Wake("wf_last", time.time() + 1.5)]))
    observed_tenant.work.wait_until(
        lambda _: WakeMessage(observed_tenant.tenant, "wf_last") in observed_tenant.list_wakes()
    )
    assert {message.workflow_id for message in observed_tenant.list_wakes()} == {"wf_child", "wf_parent", "wf_last"}


@dataclass(frozen=True, slots=True)
class FailingRelay:
    """The herald fails, and Lambda has it try no longer than a second."""

    laptop: Laptop
    stack: Stack

    def start_failing(self) -> None:
        self._handler("app.gone")
        self._source(MaximumRecordAgeInSeconds=1)

    def stop_failing(self) -> None:
        """What was given up is not shown to it again for that."""
        self._handler("app.handler")
        self._source(MaximumRecordAgeInSeconds=-1)

    def wait_for_given_up(self, records: int) -> None:
        """There are as many in the batches that were given up; the queue keeps them."""
        sqs, url, sizes = (
            self.laptop.client("sqs"),
            self.stack.deployed.outputs["UndeliveredChangesUrl"],
            dict[str, int](),
        )
        ends_at = time.monotonic() + PATIENCE
        while sum(sizes.values()) < records:
            assert time.monotonic() < ends_at, f"{records} records to be given up; given up so far: {sizes}"
            found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0, WaitTimeSeconds=1)
            for message in found.get("Messages", []):
                sizes[message["MessageId"]] = json.loads(message["Body"])["DDBStreamBatchInfo"]["batchSize"]

    def _handler(self, name: str) -> None:
        function = self.stack.deployed.outputs["HeraldFunctionName"]
        self.laptop.client("lambda").update_function_configuration(FunctionName=function, Handler=name)

    def _source(self, **settings: Any) -> None:
        connect_functions(self.laptop, self.stack).configure_event_source("Herald", **settings)


@pytest.fixture
def failing_relay(laptop: Laptop, stack: Stack) -> Iterator[FailingRelay]:
    failing_relay = FailingRelay(laptop, stack)
    yield failing_relay
    failing_relay.stop_failing()


@pytest.mark.invariant(53)
def test_redrive_sends_the_steps_that_the_workflow_relay_gave_up(
    failing_relay: FailingRelay, observed_tenant: ObservedTenant, signpost: ProcessRunner
) -> None:
    failing_relay.start_failing()
    run_counter(observed_tenant)
    observed_tenant.write("wf_child", wake_attributes([Wake("wf_parent")]))
    failing_relay.wait_for_given_up(records=4)
    failing_relay.stop_failing()
    rehearsed = signpost("events", "redrive", "--dry-run", "--stack", observed_tenant.stack.deployed.name)
    assert rehearsed.returncode == 0, rehearsed.stderr
    assert (observed_tenant.events.message_count, observed_tenant.work.message_count) == (0, 0)
    done = signpost("events", "redrive", "--stack", observed_tenant.stack.deployed.name)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(rehearsed.stdout)
    assert (json.loads(done.stdout)["changes"], json.loads(done.stdout)["too_old"]) == (4, 0)
    assert len(group_by_call(observed_tenant.events.wait_until(is_completed))) == 3
    observed_tenant.work.wait_until(
        lambda _: WakeMessage(observed_tenant.tenant, "wf_parent") in observed_tenant.list_wakes()
    )
    again = signpost("events", "redrive", "--stack", observed_tenant.stack.deployed.name)
    assert json.loads(again.stdout) == {"batches": 0, "changes": 0, "too_old": 0}


def test_a_batch_too_old_for_the_stream_stays_queued_until_an_operator_forgets_it(
    laptop: Laptop, stack: Stack, signpost: ProcessRunner
) -> None:
    outputs, long_ago = stack.deployed.outputs, datetime.fromtimestamp(time.time() - 25 * 3600, UTC).isoformat()
    herald = laptop.client("lambda").get_function(FunctionName=outputs["HeraldFunctionName"])["Configuration"]
    (source,) = laptop.client("lambda").list_event_source_mappings(FunctionName=herald["FunctionName"])[
        "EventSourceMappings"
    ]
    batch = {
        "streamArn": source["EventSourceArn"],
        "shardId": "shardId-00000000000000000000-00000000",
        "startSequenceNumber": "1" * 21,
        "endSequenceNumber": "2" * 21,
        "approximateArrivalOfFirstRecord": long_ago,
        "approximateArrivalOfLastRecord": long_ago,
    }
    given_up = {"requestContext": {"functionArn": herald["FunctionArn"]}, "DDBStreamBatchInfo": batch}
    laptop.client("sqs").send_message(QueueUrl=outputs["UndeliveredChangesUrl"], MessageBody=json.dumps(given_up))
    told = signpost("events", "redrive", "--stack", stack.deployed.name)
    assert (told.returncode, json.loads(told.stdout)) == (1, {"batches": 1, "changes": 0, "too_old": 1})
    assert "--forget-lost" in told.stderr
    forgotten = signpost("events", "redrive", "--forget-lost", "--stack", stack.deployed.name)
    assert (forgotten.returncode, json.loads(forgotten.stdout)["batches"]) == (0, 1)
    again = signpost("events", "redrive", "--stack", stack.deployed.name)
    assert json.loads(again.stdout)["batches"] == 0


@pytest.mark.invariant(54)
def test_a_due_instance_is_queued_by_the_sweep_within_a_minute(work_queue: QueueReader, due_tenant: DueTenant) -> None:
    """Last of all: the schedule of the sweeper takes its minute while the other tests run."""
    work_queue.wait_until(
        lambda _: any(message.tenant == due_tenant.tenant for message in read_wakes(work_queue)), SWEEP_SECONDS
    )
    assert {message.workflow_id for message in read_wakes(work_queue) if message.tenant == due_tenant.tenant} == {
        "wf_due"
    }
    sent = [
        at
        for at, message in zip(work_queue.sent_at, read_wakes(work_queue), strict=True)
        if message.tenant == due_tenant.tenant
    ]
    assert min(sent) - due_tenant.written_at < SWEEP_SECONDS
