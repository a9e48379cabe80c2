"""A first deployment in an account where permissions and event source mappings take effect seconds after they are
made, as on AWS."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from local.emulator_latency import Latency
from signpost.adapters.dynamodb.directory import DynamoDirectory
from tests.acceptance.bus import add_target
from tests.support.laptop import Laptop, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

STACK = "fresh"
NEVER = 86_400.0
"""Until a test lets the changes take effect."""
PATIENCE = 300.0
"""Seconds until the deployment asks its executors, on a busy machine."""
TENANT = "default"


@dataclass(frozen=True, slots=True)
class FreshAccount:
    laptop: Laptop
    stack: Stack

    def count_messages(self, output: str) -> int:
        """Count the messages of a queue that no function has finished."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        url = self.stack.deployed.outputs[output]
        counts = self.laptop.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(map(int, counts.values()))

    def list_mapping_states(self) -> set[str]:
        mappings = self.laptop.client("lambda").list_event_source_mappings()["EventSourceMappings"]
        return {mapping["State"] for mapping in mappings}

    def register_document(self) -> None:
        """Register a document by the registry function, which writes an event into the outbox of its table."""
        payload = {"id": "handbook", "skill": "# Handbook"}
        event = json.dumps({"function_id": "skills::register", "payload": payload, "tenant": TENANT})
        name = self.stack.deployed.outputs["RegistryFunctionName"]
        answer = json.loads(
            self.laptop.client("lambda").invoke(FunctionName=name, Payload=event.encode())["Payload"].read()
        )
        assert "error" not in answer, answer

    def subscribe(self) -> str:
        """Return the URL of a queue that gets every change of documents from the bus."""
        sqs = self.laptop.client("sqs")
        url = sqs.create_queue(QueueName="other-stack")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        pattern = {"source": ["signpost"], "resources": [f"urn:signpost:tenant:{TENANT}"]}
        add_target(self.laptop, self.stack.deployed.outputs["EventBusName"], "other-stack", pattern, arn)
        return url

    def send_change(self) -> None:
        """Send a change to the bus, whose rule puts it into the queue of the change fan-out."""
        entry = {
            "EventBusName": self.stack.deployed.outputs["EventBusName"],
            "Source": "signpost",
            "DetailType": "skills::on-change",
            "Detail": json.dumps({"op": "register", "id": "elsewhere"}),
            "Resources": ["iii://elsewhere", "urn:signpost:seq:1", f"urn:signpost:tenant:{TENANT}"],
        }
        assert self.laptop.client("events").put_events(Entries=[entry])["FailedEntryCount"] == 0


def list_denied(laptop: Laptop) -> Sequence[str]:
    """Return the actions that the registry function was denied."""
    denied = [one for one in laptop.read_decisions() if one.decision != "Allow"]
    return [one.request.action for one in denied if "RegistryFunction" in one.session]


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshAccount]:
    """Deploy a stack whose permissions take effect once the registry function was denied what it needs."""
    with (
        Laptop(tmp_path_factory.mktemp("fresh"), Latency(permissions=NEVER, mappings=NEVER)) as laptop,
        laptop.expect_denials_during(f"{STACK}-"),
        ThreadPoolExecutor(1) as threads,
    ):
        deployment = threads.submit(laptop.deploy, STACK, AuthMode="both")
        wait_for("a denied request", lambda: list_denied(laptop), bool, patience=PATIENCE)
        laptop.emulator.change_latency(Latency(mappings=NEVER))
        yield FreshAccount(laptop, deployment.result())


@pytest.mark.invariant(105)
def test_a_first_deployment_waits_for_its_permissions_and_places_the_executors(account: FreshAccount) -> None:
    assert list_denied(account.laptop)
    table, core = (account.stack.deployed.outputs[name] for name in ("RegistryTableName", "ExecutorCoreFunctionArn"))
    placed = DynamoDirectory(account.laptop.client("dynamodb"), table).list_placed()
    assert [(one.tenant, one.executor.arn) for one in placed] == [(None, core)]
    key = account.laptop.make_key(account.stack, TENANT, "first client")
    listed = account.stack.request(key, path="/mcp/functions").json["result"]["tools"]
    assert "core__http_fetch" in [tool["name"] for tool in listed]


@pytest.mark.invariant(106)
def test_events_from_before_a_mapping_is_active_are_handled(account: FreshAccount) -> None:
    subscriber = account.subscribe()
    account.register_document()
    account.send_change()
    wait_for("the change", lambda: account.count_messages("ChangesUrl"), lambda count: count == 1)
    assert account.list_mapping_states() == {"Creating"}
    account.laptop.emulator.change_latency(Latency())
    sqs = account.laptop.client("sqs")

    def receive() -> str:
        messages = sqs.receive_message(QueueUrl=subscriber, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        return str([message["Body"] for message in messages.get("Messages", [])])

    wait_for("the event of the document", receive, lambda bodies: "iii://handbook" in bodies)
    wait_for("the queue to be empty", lambda: account.count_messages("ChangesUrl"), lambda count: count == 0)
    assert account.count_messages("UnheardChangesUrl") == 0
    assert account.list_mapping_states() == {"Enabled"}


def test_a_request_reaches_the_gateway_only_while_its_permission_is_in_effect(account: FreshAccount) -> None:
    """As on AWS, where API Gateway answers so for a function that does not permit it yet."""
    emulator = account.laptop.emulator
    emulator.change_latency(Latency(permissions=NEVER))
    assert account.stack.send("GET", "/health").status == 500
    emulator.change_latency(Latency())
    assert account.stack.send("GET", "/health").status == 200
