"""Every permission of every function is needed: taken away, something that it does fails."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from local.intrinsics import parse_template
from local.stack import PROJECT
from signpost.adapters import keys
from signpost.adapters.dynamodb import DynamoBreakers, DynamoDirectory, DynamoRuntimeSettings
from signpost.adapters.dynamodb.content_head import Head, head_row
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.due import due_attributes, wake_attributes
from signpost.adapters.dynamodb.instances import LONGEST_IN_A_ROW, DynamoInstances
from signpost.adapters.dynamodb.outbox import Publication, row_of_publication
from signpost.adapters.dynamodb.scopes import row_of_scope
from signpost.adapters.s3 import S3Bodies, S3Publications, S3Values
from signpost.content import PromptChange, SkillChange, StoredPrompt, SubscriberKind, Subscription, SubscriptionChange
from signpost.contract import BreakerState, Executor, Hosted
from signpost.model import CatalogueItem, Json, Principal
from signpost.protocol.dispatch import LONGEST_ANSWER
from signpost.registry.deliveries import Delivery, to_text
from signpost.registry.parts import PART
from signpost.wakes import Message, Wake
from signpost.workflow.instance import AuditEvent, Claim, Entry, Instance, Job, Record, Request
from signpost.workflow.story import audit_text, text_of
from stage.calls import CALL_FUNCTION
from stage.fixtures import TENANT
from tests.support.catalogues import put_in_place_of
from tests.support.executors import STACK as EXECUTORS
from tests.support.executors import Executors
from tests.support.functions import functions_of
from tests.support.laptop import Laptop, Stack
from tests.support.receiver import Receiver, Reply, receiving

pytestmark = pytest.mark.cloud

TEMPLATE: Any = parse_template((PROJECT / "template.yaml").read_text())
POLICIES: Mapping[str, Sequence[Any]] = {
    "GatewayFunctionName": [
        *(policy["PolicyDocument"] for policy in TEMPLATE["Resources"]["GatewayRole"]["Properties"]["Policies"]),
        TEMPLATE["Resources"]["CallsOfExecutors"]["Properties"]["PolicyDocument"],
    ],
    "RegistryFunctionName": [
        *(policy["PolicyDocument"] for policy in TEMPLATE["Resources"]["RegistryRole"]["Properties"]["Policies"]),
        TEMPLATE["Resources"]["CallsOfExecutors"]["Properties"]["PolicyDocument"],
    ],
    "RelayFunctionName": [
        policy["PolicyDocument"] for policy in TEMPLATE["Resources"]["RelayRole"]["Properties"]["Policies"]
    ],
    "HeraldFunctionName": [
        policy["PolicyDocument"] for policy in TEMPLATE["Resources"]["HeraldRole"]["Properties"]["Policies"]
    ],
    "WorkerFunctionName": [
        *(policy["PolicyDocument"] for policy in TEMPLATE["Resources"]["WorkerRole"]["Properties"]["Policies"]),
        TEMPLATE["Resources"]["CallsOfExecutors"]["Properties"]["PolicyDocument"],
    ],
    "SweeperFunctionName": [
        policy["PolicyDocument"] for policy in TEMPLATE["Resources"]["SweeperRole"]["Properties"]["Policies"]
    ],
    "SubscriberFunctionName": [
        policy["PolicyDocument"] for policy in TEMPLATE["Resources"]["SubscriberRole"]["Properties"]["Policies"]
    ],
    "DeliveryFunctionName": [
        *(policy["PolicyDocument"] for policy in TEMPLATE["Resources"]["DeliveryRole"]["Properties"]["Policies"]),
        TEMPLATE["Resources"]["CallsOfExecutors"]["Properties"]["PolicyDocument"],
    ],
    "ExecutorCoreFunctionArn": [
        policy["PolicyDocument"] for policy in TEMPLATE["Resources"]["ExecutorCoreRole"]["Properties"]["Policies"]
    ],
}
"""By the output that names the function."""


TAKEN_BY_LAMBDA = {
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
}
"""In the name of the function: it writes the log, reads the stream and takes from the queue. The emulator asks no
permission for it, nor for what Lambda sets aside."""
SET_ASIDE = "SetAsideWhatFails"


def granted(function: str) -> Iterator[tuple[str, str]]:
    """Every action that the function itself takes, and the statement that allows it."""
    for statement in (statement for document in POLICIES[function] for statement in document["Statement"]):
        plain = statement["Fn::If"][1] if "Fn::If" in statement else statement
        if plain["Effect"] == "Allow" and plain["Sid"] != SET_ASIDE:
            yield from ((plain["Sid"], action) for action in _listed(plain["Action"]) if action not in TAKEN_BY_LAMBDA)


def _listed(actions: str | Sequence[str]) -> Sequence[str]:
    return [actions] if isinstance(actions, str) else actions


STRANGE = "strange::function"
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
                "fail": {"target": "done", "executor": {"kind": "function", "function": STRANGE}},
            }
        },
        "asked": {"transitions": {"approve": {"target": "done", "actor": "human"}}},
        "done": {"terminal": True},
    },
    "timeoutMs": 3_600_000,
    "onTimeout": {"target": "done"},
}
LISTENER = "listener"
"""A tenant that has just published who listens."""


@dataclass(frozen=True, slots=True)
class Exercised:
    """A stack of its own, so that taking a permission away disturbs nobody; of the test stage, which has tools that
    answer at length and call any function."""

    laptop: Laptop
    stack: Stack

    @property
    def table(self) -> str:
        return self.stack.deployed.outputs["RegistryTableName"]

    @property
    def directory(self) -> DynamoDirectory:
        return DynamoDirectory(self.laptop.client("dynamodb"), self.table)

    def restart(self, function: str) -> None:
        self.laptop.restart(self.stack.deployed.outputs[function])

    def invoke(self, function: str, event: Mapping[str, Any]) -> Any:
        answer = self.laptop.client("lambda").invoke(
            FunctionName=self.stack.deployed.outputs[function], Payload=json.dumps(event).encode()
        )
        return json.loads(answer["Payload"].read())

    def ask_registry(self, function_id: str, payload: Mapping[str, Any]) -> Any:
        return self.invoke("RegistryFunctionName", {"function_id": function_id, "payload": payload})

    @property
    def breakers(self) -> DynamoBreakers:
        return DynamoBreakers(self.laptop.client("dynamodb"), self.table)

    def call(self, token: str, function: str, **passed: Json) -> Any:
        arguments = {"function": function, "arguments": passed or {"seconds": 0}}
        answer = self.stack.ask(token, "tools/call", {"name": CALL_FUNCTION.name, "arguments": arguments})
        return answer.json.get("result", {}).get("structuredContent", {})

    def wait(self, token: str) -> bool:
        """Whether a core function answers."""
        return self.call(token, "core::wait").get("result") == {"waited": 0}

    def searches(self, token: str) -> bool:
        """With the key that lies in a secret."""
        found = self.call(token, "core::web_search", query="tea").get("result")
        return found == {"query": "tea", "results": []}


@pytest.fixture(scope="module")
def exercised(laptop: Laptop, executors: Executors, receiver: Receiver) -> Exercised:
    stranger = executors.executor("stranger").arn
    secrets = laptop.client("secretsmanager")
    stack = laptop.deploy(
        "exercised",
        variant="test",
        AuthMode="both",
        ExecutorFunctions=stranger,
        AllowedPrivateHosts="127.0.0.1",
        SearchProvider="json",
        SearchEndpoint=f"{receiver.url}/{{query}}",
        SearchKeySecretArn=secrets.create_secret(Name=f"search-{uuid.uuid4().hex[:8]}", SecretString="key")["ARN"],
    )
    items = [CatalogueItem(f"item-{number:03}", "workflow", "Item") for number in range(201)]
    defined = [_defined(laptop, stack, "release", RELEASE), _defined(laptop, stack, "work", WORK)]
    put_in_place_of(laptop, stack, TENANT, [*items, *defined])
    settings = DynamoRuntimeSettings(laptop.client("dynamodb"), stack.deployed.outputs["RegistryTableName"])
    settings.set(TENANT, STRANGE, "breaker_failures", 1)
    exercised = Exercised(laptop, stack)
    functions = functions_of(laptop, stack)
    functions.configure("Sweeper", HURRIED="1")
    for name in ("Delivery", "Worker"):  # what is in their queues is the test's
        functions.source(name, Enabled=False)
    functions.lambdas.invoke(FunctionName=stranger, Payload=b"{}")  # awake, for it has three seconds
    for tenant in (TENANT, "default"):
        exercised.directory.place(tenant, Executor(stranger, "none", 3_000), [Hosted(STRANGE)])
    return exercised


def _defined(laptop: Laptop, stack: Stack, name: str, document: Mapping[str, Any]) -> CatalogueItem:
    table, bucket = (stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
    values = S3Values(lambda: laptop.client("s3"), bucket)
    definition = DynamoDefinitionTexts(laptop.client("dynamodb"), table, values).keep(TENANT, json.dumps(document))
    return CatalogueItem(name, "workflow", name, definition=definition)


def the_gateway_works(exercised: Exercised) -> bool:
    """A token under a key unknown so far, a page with a cursor, skill documents, an answer too long to be sent, a call
    of a function that fails, and of one that works again, a workflow that people approve, and one that calls."""
    exercised.laptop.issuer.rotate()
    _forget_the_issuers_keys(exercised)
    exercised.restart("GatewayFunctionName")
    stack = exercised.stack
    token = exercised.laptop.issuer.access_token("reader", stack.url, tenant=TENANT)
    answer = stack.ask(token, "tools/call", {"name": "gateway.home", "arguments": {}})
    if answer.status != 200 or "nextCursor" not in answer.json.get("result", {}).get("structuredContent", {}):
        return False
    if not _reads_a_document(stack, token):
        return False
    arguments = {"characters": LONGEST_ANSWER}
    long = stack.ask(token, "tools/call", {"name": "test_long_answer", "arguments": arguments}).json
    is_kept = "result" in long and _can_be_read(long["result"]["content"][1]["uri"])
    return is_kept and _recovers(exercised, token) and _releases(exercised)


def _reads_a_document(stack: Stack, token: str) -> bool:
    """One that the stack ships; the first that is listed is the index."""
    listed = stack.ask(token, "resources/list").json.get("result", {}).get("resources", [])
    return len(listed) > 1 and "result" in stack.ask(token, "resources/read", {"uri": listed[1]["uri"]}).json


def _releases(exercised: Exercised) -> bool:
    """A request that is opened and closed, and a context that is too long for a row."""
    stack = exercised.stack
    token = exercised.laptop.issuer.access_token("approver", stack.url, tenant=TENANT)

    def follow(tool: str, args: Mapping[str, Any]) -> Any:
        return stack.ask(token, "tools/call", {"name": tool, "arguments": args}).json.get("result", {})

    told = follow("workflow.start", {"definitionId": "release"})
    for arguments in ({"what": "x" * (LONGEST_IN_A_ROW + 1)}, {}):
        links = told.get("structuredContent", {}).get("links", [])
        if not links or told["isError"]:
            return False
        told = follow("workflow.submit", {**links[-1]["args"], "arguments": arguments})
    started = follow("workflow.start", {"definitionId": "work"}).get("structuredContent", {})
    taken = {"workflowId": started.get("workflowId"), "expectedVersion": 1, "transition": "wait"}
    worked = follow("workflow.submit", taken)
    return all(one.get("structuredContent", {}).get("terminal", False) for one in (told, worked))


def _recovers(exercised: Exercised, token: str) -> bool:
    """A function whose breaker opens, and one whose breaker closes."""
    breakers = exercised.breakers
    breakers.close(TENANT, STRANGE)
    breakers.open(TENANT, "core::wait", BreakerState(opened_until=0, failures=1, last_failure="crashed"))
    answered = exercised.call(token, STRANGE).get("failure", {}).get("code") == "malformed_reply"
    return answered and exercised.wait(token) and set(breakers.of_tenant(TENANT)) == {STRANGE}


def _can_be_read(address: str) -> bool:
    with suppress(HTTPError), urlopen(address) as response:  # noqa: S310 - an address of the emulator
        return len(response.read()) > LONGEST_ANSWER
    return False


def _forget_the_issuers_keys(exercised: Exercised) -> None:
    row = {"pk": {"S": "deployment"}, "sk": {"S": f"issuer-keys#{exercised.laptop.issuer.url}"}}
    exercised.laptop.client("dynamodb").delete_item(TableName=exercised.table, Key=row)


class CloudFormation(HTTPServer):
    """Where a custom resource answers to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.answers: list[Any] = []


class _Answer(BaseHTTPRequestHandler):
    server: CloudFormation  # pyright: ignore[reportIncompatibleVariableOverride] - the only server it has

    def do_PUT(self) -> None:
        self.server.answers.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name is the base class's
        del format, args


@pytest.fixture(scope="module")
def cloudformation() -> Iterator[CloudFormation]:
    server = CloudFormation()
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def the_registry_works(exercised: Exercised, cloudformation: CloudFormation) -> bool:
    exercised.restart("RegistryFunctionName")
    works = _ships(exercised, cloudformation) and _registers(exercised) and _publishes(exercised)
    return works and _looks_at_what_is_to_be_loaded(exercised) and _probes(exercised)


def _looks_at_what_is_to_be_loaded(exercised: Exercised) -> bool:
    """A Lambda function that the deployment allows, and that says of itself to be no executor."""
    answer = exercised.ask_registry("skills::load", {"executor": f"{EXECUTORS}-stranger"})
    return answer is not None and "EXECUTOR_KEY_SECRET_ARN" in answer.get("error", {}).get("message", "")


def _ships(exercised: Exercised, cloudformation: CloudFormation) -> bool:
    """An update that puts the core executor in the place of another one."""
    outputs = exercised.stack.deployed.outputs
    former = Executor("arn:former", "none", 3_000)
    exercised.directory.place(None, former, [Hosted("core::former")])
    event = {
        "RequestType": "Update",
        "RequestId": "1",
        "StackId": "stack",
        "LogicalResourceId": "ShippedFunctions",
        "ResponseURL": f"http://127.0.0.1:{cloudformation.server_port}/",
        "ResourceProperties": {"Executors": [outputs["ExecutorCoreFunctionArn"]]},
        "OldResourceProperties": {"Executors": [former.arn]},
    }
    exercised.invoke("RegistryFunctionName", event)
    return cloudformation.answers.pop()["Status"] == "SUCCESS"


def _registers(exercised: Exercised) -> bool:
    """A document that comes, is read and goes."""
    body = f"# {uuid.uuid4().hex}"
    registered = exercised.ask_registry("skills::register", {"id": "exercise", "skill": body})
    read = exercised.ask_registry("skills::resources-read", {"uri": "iii://exercise"})
    removed = exercised.ask_registry("skills::unregister", {"id": "exercise"})
    listed = exercised.ask_registry("skills::list", {})
    return "error" not in registered | read | removed | listed and read["contents"][0]["text"] == body


def _publishes(exercised: Exercised) -> bool:
    """A catalogue with another definition than before, which is put in the place of the one that there was."""
    document = {"title": uuid.uuid4().hex, "initialState": "a", "states": {"a": {"terminal": True}}}
    sent = exercised.ask_registry("manifest::bodies", {"definitions": {"version": 1, "workflows": {"w": document}}})
    named = [{"id": "w", "digest": sha256(text_of(document).encode()).hexdigest()}]
    payload = {"workflows": named, "parts": [sent.get("part", "")]}
    return "error" not in sent | exercised.ask_registry("manifest::publish", payload)


def _probes(exercised: Exercised) -> bool:
    """A section whose function was left alone. It refuses its arguments, so that it has been called; and one of a
    function of another stack, which answers something else."""
    opened = BreakerState(opened_until=0, failures=3, last_failure="crashed")
    exercised.breakers.open("default", "core::wait", opened)
    causes = [_cause(exercised, section) for section in ("core/wait", "strange/function")]
    exercised.breakers.close("default", "core::wait")
    return causes == ["invalid_arguments", "malformed_reply"]


def _cause(exercised: Exercised, section: str) -> str | None:
    answer = exercised.ask_registry("skills::resources-read", {"uri": f"iii://fn/{section}"})
    return answer.get("error", {}).get("data", {}).get("cause")


def the_relay_works(exercised: Exercised) -> bool:
    """A publication, as the stream shows it."""
    change = SkillChange("relayed", None)
    bucket = exercised.stack.deployed.outputs["ContentBucketName"]
    publications = S3Publications(lambda: exercised.laptop.client("s3"), bucket)
    publication = Publication(1, [change])
    image = row_of_publication("exercise", publication, publication.save("exercise", publications))
    exercised.restart("RelayFunctionName")
    records = [{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "NewImage": image}}]
    return exercised.invoke("RelayFunctionName", {"Records": records}) == {"batchItemFailures": []}


def the_herald_works(exercised: Exercised) -> bool:
    """A step, and somebody who is to be looked at, as the stream shows them."""
    step = {
        **keys.workflow_row("exercise", "wf_1", keys.audit(1.0, "cor_1")),
        "correlation": {"S": "cor_1"},
        "subject": {"S": "ann"},
        "text": {"S": audit_text([AuditEvent(Record("workflow.started", {}), 1.0, "cor_1", "ann")])},
    }
    head = {**keys.workflow_row("exercise", "wf_1", keys.HEAD), **wake_attributes([Wake("wf_1")])}
    exercised.restart("HeraldFunctionName")
    records = [
        {"eventName": "INSERT", "dynamodb": {"SequenceNumber": str(number), "NewImage": image}}
        for number, image in enumerate((step, head))
    ]
    return exercised.invoke("HeraldFunctionName", {"Records": records}) == {"batchItemFailures": []}


def the_subscriber_works(exercised: Exercised) -> bool:
    """A change of a tenant whose last publication is not in its rows yet."""
    trigger = Subscription("trigger", "skills::on-change", STRANGE, "2026-11-18T12:00:00.000Z")
    publication = Publication(1, [SubscriptionChange(trigger.name, trigger)])
    bucket = exercised.stack.deployed.outputs["ContentBucketName"]
    key = publication.save(LISTENER, S3Publications(lambda: exercised.laptop.client("s3"), bucket))
    head = head_row(LISTENER, Head(version=1, overlay=key))
    exercised.laptop.client("dynamodb").put_item(TableName=exercised.table, Item=head)
    exercised.restart("SubscriberFunctionName")
    event = {
        "detail-type": "skills::on-change",
        "detail": {"op": "register", "id": "a"},
        "resources": ["iii://a", "urn:signpost:seq:1", f"urn:signpost:tenant:{LISTENER}"],
    }
    message = {"messageId": "m", "body": json.dumps(event)}
    return exercised.invoke("SubscriberFunctionName", {"Records": [message]}) == {"batchItemFailures": []}


def the_delivery_works(exercised: Exercised, receiver: Receiver) -> bool:
    """A function that fails, so that its breaker opens, one that works again, and an address."""
    breakers = exercised.breakers
    breakers.close(TENANT, STRANGE)
    breakers.open(TENANT, "core::wait", BreakerState(opened_until=0, failures=1, last_failure="crashed"))
    exercised.restart("DeliveryFunctionName")
    delivered = [
        _delivers(exercised, "trigger", STRANGE),
        _delivers(exercised, "trigger", "core::wait"),
        _delivers(exercised, "webhook", receiver.url),
    ]
    return delivered == [False, True, True] and set(breakers.of_tenant(TENANT)) == {STRANGE}


def _delivers(exercised: Exercised, kind: SubscriberKind, target: str) -> bool | None:
    """None if what was not delivered did not come back at once, as the test stage wants it."""
    sqs, queue = exercised.laptop.client("sqs"), exercised.stack.deployed.outputs["DeliveryQueueUrl"]
    sqs.purge_queue(QueueUrl=queue)
    delivery = Delivery(TENANT, 1, "skills::on-change", {"seconds": 0}, kind, target)
    sqs.send_message(QueueUrl=queue, MessageBody=to_text(delivery))
    (message,) = sqs.receive_message(QueueUrl=queue, VisibilityTimeout=600, WaitTimeSeconds=5)["Messages"]
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"ApproximateReceiveCount": "1"},
    }
    answer = exercised.invoke("DeliveryFunctionName", {"Records": [record]})
    if answer == {"batchItemFailures": []}:
        return True
    return False if sqs.receive_message(QueueUrl=queue).get("Messages") else None


def the_worker_works(exercised: Exercised) -> bool:
    """Steps that are to be gone on with, of a function that works again and of one that fails, with a context that is
    too long for a row; a request that nobody has answered in time; and a message that says nothing."""
    breakers = exercised.breakers
    breakers.close(TENANT, STRANGE)
    breakers.open(TENANT, "core::wait", BreakerState(opened_until=0, failures=1, last_failure="crashed"))
    exercised.restart("WorkerFunctionName")
    taken_up = [
        _wakes(exercised, _new(exercised, "ready", claim=_left("wait"))),
        _wakes(exercised, _new(exercised, "ready", claim=_left("fail"))),
        _wakes(exercised, _new(exercised, "asked", request=_asked(), ends_at=2.0)),
    ]
    opened = set(breakers.of_tenant(TENANT)) == {STRANGE}
    return taken_up == ["done", "in_doubt", "done"] and opened and _puts_off(exercised)


def _instances(exercised: Exercised) -> DynamoInstances:
    outputs, s3 = exercised.stack.deployed.outputs, exercised.laptop.client("s3")
    values = S3Values(lambda: s3, outputs["ContentBucketName"])
    return DynamoInstances(exercised.laptop.client("dynamodb"), outputs["WorkflowsTableName"], values)


def _new(exercised: Exercised, state: str, **members: Any) -> Instance:
    digest = _defined(exercised.laptop, exercised.stack, "work", WORK).definition
    context = {"text": "x" * (LONGEST_IN_A_ROW + 1)}
    return Instance(f"wf_{uuid.uuid4().hex}", "work", str(digest), state, 1, context, {}, started_at=1.0, **members)


def _left(transition: str) -> Claim:
    job = Job(transition, {}, Principal("ann", TENANT, "issuer"))
    return Claim("token", "waiting", job, since=1.0, until=1.0)


def _asked() -> Request:
    return Request(f"hr_{uuid.uuid4().hex}", "anyone", "ann", 1.0, state="asked")


def _wakes(exercised: Exercised, instance: Instance) -> str:
    """Where it stands after that, or how whatever is under way does."""
    instances = _instances(exercised)
    assert instances.save(TENANT, Entry(instance, token=uuid.uuid4().hex), replacing=None)
    record = {
        "messageId": "m",
        "receiptHandle": "none",
        "body": Message(TENANT, instance.id).text,
        "attributes": {"ApproximateReceiveCount": "1"},
    }
    exercised.invoke("WorkerFunctionName", {"Records": [record]})
    after = instances.load(TENANT, instance.id)
    assert after is not None
    return after.state if after.claim is None else after.claim.standing


def _puts_off(exercised: Exercised) -> bool:
    """Whether what nobody can read comes back at once, as the test stage wants it."""
    sqs, queue = exercised.laptop.client("sqs"), exercised.stack.deployed.outputs["WorkQueueUrl"]
    nonsense = uuid.uuid4().hex
    sqs.send_message(QueueUrl=queue, MessageBody=nonsense)
    message = _received(sqs, queue, nonsense)
    record = {
        "messageId": "m",
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": {"ApproximateReceiveCount": "1"},
    }
    answer = exercised.invoke("WorkerFunctionName", {"Records": [record]})
    return answer == {"batchItemFailures": [{"itemIdentifier": "m"}]}


def _received(sqs: Any, queue: str, body: str) -> Any:
    """Among what others have put there."""
    while True:
        messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=5)["Messages"]
        for message in messages:
            if message["Body"] == body:
                return message
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def the_sweeper_works(exercised: Exercised) -> bool:
    """A publication that is to be written into rows, an object that nothing names, and a workflow that is due."""
    client, name, tenant = exercised.laptop.client("dynamodb"), uuid.uuid4().hex, "swept"
    bucket = exercised.stack.deployed.outputs["ContentBucketName"]
    publications = S3Publications(lambda: exercised.laptop.client("s3"), bucket)
    changes = [PromptChange(name, StoredPrompt(name, "", "mail::letter", (), "")), SkillChange(name, None)]
    key = Publication(1, changes).save(tenant, publications)
    client.put_item(TableName=exercised.table, Item=row_of_scope(tenant))
    client.put_item(TableName=exercised.table, Item=head_row(tenant, Head(version=2, overlay=key)))
    S3Bodies(lambda: exercised.laptop.client("s3"), bucket).keep(tenant, f"{PART}{name}", b"[]")
    due = {**keys.workflow_row(tenant, "wf_1", keys.HEAD), **due_attributes("wf_1", 1.0)}
    client.put_item(TableName=exercised.stack.deployed.outputs["WorkflowsTableName"], Item=due)
    answer = exercised.invoke("SweeperFunctionName", {"source": "aws.events"})
    looked = exercised.invoke("SweeperFunctionName", {"sweep": "due"})
    return answer.get("completed", 0) > 0 and answer["removed"] > 0 and looked.get("woken", 0) > 0


def the_core_works(exercised: Exercised) -> bool:
    exercised.restart("ExecutorCoreFunctionArn")
    token = exercised.laptop.issuer.access_token("reader", exercised.stack.url, tenant=TENANT)
    return exercised.wait(token) and exercised.searches(token)


type Works = Callable[[str], bool]


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving(lambda _: Reply(200, b'{"results": []}')) as server:
        yield server


@pytest.fixture(scope="module")
def works(exercised: Exercised, cloudformation: CloudFormation, receiver: Receiver) -> Works:
    exercises: Mapping[str, Callable[[], bool]] = {
        "GatewayFunctionName": lambda: the_gateway_works(exercised),
        "RegistryFunctionName": lambda: the_registry_works(exercised, cloudformation),
        "RelayFunctionName": lambda: the_relay_works(exercised),
        "HeraldFunctionName": lambda: the_herald_works(exercised),
        "WorkerFunctionName": lambda: the_worker_works(exercised),
        "SweeperFunctionName": lambda: the_sweeper_works(exercised),
        "SubscriberFunctionName": lambda: the_subscriber_works(exercised),
        "DeliveryFunctionName": lambda: the_delivery_works(exercised, receiver),
        "ExecutorCoreFunctionArn": lambda: the_core_works(exercised),
    }
    return lambda function: exercises[function]()


@pytest.mark.parametrize("function", POLICIES)
def test_a_function_works_with_its_permissions(works: Works, function: str) -> None:
    assert works(function)


@pytest.mark.invariant(16)
@pytest.mark.parametrize(
    ("function", "statement", "permission"),
    [(function, *permission) for function in POLICIES for permission in granted(function)],
)
def test_a_function_stripped_of_one_permission_fails(
    exercised: Exercised, works: Works, function: str, statement: str, permission: str
) -> None:
    iam = exercised.laptop.client("iam")
    configuration = exercised.laptop.client("lambda").get_function_configuration(
        FunctionName=exercised.stack.deployed.outputs[function]
    )
    role = configuration["Role"].rsplit("/", 1)[-1]
    names = iam.list_role_policies(RoleName=role)["PolicyNames"]
    documents = {name: _document(iam, role, name) for name in names}
    stripped = {name: _without(statement, permission, document) for name, document in documents.items()}
    assert stripped != documents
    _put(iam, role, stripped)
    try:
        assert not works(function)
    finally:
        _put(iam, role, documents)
    assert works(function)


def _document(iam: Any, role: str, policy: str) -> Any:
    document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
    return json.loads(document) if isinstance(document, str) else document


def _without(sid: str, permission: str, document: Any) -> Any:
    """With something that the function never does in its place. The emulator tells statements apart by what they are
    about, not by their conditions."""
    about = [one["Resource"] for one in document["Statement"] if one["Sid"] == sid]
    statements = [
        {**one, "Action": ["iam:GetUser" if action == permission else action for action in _listed(one["Action"])]}
        if one["Effect"] == "Allow" and one["Resource"] in about
        else one
        for one in document["Statement"]
    ]
    return {**document, "Statement": statements}


def _put(iam: Any, role: str, documents: Mapping[str, Any]) -> None:
    for policy, document in documents.items():
        iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=json.dumps(document))
