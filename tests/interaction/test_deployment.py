"""What a deployment ships, as CloudFormation's custom resource asks for it."""

import json
from typing import Any

import pytest

from signpost.adapters.memory import FunctionTable, MemoryDirectory, MemoryFunctionStates, MemoryMasterKeys
from signpost.adapters.memory.link import Handler, MemoryLink
from signpost.contract import Executor, Hosted
from signpost.deployment import Deployment
from signpost.errors import Unavailable
from signpost.execution.manifest import manifest_message
from signpost.execution.placement import Placer, keys_of
from signpost.model import JsonObject, MasterKeys
from signpost.telemetry import Telemetry
from tests.support.memory_gateway import SetClock

CORE = Executor("arn:core", "secret:core", 30_000)
OLD = Executor("arn:old", "secret:old", 30_000)
ADDRESS = "https://cloudformation.test/answer"
STACK_KEYS = MasterKeys("a" * 64, "b" * 64)


class Account:
    """The Lambda functions and secrets that there are."""

    def __init__(self) -> None:
        self.executors = {CORE.arn: CORE, OLD.arn: OLD}
        self.secrets = {name: MemoryMasterKeys(MasterKeys("nobody's")) for name in ("secret:core", "secret:old")}

    def inspect(self, lambda_function: str) -> Executor | str:
        return self.executors.get(lambda_function, f"There is no Lambda function {lambda_function}.")

    def problem_with(self, secret: str) -> str | None:
        return None if secret in self.secrets else "its secret may be for something else."

    def write(self, secret: str, keys: MasterKeys) -> bool:
        if secret not in self.secrets:
            return False
        self.secrets[secret].write(keys)
        return True


class World:
    def __init__(self) -> None:
        self.account = Account()
        self.table = FunctionTable()
        self.directory = MemoryDirectory(self.table)
        self.manifests: dict[str, Any] = {}
        self.answers: list[tuple[str, JsonObject]] = []
        placer = Placer(
            inspector=self.account,
            link=MemoryLink({arn: self.answering(arn) for arn in (CORE.arn, OLD.arn)}),
            stack_keys=MemoryMasterKeys(STACK_KEYS),
            secrets=self.account,
            directory=self.directory,
            clock=SetClock(),
        )
        self.deployment = Deployment(
            placer=placer,
            answer=lambda address, answer: self.answers.append((address, answer)),
            telemetry=Telemetry("deployment-under-test"),
        )
        self.hosts(CORE, "core::wait")
        self.hosts(OLD, "core::old")

    def answering(self, arn: str) -> Handler:
        def handler(_: JsonObject) -> JsonObject:
            return self.manifests[arn]

        return handler

    def hosts(self, executor: Executor, *functions: str) -> None:
        self.manifests[executor.arn] = manifest_message([Hosted(function) for function in functions])

    def asks(self, request: str, *executors: str, before: tuple[str, ...] = ()) -> Any:
        event = {
            "RequestType": request,
            "RequestId": "r-1",
            "StackId": "stack",
            "LogicalResourceId": "ShippedFunctions",
            "ResponseURL": ADDRESS,
            "ResourceProperties": {"Executors": list(executors)},
            "OldResourceProperties": {"Executors": list(before)},
        }
        self.deployment.handle(event)
        ((address, answer),) = self.answers
        self.answers.clear()
        assert address == ADDRESS
        return answer

    def shipped(self) -> set[str]:
        names = ("core::wait", "core::old", "core::new")
        states = MemoryFunctionStates(self.table)
        return {name for name in names if states.read("anybody", name).shipped}


@pytest.fixture
def world() -> World:
    return World()


def test_what_the_stack_ships_is_placed_with_its_keys(world: World) -> None:
    answer = world.asks("Create", CORE.arn)
    assert (answer["Status"], answer["RequestId"], answer["StackId"]) == ("SUCCESS", "r-1", "stack")
    assert world.shipped() == {"core::wait"}
    assert world.account.secrets["secret:core"].read() == keys_of(CORE.arn, STACK_KEYS)


def test_an_update_follows_the_code_and_takes_away_who_left(world: World) -> None:
    first = world.asks("Create", CORE.arn, OLD.arn)
    world.hosts(CORE, "core::wait", "core::new")
    second = world.asks("Update", CORE.arn, before=(CORE.arn, OLD.arn))
    assert second["Status"] == "SUCCESS"
    assert second["PhysicalResourceId"] == first["PhysicalResourceId"]
    assert world.shipped() == {"core::wait", "core::new"}


def test_a_stack_that_is_deleted_takes_away_what_it_shipped(world: World) -> None:
    world.asks("Create", CORE.arn)
    assert world.asks("Delete", CORE.arn)["Status"] == "SUCCESS"
    assert world.shipped() == set()


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ({"statusCode": 200}, "is no executor"),
        ({"signpost": 1, "manifest": {"functions": [{"id": "has a blank"}]}}, "'has a blank'"),
        ({"signpost": 1, "manifest": {"functions": [{"id": "core::old"}]}}, "hosts core::old already"),
    ],
)
def test_what_cannot_be_placed_fails_the_deployment_with_a_sentence(
    world: World, manifest: JsonObject, says: str
) -> None:
    world.asks("Create", OLD.arn)
    world.manifests[CORE.arn] = manifest
    answer = world.asks("Update", OLD.arn, CORE.arn, before=(OLD.arn,))
    assert (answer["Status"], says in answer["Reason"]) == ("FAILED", True), answer
    assert world.shipped() == {"core::old"}


def test_an_executor_that_is_not_there_fails_the_deployment(world: World) -> None:
    assert "arn:nowhere" in world.asks("Create", "arn:nowhere")["Reason"]


@pytest.mark.parametrize(("fault", "says"), [(Unavailable("Overloaded."), "Overloaded"), (KeyError("x"), "KeyError")])
def test_cloudformation_is_answered_whatever_goes_wrong(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: Exception, says: str
) -> None:
    def broken(_: str) -> Executor:
        raise fault

    monkeypatch.setattr(world.account, "inspect", broken)
    answer = world.asks("Create", CORE.arn)
    assert (answer["Status"], says in answer["Reason"]) == ("FAILED", True)


def test_what_is_no_request_of_cloudformation_changes_nothing(world: World) -> None:
    answer = world.deployment.handle({"RequestType": "Delete"})
    assert "no RequestId" in json.dumps(answer)
    assert world.answers == []
