"""The registry over its real interfaces: its Lambda function, the MCP endpoint, the bus."""

import json
import uuid
from typing import Any

import pytest

from signpost.adapters.dynamodb import DynamoRuntimeSettings
from tests.support.commands import ProcessRunner
from tests.support.laptop import Laptop, MakeKey, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud


class Subscriber:
    """A queue behind a rule on the stack's bus, as another stack would have one."""

    def __init__(self, laptop: Laptop, bus: str, detail_type: str) -> None:
        self._sqs = laptop.client("sqs")
        name = f"subscriber-{uuid.uuid4().hex[:8]}"
        self._queue = self._sqs.create_queue(QueueName=name)["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])
        events = laptop.client("events")
        pattern = json.dumps({"source": ["signpost"], "detail-type": [detail_type]})
        events.put_rule(Name=name, EventBusName=bus, EventPattern=pattern)
        target = {"Id": "queue", "Arn": attributes["Attributes"]["QueueArn"]}
        events.put_targets(Rule=name, EventBusName=bus, Targets=[target])

    def wait_for_sequence(self, sequence: int) -> list[Any]:
        """All events of the tenant up to this sequence number."""
        found: list[Any] = []

        def receive() -> list[Any]:
            answer = self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            events = [json.loads(message["Body"]) for message in answer.get("Messages", [])]
            found.extend(event for event in events if "urn:signpost:tenant:default" in event["resources"])
            return found

        last = f"urn:signpost:seq:{sequence}"
        wait_for(f"event {sequence}", receive, lambda events: any(last in event["resources"] for event in events))
        return sorted(found, key=lambda event: int(event["resources"][1].rpartition(":")[2]))


def invoke_registry(laptop: Laptop, stack: Stack, function_id: str, payload: Any) -> Any:
    name = stack.deployed.outputs["RegistryFunctionName"]
    event = json.dumps({"function_id": function_id, "payload": payload})
    answer = laptop.client("lambda").invoke(FunctionName=name, Payload=event.encode())
    assert "FunctionError" not in answer, answer["Payload"].read()
    return json.loads(answer["Payload"].read())


@pytest.fixture(scope="module")
def registry_stack(laptop: Laptop) -> Stack:
    """With nothing in it that the stack ships."""
    stack = laptop.deploy("registry", AuthMode="both")
    settings = DynamoRuntimeSettings(laptop.client("dynamodb"), stack.deployed.outputs["RegistryTableName"])
    settings.set("default", None, "shipped_content", 0)
    return stack


def test_a_registered_document_is_readable_by_clients_and_announced_on_the_bus(
    laptop: Laptop, registry_stack: Stack, make_key: MakeKey
) -> None:
    subscriber = Subscriber(laptop, registry_stack.deployed.outputs["EventBusName"], "skills::on-change")
    stored = invoke_registry(
        laptop, registry_stack, "skills::register", {"id": "resend", "skill": "# Resend\n\nSends mail."}
    )
    assert stored["id"] == "resend"
    invoke_registry(laptop, registry_stack, "skills::register", {"id": "resend/email", "skill": "# Email"})
    assert invoke_registry(laptop, registry_stack, "skills::unregister", {"id": "resend/email"})["removed"] is True
    assert invoke_registry(laptop, registry_stack, "skills::unregister", {"id": "resend/email"})["removed"] is False
    assert (
        invoke_registry(laptop, registry_stack, "skills::register", {"id": "NO", "skill": "x"})["error"]["code"]
        == "invalid_id"
    )
    assert [skill["id"] for skill in invoke_registry(laptop, registry_stack, "skills::list", {})["skills"]] == [
        "resend"
    ]

    key = make_key(registry_stack)
    read = registry_stack.request(key, "resources/read", {"uri": "iii://resend"}).json
    assert read["result"]["contents"][0]["text"] == "# Resend\n\nSends mail."
    listed = registry_stack.request(key, "resources/list").json["result"]["resources"]
    assert [resource["uri"] for resource in listed] == ["iii://skills", "iii://resend"]

    events = subscriber.wait_for_sequence(3)
    assert [event["detail"] for event in events] == [
        {"op": "register", "id": "resend"},
        {"op": "register", "id": "resend/email"},
        {"op": "unregister", "id": "resend/email"},
    ]
    assert events[0]["resources"] == ["iii://resend", "urn:signpost:seq:1", "urn:signpost:tenant:default"]


def test_a_section_calls_its_function_unless_the_namespace_is_internal(laptop: Laptop, registry_stack: Stack) -> None:
    refused = invoke_registry(laptop, registry_stack, "skills::resources-read", {"uri": "iii://fn/core/wait"})
    assert refused["error"]["code"] == "function_failed"
    assert "core::wait" in refused["error"]["message"]
    guarded = invoke_registry(laptop, registry_stack, "skills::resources-read", {"uri": "iii://fn/state/get"})
    assert guarded["error"]["code"] == "internal_namespace"


@pytest.mark.invariant(144)
def test_a_registration_warns_of_references_to_nothing(laptop: Laptop, registry_stack: Stack) -> None:
    document = {"id": "links", "skill": "# Links\n\nSee iii://link and iii://links."}
    registered = invoke_registry(laptop, registry_stack, "skills::register", document)
    assert [(warning["code"], warning["line"]) for warning in registered["warnings"]] == [("dead_link", 3)]
    assert "did you mean 'links'?" in registered["warnings"][0]["message"]
    prompt = {"name": "ask", "description": "Asks.", "function_id": "shop::price", "strict": True}
    refused = invoke_registry(laptop, registry_stack, "prompts::register", prompt)
    assert "no executor hosts the function 'shop::price'" in refused["error"]["message"]
    assert invoke_registry(laptop, registry_stack, "skills::unregister", {"id": "links"})["removed"] is True


def test_an_invalid_credential_does_not_act_as_the_operator(laptop: Laptop, registry_stack: Stack) -> None:
    name = registry_stack.deployed.outputs["RegistryFunctionName"]
    event = json.dumps({"function_id": "skills::list", "payload": {}, "authorization": "Bearer x"})
    answer = laptop.client("lambda").invoke(FunctionName=name, Payload=event.encode())
    assert json.loads(answer["Payload"].read())["error"]["code"] == "unauthorized"


def test_a_registry_function_is_callable_from_a_shell(registry_stack: Stack, signpost: ProcessRunner) -> None:
    def call(*arguments: str) -> tuple[int, str, str]:
        done = signpost("call", *arguments, "--stack", registry_stack.deployed.name)
        return done.returncode, done.stdout, done.stderr

    status, printed, _ = call("skills::register", json.dumps({"id": "shell", "skill": "# Größe"}))
    assert (status, json.loads(printed)["id"]) == (0, "shell")
    assert call("skill::fetch", '{"uri": "iii://shell"}')[:2] == (0, "# iii://shell\n\n# Größe\n")
    assert call("skills::unregister", '{"id": "shell"}')[0] == 0
    for arguments, says in (
        (("skills::register", '{"id": "NO", "skill": "x"}'), "NO"),
        (("skills::lst",), "Did you mean skills::list?"),
        (("skills::list", "{"), "The payload is not valid JSON"),
        (("skills::list", "[]"), "object"),
    ):
        status, printed, said = call(*arguments)
        assert (status, printed) == (1, "")
        assert says in said
