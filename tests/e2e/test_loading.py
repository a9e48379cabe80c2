"""An executor of another stack is loaded while the gateway runs, called by an MCP client, and unloaded; and whoever
loads it may be killed at any step."""

import io
import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from local.example import LOADABLE
from local.progress import Progress
from signpost.adapters.dynamodb import DynamoDirectory, DynamoPlacedFunctions
from signpost.adapters.secrets_manager import EXECUTOR_KEYS_TAG
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.contract import Executor, ExecutorVersion, HostedFunction, PlacedExecutor
from signpost.identity.permissions import ADMINISTRATION
from stage.crashes import PROCESS, SANDBOX
from tests.acceptance.bus import add_target
from tests.support.commands import Run, rows
from tests.support.driven_workflows import at_once
from tests.support.functions import functions_of
from tests.support.laptop import Laptop
from tests.support.swept import Swept
from tests.support.waiting import seen_within, wait_for

pytestmark = pytest.mark.cloud

STACK = "loading"
SYSTEM_INFO = LOADABLE["system-info"]
SKILL = "skill:system_info"
MISSING = "arn:aws:lambda:us-east-1:000000000000:function:missing"


@pytest.fixture(scope="module")
def stack(laptop: Laptop) -> Swept:
    """With an executor in a stack of its own, which nobody has loaded."""
    allowed = f"{SYSTEM_INFO.function_arn},{MISSING}"
    gateway = laptop.deploy(STACK, variant="test", AuthMode="both", ExecutorFunctions=allowed)
    SYSTEM_INFO.deploy(laptop.emulator, gateway.deployed, laptop.home, Progress(io.StringIO()))
    return Swept(laptop, gateway, functions_of(laptop, gateway), laptop.client("dynamodb"), laptop.client("s3"))


@dataclass(frozen=True, slots=True)
class Tenant:
    stack: Swept
    name: str
    key: str

    def skills(self) -> Mapping[str, str]:
        """As its client lists them, with their descriptions."""
        answer = self.stack.stack.ask(self.key, path="/mcp/flat")
        tools = answer.json["result"]["tools"]
        return {tool["name"]: tool["description"] for tool in tools if "[dynamic]" in tool["description"]}

    def call(self) -> Any:
        return self.stack.stack.ask(self.key, "tools/call", {"name": SKILL, "arguments": {}}, path="/mcp/flat").json

    def placed(self) -> PlacedExecutor | None:
        return next((one for one in self.directory.list_placed() if one.tenant == self.name), None)

    def hosted(self) -> Sequence[HostedFunction]:
        return DynamoPlacedFunctions(self.stack.dynamodb, self.stack.table).functions(self.name)

    @property
    def directory(self) -> DynamoDirectory:
        return DynamoDirectory(self.stack.dynamodb, self.stack.table)


def tenant_of(stack: Swept, name: str = "") -> Tenant:
    name = name or f"t-{uuid.uuid4().hex[:12]}"
    return Tenant(stack, name, stack.laptop.key(stack.stack, name, permissions=[ADMINISTRATION]))


@pytest.fixture
def tenant(stack: Swept) -> Tenant:
    return tenant_of(stack)


@dataclass(frozen=True, slots=True)
class Listener:
    """What the bus has said of skills so far."""

    sqs: Any
    queue: str
    heard: list[Any] = field(default_factory=list[Any])

    def listen(self) -> None:
        """Takes what the queue has, or waits a second for it."""
        answer = self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        for message in answer.get("Messages", []):
            self.heard.append(json.loads(message["Body"]))
            self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])

    def of(self, *tenants: str) -> Sequence[Sequence[Any]]:
        """What each of the tenants was told, in any order."""
        self.listen()
        return [sorted(self._of(tenant), key=str) for tenant in tenants]

    def _of(self, tenant: str) -> Iterator[Any]:
        return (event["detail"] for event in self.heard if f"urn:signpost:tenant:{tenant}" in event["resources"])


@pytest.fixture(scope="module")
def told(laptop: Laptop, stack: Swept) -> Listener:
    sqs, name = laptop.client("sqs"), f"loads-{uuid.uuid4().hex[:8]}"
    queue = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {"source": ["signpost"], "detail-type": ["skills::registry"]}
    add_target(laptop, stack.stack.deployed.outputs["EventBusName"], name, pattern, arn)
    return Listener(sqs, queue)


def eventually(look: Callable[[], object], expected: object) -> None:
    wait_for(f"{expected}", look, lambda found: found == expected)


@pytest.mark.invariant(68)
def test_a_second_stack_s_executor_is_loaded_called_by_a_client_and_unloaded(
    tenant: Tenant, signpost: Run, told: Listener
) -> None:
    assert tenant.skills() == {}
    unknown = tenant.call()

    def command(operation: str) -> Any:
        ran = signpost(
            "executors", operation, "signpost-system-info", "--stack", STACK, SIGNPOST_AUTHORIZATION=tenant.key
        )
        assert ran.returncode == 0, ran.stderr
        (printed,) = rows(ran.stdout)
        return printed

    assert command("load")["loaded"] == ["system_info"]
    seen_within(
        REVALIDATION_INTERVAL, "the skill to be listed", lambda: list(tenant.skills()), lambda seen: seen == [SKILL]
    )
    assert tenant.skills()[SKILL].endswith(" [dynamic]")
    answered = tenant.call()["result"]
    assert answered["isError"] is False, answered
    assert answered["structuredContent"]["python"].startswith("3.13")
    assert command("reload")["reloaded"] == ["system_info"]
    assert tenant.call()["result"]["isError"] is False
    listed = rows(signpost("executors", "list", "--stack", STACK).stdout)
    assert [one["version"] for one in listed if one["tenant"] == tenant.name] == ["1.0.0"]
    assert command("unload")["unloaded"] == ["system_info"]
    seen_within(REVALIDATION_INTERVAL, "the skill to be gone", tenant.skills, lambda seen: seen == {})
    assert tenant.call() == unknown
    events = [{"op": op, "name": "system_info"} for op in ("load", "reload", "unload")]
    eventually(lambda: told.of(tenant.name), [sorted(events, key=str)])


REFUSED = [
    ("load", "signpost-welcome", "does not allow 'signpost-welcome'"),
    ("unload", "signpost-system-info", "No executor 'signpost-system-info' is loaded"),
    ("reload", "signpost-system-info", "not loaded"),
    ("load", "missing", "There is no Lambda function"),
    ("unload", "core", "No executor"),
]


@pytest.mark.parametrize(("operation", "executor", "says"), REFUSED)
def test_what_is_refused_is_said_in_a_sentence(
    tenant: Tenant, signpost: Run, operation: str, executor: str, says: str
) -> None:
    ran = signpost("executors", operation, executor, "--stack", STACK, SIGNPOST_AUTHORIZATION=tenant.key)
    assert (ran.returncode, says in ran.stderr) == (1, True), ran.stderr


def test_without_the_permission_nothing_is_loaded(stack: Swept, tenant: Tenant, signpost: Run) -> None:
    key = stack.laptop.key(stack.stack, tenant.name)
    ran = signpost("executors", "load", "signpost-system-info", "--stack", STACK, SIGNPOST_AUTHORIZATION=key)
    assert (ran.returncode, ADMINISTRATION in ran.stderr) == (1, True)
    assert tenant.placed() is None


@pytest.fixture
def untagged(laptop: Laptop, stack: Swept) -> Iterator[None]:
    """The secret of the executor has lost its tag: it may be for anything."""
    assert stack
    secrets, secret = laptop.client("secretsmanager"), secret_of(laptop)
    registry = stack.stack.deployed.outputs["RegistryFunctionName"]
    laptop.expect_denial(registry, "secretsmanager:DescribeSecret", secret)
    secrets.untag_resource(SecretId=secret, TagKeys=[EXECUTOR_KEYS_TAG])
    yield
    secrets.tag_resource(SecretId=secret, Tags=[{"Key": EXECUTOR_KEYS_TAG, "Value": "system-info"}])


@pytest.mark.usefixtures("untagged")
def test_a_secret_without_the_tag_is_not_open_to_whoever_loads(tenant: Tenant, signpost: Run) -> None:
    ran = signpost("executors", "load", "signpost-system-info", "--stack", STACK, SIGNPOST_AUTHORIZATION=tenant.key)
    assert (ran.returncode, EXECUTOR_KEYS_TAG in ran.stderr) == (1, True), ran.stderr
    assert tenant.placed() is None


def secret_of(laptop: Laptop) -> str:
    found = laptop.client("lambda").get_function_configuration(FunctionName=SYSTEM_INFO.stack_name)
    return found["Environment"]["Variables"]["EXECUTOR_KEY_SECRET_ARN"]


OLD_TERMS = ExecutorVersion("0.9", "0" * 64)
OLD = [
    HostedFunction("system::older"),
    HostedFunction("system::system_info", description="Old.", permissions=frozenset({"old"})),
]


SANDBOXES = 2
"""Of the registry, at the same time: each takes a second of a processor to start."""


@pytest.fixture(scope="module")
def mortal(stack: Swept) -> Iterator[Swept]:
    """The stack, whose registry function is mortal as long as the tests of this module run."""
    yield stack
    stack.let_die(None)


WAYS = [
    ("load", PROCESS),
    ("unload", PROCESS),
    pytest.param("load", SANDBOX, marks=pytest.mark.prove),
    pytest.param("unload", SANDBOX, marks=pytest.mark.prove),
]


@pytest.mark.invariant(66)
@pytest.mark.parametrize(("operation", "dies"), WAYS)
def test_whoever_loads_may_be_killed_at_any_step_and_what_was_loaded_serves_until_the_new_one_does(
    laptop: Laptop, mortal: Swept, told: Listener, operation: str, dies: str
) -> None:
    stack = mortal
    stack.let_die(dies)
    run = f"t-{uuid.uuid4().hex[:8]}"
    executor = Executor(SYSTEM_INFO.function_arn, secret_of(laptop), 10_000)
    # Its executor has its keys from then on.
    assert "error" not in stack.ask(run, "skills::load", {"executor": executor.arn})
    payload, whole = {"executor": executor.arn}, with_old_version(stack, f"{run}-whole", executor)
    names = stack.steps(whole.name, f"skills::{operation}", payload)

    def killed(step: int) -> bool:
        tenant = with_old_version(stack, f"{run}-{step}", executor)
        assert stack.ask(tenant.name, f"skills::{operation}", payload, crash_after=step) is None
        return has_happened(tenant, operation, executor)

    happened = at_once(killed, range(len(names)), SANDBOXES)
    assert happened == sorted(happened)  # not at all up to some step, and from there on whole
    assert {*happened} == {False, True}
    gone = [{"op": "unload", "name": "older"}]
    info = [{"op": "unload" if operation == "unload" else "reload", "name": "system_info"}]
    expected = [sorted(gone + info, key=str) if is_new else [] for is_new in happened]
    eventually(lambda: told.of(*(f"{run}-{step}" for step in range(len(happened)))), expected)


def with_old_version(stack: Swept, name: str, executor: Executor) -> Tenant:
    tenant = tenant_of(stack, name)
    assert tenant.directory.place(name, executor, OLD, OLD_TERMS) == []
    return tenant


def has_happened(tenant: Tenant, operation: str, executor: Executor) -> bool:
    """False if the old version serves, whole; True if the new one does, or after an unload nothing."""
    placed, hosted = tenant.placed(), list(tenant.hosted())
    is_old = placed == PlacedExecutor(tenant.name, executor, ["system::older", "system::system_info"], OLD_TERMS)
    if is_old:
        assert hosted == OLD
    elif operation == "unload":
        assert (placed, hosted) == (None, [])
    else:
        assert placed is not None
        assert placed.terms is not None
        assert (placed.functions, placed.terms.version) == (["system::system_info"], "1.0.0")
        assert [(one.function, one.permissions) for one in hosted] == [("system::system_info", frozenset())]
    if operation != "unload" or is_old:
        assert tenant.call()["result"]["isError"] is False
    return not is_old
