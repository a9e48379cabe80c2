"""One change, and everybody who wants to hear of it: a trigger, a webhook, a function of another stack.

On the emulator a rule calls a function once and forgets what comes of it; the asynchronous invocation of Lambda, by
which a rule calls functions on AWS, it carries out in full. So where a function fails, the event of the rule goes to it
once more by that way.
"""

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.stack import PROJECT
from signpost.content.deliveries import Delivery, to_text
from signpost.contract import HostedFunction
from tests.support import executors as executor_stack
from tests.support.commands import ProcessRunner, parse_json_lines
from tests.support.executors import Executors
from tests.support.laptop import Laptop, Stack
from tests.support.receiver import ReceivedRequest, Receiver, ReceiverReply, start_receiver

pytestmark = pytest.mark.cloud

PAGE = (PROJECT / "docs/events.md").read_text()
STACK, EXECUTORS = "subscribed", "subscribed-executors"
PATIENCE = 30.0


def find_code_block(language: str, containing: str) -> str:
    """The block of the page that has this in it."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = [text for text in blocks if containing in text]
    return found


def wait_for_value[Found](look: Callable[[], Found]) -> Found:
    """What is found once anything is."""
    ends_at = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < ends_at, "it never came"
        time.sleep(0.1)
    return found


@dataclass(frozen=True, slots=True)
class SubscribedStack:
    laptop: Laptop
    gateway: Stack
    executors: Executors

    def call_registry(self, tenant: str, function_id: str, payload: Mapping[str, Any]) -> Any:
        event = json.dumps({"function_id": function_id, "payload": payload, "tenant": tenant}).encode()
        name = self.gateway.deployed.outputs["RegistryFunctionName"]
        answer = json.loads(self.laptop.client("lambda").invoke(FunctionName=name, Payload=event)["Payload"].read())
        assert "error" not in answer, answer
        return answer

    def take_messages(self, queue_url: str) -> Sequence[Any]:
        """Takes them out for good."""
        sqs = self.laptop.client("sqs")
        found = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10).get("Messages", [])
        for message in found:
            sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(message["Body"]) for message in found]


@pytest.fixture(scope="module")
def subscribed_stack(laptop: Laptop) -> SubscribedStack:
    allowed = ",".join(executor_stack.list_arns(EXECUTORS))
    gateway = laptop.deploy(
        STACK, variant="test", AuthMode="both", ExecutorFunctions=allowed, AllowedPrivateHosts="127.0.0.1"
    )
    return SubscribedStack(laptop, gateway, executor_stack.deploy_executors(laptop, gateway, EXECUTORS))


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with start_receiver() as server:
        yield server


@dataclass(frozen=True, slots=True)
class OtherStack:
    """The page's own, as it is there but for what its function does."""

    laptop: Laptop
    outputs: Mapping[str, str]
    bus: str

    def read_log(self) -> str:
        group = f"/aws/lambda/{self.outputs['ListenerName']}"
        logs = self.laptop.client("logs")
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        with suppress(logs.exceptions.ResourceNotFoundException):  # before it has ever run
            return "\n".join(event["message"] for page in pages for event in page["events"])
        return ""

    def add_queue(self) -> str:
        """A queue beside its function, as the URL: what its rule tells, a test can read there."""
        sqs, name = self.laptop.client("sqs"), f"overhearing-{uuid.uuid4().hex[:8]}"
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        rule = self.outputs["RuleName"].rpartition("|")[2].rpartition("/")[2]
        targets = [{"Id": "overhearing", "Arn": arn}]
        self.laptop.client("events").put_targets(Rule=rule, EventBusName=self.bus, Targets=targets)
        return url


@pytest.fixture
def deploy_other_stack(laptop: Laptop, subscribed_stack: SubscribedStack) -> Callable[[str], OtherStack]:
    """Deploys it for a tenant's changes."""
    bus = subscribed_stack.gateway.deployed.outputs["EventBusName"]

    def deploy(tenant: str, code: str | None = None) -> OtherStack:
        template = find_code_block("yaml", "Listener:").replace(
            "urn:signpost:tenant:default", f"urn:signpost:tenant:{tenant}"
        )
        if code is not None:
            template = re.sub(r"print\(event.*", code, template)
        cloudformation, name = laptop.client("cloudformation"), f"listening-{tenant}"
        cloudformation.create_stack(
            StackName=name,
            TemplateBody=template,
            Parameters=[{"ParameterKey": "EventBusName", "ParameterValue": bus}],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        cloudformation.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
        (described,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        outputs = {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}
        return OtherStack(laptop, outputs, bus)

    return deploy


def publish_a_skill_with_subscribers(signpost: ProcessRunner, folder: Path, url: str) -> None:
    """A trigger and a webhook, which the command shows and then lists."""
    (folder / "skills").mkdir()
    (folder / "skills/handbook.md").write_text("# Handbook")
    trigger = {"trigger_type": "skills::on-change", "function_id": "hears::changes", "config": {"any": [1]}}
    (folder / "triggers.json").write_text(json.dumps([trigger]))
    (folder / "webhooks.json").write_text(json.dumps([{"trigger_type": "skills::on-change", "url": url}]))

    published = signpost("publish", str(folder), "--stack", STACK)
    assert published.returncode == 0, published.stderr
    assert published.stdout.splitlines()[:3] == [
        "+ handbook",
        "+ trigger skills::on-change hears::changes",
        f"+ webhook skills::on-change {url}",
    ]
    (listed,) = parse_json_lines(signpost("triggers", "list", "--stack", STACK).stdout)
    assert {name: listed[name] for name in trigger} == trigger
    (listed,) = parse_json_lines(signpost("webhooks", "list", "--stack", STACK).stdout)
    assert listed["url"] == url


def test_one_change_reaches_three_targets_of_two_stacks(
    subscribed_stack: SubscribedStack,
    signpost: ProcessRunner,
    receiver: Receiver,
    deploy_other_stack: Callable[[str], OtherStack],
    tmp_path: Path,
) -> None:
    listening = deploy_other_stack("default")
    subscribed_stack.executors.place("stub", [HostedFunction("hears::changes")], "default")
    url = f"{receiver.url}/signpost"
    publish_a_skill_with_subscribers(signpost, tmp_path, url)

    change = {"op": "register", "id": "handbook"}
    (call,) = wait_for_value(lambda: subscribed_stack.executors.list_calls("default", "hears::changes"))
    posted = receiver.received_requests.get(timeout=PATIENCE)
    wait_for_value(lambda: "register iii://handbook" in listening.read_log())
    assert call["arguments"] == change
    assert json.loads(posted.body) == {
        "type": "skills::on-change",
        "tenant": "default",
        "sequence": 1,
        "payload": change,
    }
    assert call["idempotencyKey"] != posted.headers["webhook-id"]
    assert is_genuine(signpost, url, posted)


def is_genuine(signpost: ProcessRunner, url: str, posted: ReceivedRequest) -> bool:
    """By the lines of the page, with the secret that the command prints."""
    page: dict[str, Any] = {}
    exec(find_code_block("python", "is_genuine"), page)  # noqa: S102 - the page's own
    secret = signpost("webhooks", "secret", url, "--stack", STACK).stdout.strip()
    forged = page["is_genuine"](secret, posted.headers, posted.body + b" ")
    other = signpost("webhooks", "secret", url, "--stack", STACK, "--tenant", "other").stdout.strip()
    assert not forged
    assert not page["is_genuine"](other, posted.headers, posted.body)
    return page["is_genuine"](secret, posted.headers, posted.body)


@pytest.mark.invariant(34)
def test_a_failing_target_stops_no_other_and_its_event_becomes_a_dead_letter(
    subscribed_stack: SubscribedStack, tenant: str, receiver: Receiver, deploy_other_stack: Callable[..., OtherStack]
) -> None:
    failing = deploy_other_stack(tenant, 'raise RuntimeError("as always")')
    told = failing.add_queue()
    subscribed_stack.executors.place("stub", [HostedFunction("hears::changes")], tenant)
    trigger = {"trigger_type": "skills::on-change", "function_id": "hears::changes"}
    webhook = {"trigger_type": "skills::on-change", "url": receiver.url}
    subscribed_stack.call_registry(tenant, "manifest::publish", {"triggers": [trigger], "webhooks": [webhook]})
    subscribed_stack.call_registry(tenant, "skills::register", {"id": "a", "skill": "# A"})

    wait_for_value(lambda: subscribed_stack.executors.list_calls(tenant, "hears::changes"))
    receiver.received_requests.get(timeout=PATIENCE)
    wait_for_value(lambda: "as always" in failing.read_log())
    assert subscribed_stack.call_registry(tenant, "skills::list", {})["skills"][0]["id"] == "a"

    (event,) = wait_for_value(lambda: subscribed_stack.take_messages(told))
    functions = subscribed_stack.laptop.client("lambda")
    functions.invoke(
        FunctionName=failing.outputs["ListenerName"], InvocationType="Event", Payload=json.dumps(event).encode()
    )
    (failure,) = wait_for_value(lambda: subscribed_stack.take_messages(failing.outputs["FailedUrl"]))
    assert failure["requestPayload"]["detail"] == {"op": "register", "id": "a"}
    assert failure["requestContext"]["condition"] == "RetriesExhausted"


@pytest.mark.invariant(35)
def test_a_delivery_to_a_failing_webhook_is_retried_and_becomes_a_dead_letter(
    subscribed_stack: SubscribedStack, tenant: str
) -> None:
    with start_receiver(lambda _: ReceiverReply(503)) as server:
        webhook = {"trigger_type": "prompts::on-change", "url": f"{server.url}/down"}
        subscribed_stack.call_registry(tenant, "manifest::publish", {"webhooks": [webhook]})
        prompt = {"name": "greet", "description": "Greets.", "function_id": "demo::greet"}
        subscribed_stack.call_registry(tenant, "prompts::register", prompt)
        failed = subscribed_stack.gateway.deployed.outputs["FailedDeliveriesUrl"]
        (message,) = wait_for_value(lambda: subscribed_stack.take_messages(failed))
        attempts = [server.received_requests.get(timeout=1) for _ in range(server.received_requests.qsize())]
    assert (message["target"], message["payload"]) == (webhook["url"], {"op": "register", "name": "greet"})
    assert len(attempts) == 14
    assert len({attempt.headers["webhook-id"] for attempt in attempts}) == 1


def test_a_recovered_webhook_receives_the_delivery_that_failed(subscribed_stack: SubscribedStack, tenant: str) -> None:
    statuses = iter([500, 301, 204])
    with start_receiver(lambda _: ReceiverReply(next(statuses), headers={"location": "http://127.0.0.1:1/"})) as server:
        webhook = {"trigger_type": "skills::on-change", "url": server.url}
        subscribed_stack.call_registry(tenant, "manifest::publish", {"webhooks": [webhook]})
        subscribed_stack.call_registry(tenant, "skills::register", {"id": "a", "skill": "# A"})
        attempts = [server.received_requests.get(timeout=PATIENCE) for _ in range(3)]
    assert len({(attempt.headers["webhook-id"], attempt.body) for attempt in attempts}) == 1


def test_a_delivery_to_a_private_host_is_not_sent(subscribed_stack: SubscribedStack, tenant: str) -> None:
    """`localhost` is not among the allowed hosts, though 127.0.0.1 is."""
    with start_receiver() as server:
        webhook = {"trigger_type": "skills::on-change", "url": f"https://localhost:{server.server_port}/"}
        subscribed_stack.call_registry(tenant, "manifest::publish", {"webhooks": [webhook]})
        subscribed_stack.call_registry(tenant, "skills::register", {"id": "a", "skill": "# A"})
        failed = subscribed_stack.gateway.deployed.outputs["FailedDeliveriesUrl"]
        (message,) = wait_for_value(lambda: subscribed_stack.take_messages(failed))
        assert server.received_requests.empty()
    assert message["tenant"] == tenant


def test_deliveries_retry_sends_failed_changes_and_deliveries_again(
    subscribed_stack: SubscribedStack, tenant: str, receiver: Receiver, signpost: ProcessRunner
) -> None:
    webhook = {"trigger_type": "skills::on-change", "url": receiver.url}
    subscribed_stack.call_registry(tenant, "manifest::publish", {"webhooks": [webhook]})
    sqs, outputs = subscribed_stack.laptop.client("sqs"), subscribed_stack.gateway.deployed.outputs
    for number, key in enumerate("ab", 1):
        resources = [f"iii://{key}", f"urn:signpost:seq:{number}", f"urn:signpost:tenant:{tenant}"]
        detail = {"op": "register", "id": key}
        event = {"source": "signpost", "detail-type": "skills::on-change", "detail": detail, "resources": resources}
        sqs.send_message(QueueUrl=outputs["UnheardChangesUrl"], MessageBody=json.dumps(event))
    delivery = Delivery(tenant, 3, "skills::on-change", {"op": "register", "id": "c"}, "webhook", receiver.url)
    sqs.send_message(QueueUrl=outputs["FailedDeliveriesUrl"], MessageBody=to_text(delivery))

    for options in (["--dry-run"], []):
        done = signpost("deliveries", "retry", "--stack", STACK, *options)
        assert done.returncode == 0, done.stderr
        assert parse_json_lines(done.stdout) == [{"changes": 2, "deliveries": 1}]
    told = [json.loads(receiver.received_requests.get(timeout=PATIENCE).body)["payload"]["id"] for _ in range(3)]
    assert sorted(told) == ["a", "b", "c"]
    assert parse_json_lines(signpost("deliveries", "retry", "--stack", STACK).stdout) == [
        {"changes": 0, "deliveries": 0}
    ]
