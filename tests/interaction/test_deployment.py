"""What a deployment ships, as CloudFormation's custom resource asks for it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signpost.adapters.memory import MemoryBodies, MemoryContentStore, MemoryFunctionStates
from signpost.catalogue.publishing.publisher import Publisher
from signpost.content.agent_skills.folders import FoundSkill, ShippedContent
from signpost.content.model import SkillChange
from signpost.contract import Executor
from signpost.entrypoints.stack_resource import StackResource
from signpost.errors import Unavailable
from signpost.model import Json, JsonObject
from signpost.telemetry import Telemetry
from tests.support.catalogues import catalogues
from tests.support.placing import Placing, executor
from tests.support.registry import CountingTimestamps

CORE, OLD = executor("core"), executor("old")
GREET: JsonObject = {"name": "greet", "description": "Greets.", "function_id": "demo::greet"}
ADDRESS = "https://cloudformation.test/answer"


class World(Placing):
    def __init__(self) -> None:
        super().__init__(CORE, OLD)
        self.answers: list[tuple[str, JsonObject]] = []
        self.content = MemoryContentStore(self.table)
        self.documents: Sequence[tuple[str, str]] = []
        self.prompts: Json = []
        self.files: Mapping[str, bytes] = {}
        """Of all of them."""
        self.problems: Sequence[str] = []
        self.bodies = MemoryBodies()
        self.deployment = StackResource(
            placer=self.placer,
            publisher=Publisher(
                content=self.content,
                catalogues=catalogues(self.content),
                bodies=self.bodies,
                timestamps=CountingTimestamps(),
            ),
            content=self.content_shipped,
            answer=lambda address, answer: self.answers.append((address, answer)),
            telemetry=Telemetry("deployment-under-test"),
        )
        self.hosts(CORE, "core::wait")
        self.hosts(OLD, "core::old")

    def content_shipped(self) -> ShippedContent:
        skills = [FoundSkill(skill_id, skill_id, body, self.files) for skill_id, body in self.documents]
        return ShippedContent(skills, self.prompts, self.problems)

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

    def documented(self) -> list[str]:
        """The ids of the documents that every tenant sees."""
        return [skill.id for skill in self.content.skills(None)]


@pytest.fixture
def world() -> World:
    return World()


def test_what_the_stack_ships_is_placed_with_its_keys(world: World) -> None:
    answer = world.asks("Create", CORE.arn)
    assert (answer["Status"], answer["RequestId"], answer["StackId"]) == ("SUCCESS", "r-1", "stack")
    assert world.shipped() == {"core::wait"}
    assert world.has_its_keys(CORE)


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
        ({"statusCode": 200}, "is not an executor"),
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


def test_the_documents_of_the_stack_are_published_for_every_tenant(world: World) -> None:
    world.documents = [("signpost", "# Signpost"), ("signpost/old", "# Old")]
    assert world.asks("Create", CORE.arn)["Status"] == "SUCCESS"
    assert world.documented() == ["signpost", "signpost/old"]
    world.documents = [("signpost", "# Signpost, again")]
    assert world.asks("Update", CORE.arn, before=(CORE.arn,))["Status"] == "SUCCESS"
    assert world.documented() == ["signpost"]


def test_a_stack_that_is_deleted_takes_away_its_documents_and_nobody_elses(world: World) -> None:
    world.documents = [("signpost", "# Signpost")]
    world.asks("Create", CORE.arn)
    (shipped,) = world.content.skills(None)
    world.content.apply("acme", [SkillChange("own", shipped)])
    world.asks("Delete", CORE.arn)
    assert world.documented() == []
    assert len(world.content.skills("acme")) == 1


def test_a_document_that_cannot_be_registered_fails_the_deployment_and_none_is_published(world: World) -> None:
    world.documents = [("fine", "# Fine"), ("Not Fine", "# Not")]
    answer = world.asks("Create", CORE.arn)
    assert (answer["Status"], "Not Fine" in answer["Reason"]) == ("FAILED", True)
    assert world.documented() == []


def test_every_update_registers_anew_what_is_the_same(world: World) -> None:
    world.documents, world.prompts = [("signpost", "# Signpost")], [GREET]
    world.asks("Create", CORE.arn)
    (first,), (prompt,) = world.content.skills(None), world.content.prompts(None)
    world.asks("Update", CORE.arn, before=(CORE.arn,))
    (again,), (prompt_again,) = world.content.skills(None), world.content.prompts(None)
    assert (again.digest, again.registered_at > first.registered_at) == (first.digest, True)
    assert prompt_again.registered_at > prompt.registered_at


def test_prompts_and_files_are_shipped_too_and_go_when_they_are_not(world: World) -> None:
    world.documents, world.prompts = [("pdf", "# PDF")], [GREET]
    world.files = {"forms/a.txt": b"A"}
    assert world.asks("Create", CORE.arn)["Status"] == "SUCCESS"
    (skill,) = world.content.skills(None)
    assert [(file.path, world.bodies.read(None, file.digest)) for file in skill.files] == [("forms/a.txt", b"A")]
    assert [prompt.name for prompt in world.content.prompts(None)] == ["greet"]
    world.files, world.prompts = {}, []
    assert world.asks("Update", CORE.arn, before=(CORE.arn,))["Status"] == "SUCCESS"
    assert [skill.files for skill in world.content.skills(None)] == [()]
    assert world.content.prompts(None) == []


@pytest.mark.parametrize("wrong", [{"prompts": {"greet": "no list"}}, {"problems": ["prompts.yaml cannot be read."]}])
def test_what_cannot_be_read_fails_the_deployment(world: World, wrong: JsonObject) -> None:
    world.documents = [("fine", "# Fine")]
    for name, value in wrong.items():
        setattr(world, name, value)
    answer = world.asks("Create", CORE.arn)
    assert (answer["Status"], "prompts" in answer["Reason"]) == ("FAILED", True)
    assert world.documented() == []


def test_what_is_no_request_of_cloudformation_changes_nothing(world: World) -> None:
    answer = world.deployment.handle({"RequestType": "Delete"})
    assert "lacks RequestId" in json.dumps(answer)
    assert world.answers == []
