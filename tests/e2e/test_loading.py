"""An executor of another stack is loaded while the gateway runs, called by an MCP client, and unloaded; and whoever
loads it may be killed at any step."""

import io
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from local.example import LOADABLE
from local.progress import Progress
from signpost.adapters.dynamodb import DynamoDirectory, DynamoPlacedFunctions
from signpost.adapters.secrets_manager import EXECUTOR_KEYS_TAG
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.contract import Executor, ExecutorVersion, HostedFunction, PlacedExecutor
from signpost.directory.load_tenants import TENANTS_TAG
from signpost.identity.permissions import ADMINISTRATION
from stage.crashes import PROCESS, SANDBOX
from tests.support.commands import ProcessRunner, parse_json_lines
from tests.support.deployed_workflows import run_concurrently
from tests.support.functions import connect_functions
from tests.support.laptop import Laptop
from tests.support.load_listener import LoadListener, build_load_listener
from tests.support.swept_stack import SweptStack
from tests.support.waiting import wait_for, wait_within

pytestmark = pytest.mark.cloud

STACK = "loading"
SYSTEM_INFO = LOADABLE["system-info"]
SKILL = "skill:system_info"
MISSING = "arn:aws:lambda:us-east-1:000000000000:function:missing"


@pytest.fixture(scope="module")
def stack(laptop: Laptop) -> SweptStack:
    """With an executor in a stack of its own, which nobody has loaded."""
    allowed = f"{SYSTEM_INFO.function_arn},{MISSING}"
    gateway = laptop.deploy(STACK, variant="test", AuthMode="both", ExecutorFunctions=allowed)
    SYSTEM_INFO.deploy(laptop.emulator, gateway.deployed, laptop.home, Progress(io.StringIO()))
    return SweptStack(
        laptop, gateway, connect_functions(laptop, gateway), laptop.client("dynamodb"), laptop.client("s3")
    )


@dataclass(frozen=True, slots=True)
class LoadingTenant:
    stack: SweptStack
    name: str
    key: str

    def list_skills(self) -> Mapping[str, str]:
        """As its client lists them, with their descriptions."""
        answer = self.stack.stack.request(self.key, path="/mcp/flat")
        tools = answer.json["result"]["tools"]
        return {tool["name"]: tool["description"] for tool in tools if "[dynamic]" in tool["description"]}

    def call_skill(self) -> Any:
        return self.stack.stack.request(self.key, "tools/call", {"name": SKILL, "arguments": {}}, path="/mcp/flat").json

    def find_placed(self) -> PlacedExecutor | None:
        return next((one for one in self.directory.list_placed() if one.tenant == self.name), None)

    def list_hosted(self) -> Sequence[HostedFunction]:
        return DynamoPlacedFunctions(self.stack.dynamodb, self.stack.table).functions(self.name)

    @property
    def directory(self) -> DynamoDirectory:
        return DynamoDirectory(self.stack.dynamodb, self.stack.table)


def make_tenant(stack: SweptStack, name: str = "") -> LoadingTenant:
    name = name or f"t-{uuid.uuid4().hex[:12]}"
    return LoadingTenant(stack, name, stack.laptop.make_key(stack.stack, name, permissions=[ADMINISTRATION]))


@pytest.fixture
def tenant(stack: SweptStack) -> LoadingTenant:
    return make_tenant(stack)


@pytest.fixture(scope="module")
def load_listener(laptop: Laptop, stack: SweptStack) -> LoadListener:
    return build_load_listener(laptop, stack.stack)


def wait_until_equal(look: Callable[[], object], expected: object) -> None:
    wait_for(f"{expected}", look, lambda found: found == expected)


@pytest.mark.invariant(68)
def test_an_executor_of_another_stack_is_loaded_called_and_unloaded(
    tenant: LoadingTenant, signpost: ProcessRunner, load_listener: LoadListener
) -> None:
    assert tenant.list_skills() == {}
    unknown = tenant.call_skill()

    def command(operation: str) -> Any:
        ran = signpost(
            "executors", operation, "signpost-system-info", "--stack", STACK, SIGNPOST_AUTHORIZATION=tenant.key
        )
        assert ran.returncode == 0, ran.stderr
        (printed,) = parse_json_lines(ran.stdout)
        return printed

    assert command("load")["loaded"] == ["system_info"]
    wait_within(
        REVALIDATION_INTERVAL,
        "the skill to be listed",
        lambda: list(tenant.list_skills()),
        lambda seen: seen == [SKILL],
    )
    assert tenant.list_skills()[SKILL].endswith(" [dynamic]")
    answered = tenant.call_skill()["result"]
    assert answered["isError"] is False, answered
    assert answered["structuredContent"]["python"].startswith("3.13")
    assert command("reload")["reloaded"] == ["system_info"]
    assert tenant.call_skill()["result"]["isError"] is False
    listed = parse_json_lines(signpost("executors", "list", "--stack", STACK).stdout)
    assert [one["version"] for one in listed if one["tenant"] == tenant.name] == ["1.0.0"]
    assert command("unload")["unloaded"] == ["system_info"]
    wait_within(REVALIDATION_INTERVAL, "the skill to be gone", tenant.list_skills, lambda seen: seen == {})
    assert tenant.call_skill() == unknown
    events = [{"op": op, "name": "system_info"} for op in ("load", "reload", "unload")]
    wait_until_equal(lambda: load_listener.read_events(tenant.name), [sorted(events, key=str)])


REFUSED_COMMANDS = [
    ("load", "signpost-welcome", "does not allow 'signpost-welcome'"),
    ("unload", "signpost-system-info", "No executor 'signpost-system-info' is loaded"),
    ("reload", "signpost-system-info", "not loaded"),
    ("load", "missing", "may not be loaded for the tenant"),
    ("unload", "core", "No executor"),
]


@pytest.mark.parametrize(("operation", "executor", "says"), REFUSED_COMMANDS)
def test_a_refused_executors_command_prints_a_message(
    tenant: LoadingTenant, signpost: ProcessRunner, operation: str, executor: str, says: str
) -> None:
    ran = signpost("executors", operation, executor, "--stack", STACK, SIGNPOST_AUTHORIZATION=tenant.key)
    assert (ran.returncode, says in ran.stderr) == (1, True), ran.stderr


def test_a_load_without_the_permission_is_refused(
    stack: SweptStack, tenant: LoadingTenant, signpost: ProcessRunner
) -> None:
    key = stack.laptop.make_key(stack.stack, tenant.name)
    ran = signpost("executors", "load", "signpost-system-info", "--stack", STACK, SIGNPOST_AUTHORIZATION=key)
    assert (ran.returncode, ADMINISTRATION in ran.stderr) == (1, True)
    assert tenant.find_placed() is None


@pytest.fixture
def foreign_executor(laptop: Laptop, stack: SweptStack) -> Iterator[None]:
    """The executor is for another tenant, as its tag says."""
    assert stack
    functions = laptop.client("lambda")
    before = functions.list_tags(Resource=SYSTEM_INFO.function_arn)["Tags"]
    functions.tag_resource(Resource=SYSTEM_INFO.function_arn, Tags={TENANTS_TAG: "another-tenant"})
    yield
    functions.tag_resource(Resource=SYSTEM_INFO.function_arn, Tags={TENANTS_TAG: before[TENANTS_TAG]})


@pytest.mark.invariant(85)
@pytest.mark.usefixtures("foreign_executor")
def test_an_executor_of_another_tenant_is_not_loaded(tenant: LoadingTenant, signpost: ProcessRunner) -> None:
    ran = signpost("executors", "load", "signpost-system-info", "--stack", STACK, SIGNPOST_AUTHORIZATION=tenant.key)
    assert (ran.returncode, TENANTS_TAG in ran.stderr) == (1, True), ran.stderr
    assert tenant.find_placed() is None


@pytest.fixture
def untagged_secret(laptop: Laptop, stack: SweptStack) -> Iterator[None]:
    """The secret of the executor has lost its tag: it may be for anything."""
    assert stack
    secrets, secret = laptop.client("secretsmanager"), find_secret(laptop)
    registry = stack.stack.deployed.outputs["RegistryFunctionName"]
    laptop.expect_denial(registry, "secretsmanager:DescribeSecret", secret)
    secrets.untag_resource(SecretId=secret, TagKeys=[EXECUTOR_KEYS_TAG])
    yield
    secrets.tag_resource(SecretId=secret, Tags=[{"Key": EXECUTOR_KEYS_TAG, "Value": "system-info"}])


@pytest.mark.usefixtures("untagged_secret")
def test_an_executor_with_an_untagged_secret_is_not_loaded(tenant: LoadingTenant, signpost: ProcessRunner) -> None:
    ran = signpost("executors", "load", "signpost-system-info", "--stack", STACK, SIGNPOST_AUTHORIZATION=tenant.key)
    assert (ran.returncode, EXECUTOR_KEYS_TAG in ran.stderr) == (1, True), ran.stderr
    assert tenant.find_placed() is None


def find_secret(laptop: Laptop) -> str:
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
def mortal_stack(stack: SweptStack) -> Iterator[SweptStack]:
    """The stack, whose registry function is mortal as long as the tests of this module run."""
    yield stack
    stack.choose_mortal_process(None)


CRASH_CASES = [
    ("load", PROCESS),
    ("unload", PROCESS),
    pytest.param("load", SANDBOX, marks=pytest.mark.prove),
    pytest.param("unload", SANDBOX, marks=pytest.mark.prove),
]


@pytest.mark.invariant(66)
@pytest.mark.parametrize(("operation", "dies"), CRASH_CASES)
def test_a_load_killed_at_any_step_is_complete_or_the_old_version_serves(
    laptop: Laptop, mortal_stack: SweptStack, load_listener: LoadListener, operation: str, dies: str
) -> None:
    stack = mortal_stack
    stack.choose_mortal_process(dies)
    run = f"t-{uuid.uuid4().hex[:8]}"
    executor = Executor(SYSTEM_INFO.function_arn, find_secret(laptop), 10_000)
    # Its executor has its keys from then on.
    assert "error" not in stack.call_registry(run, "skills::load", {"executor": executor.arn})
    payload, whole = {"executor": executor.arn}, place_old_version(stack, f"{run}-whole", executor)
    names = stack.list_crash_steps(whole.name, f"skills::{operation}", payload)

    def killed(step: int) -> bool:
        tenant = place_old_version(stack, f"{run}-{step}", executor)
        assert stack.call_registry(tenant.name, f"skills::{operation}", payload, crash_after=step) is None
        return is_change_complete(tenant, operation, executor)

    happened = run_concurrently(killed, range(len(names)), SANDBOXES)
    assert happened == sorted(happened)  # not at all up to some step, and from there on whole
    assert {*happened} == {False, True}
    gone = [{"op": "unload", "name": "older"}]
    info = [{"op": "unload" if operation == "unload" else "reload", "name": "system_info"}]
    placed = [{"op": "load", "name": name} for name in ("older", "system_info")]
    expected = [sorted(placed + (gone + info if is_new else []), key=str) for is_new in happened]
    wait_until_equal(lambda: load_listener.read_events(*(f"{run}-{step}" for step in range(len(happened)))), expected)


def place_old_version(stack: SweptStack, name: str, executor: Executor) -> LoadingTenant:
    tenant = make_tenant(stack, name)
    assert tenant.directory.place(name, executor, OLD, OLD_TERMS) == []
    return tenant


def is_change_complete(tenant: LoadingTenant, operation: str, executor: Executor) -> bool:
    """False if the old version serves, whole; True if the new one does, or after an unload nothing."""
    placed, hosted = tenant.find_placed(), list(tenant.list_hosted())
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
        assert tenant.call_skill()["result"]["isError"] is False
    return not is_old
