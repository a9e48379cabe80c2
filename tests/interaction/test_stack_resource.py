"""What a deployment ships, as CloudFormation's custom resource asks for it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from signpost.adapters.memory import MemoryBodies, MemoryContentStore, MemoryFunctionStates
from signpost.adapters.memory.deployment_lists import MemoryDeploymentLists
from signpost.catalogue.publishing.publisher import Publisher
from signpost.content.agent_skills.folders import FoundSkill, ShippedContent
from signpost.content.model import SkillChange
from signpost.contract import Executor
from signpost.deployment_lists import DeploymentLists
from signpost.entrypoints.stack_resource import ContentInstaller, ListWriter, StackResource
from signpost.errors import Unavailable
from signpost.model import Json, JsonObject
from signpost.telemetry import Telemetry
from tests.support.catalogues import build_catalogue_publisher
from tests.support.executor_placement import ExecutorPlacement, build_executor
from tests.support.memory_gateway import ManualClock
from tests.support.registry import CountingTimestamps

CORE, OLD = build_executor("core"), build_executor("old")
GREET: JsonObject = {"name": "greet", "description": "Greets.", "function_id": "demo::greet"}
ADDRESS = "https://cloudformation.test/answer"
TIME_MS = 300_000
"""The time of the function that answers CloudFormation."""


class StackResourceStage(ExecutorPlacement):
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
        self.lists = MemoryDeploymentLists()
        self.clock = ManualClock()
        self.pauses = 0
        self.after_pauses: Mapping[int, Callable[[], None]] = {}
        """Changes of the account that happen during the pause with this number."""
        publisher = Publisher(
            content=self.content,
            catalogues=build_catalogue_publisher(self.content),
            bodies=self.bodies,
            timestamps=CountingTimestamps(),
        )
        self.deployment = StackResource(
            shipped=ContentInstaller(placer=self.placer, publisher=publisher, content=self.content_shipped),
            lists=ListWriter(self.lists),
            answer=lambda address, answer: self.answers.append((address, answer)),
            telemetry=Telemetry("deployment-under-test"),
            clock=self.clock,
            pause=self.pause,
        )
        self.set_manifest(CORE, "core::wait")
        self.set_manifest(OLD, "core::old")

    def content_shipped(self) -> ShippedContent:
        skills = [FoundSkill(skill_id, skill_id, body, self.files) for skill_id, body in self.documents]
        return ShippedContent(skills, self.prompts, self.problems)

    def pause(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.pauses += 1
        self.after_pauses.get(self.pauses, lambda: None)()

    def asks(
        self,
        request: str,
        *executors: str,
        before: tuple[str, ...] = (),
        lists: Mapping[str, Sequence[str]] | None = None,
    ) -> Any:
        event = {
            "RequestType": request,
            "RequestId": "r-1",
            "StackId": "stack",
            "LogicalResourceId": "ShippedFunctions",
            "ResponseURL": ADDRESS,
            "ResourceProperties": {"Executors": list(executors), **(lists or {})},
            "OldResourceProperties": {"Executors": list(before)},
        }
        self.deployment.handle(event, TIME_MS)
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
def stage() -> StackResourceStage:
    return StackResourceStage()


def test_the_executors_of_the_stack_are_placed_with_their_keys(stage: StackResourceStage) -> None:
    answer = stage.asks("Create", CORE.arn)
    assert (answer["Status"], answer["RequestId"], answer["StackId"]) == ("SUCCESS", "r-1", "stack")
    assert stage.shipped() == {"core::wait"}
    assert stage.has_executor_keys(CORE)


def test_an_update_places_new_functions_and_removes_dropped_executors(stage: StackResourceStage) -> None:
    first = stage.asks("Create", CORE.arn, OLD.arn)
    stage.set_manifest(CORE, "core::wait", "core::new")
    second = stage.asks("Update", CORE.arn, before=(CORE.arn, OLD.arn))
    assert second["Status"] == "SUCCESS"
    assert second["PhysicalResourceId"] == first["PhysicalResourceId"]
    assert stage.shipped() == {"core::wait", "core::new"}


def test_a_deleted_stack_removes_its_executors(stage: StackResourceStage) -> None:
    stage.asks("Create", CORE.arn)
    assert stage.asks("Delete", CORE.arn)["Status"] == "SUCCESS"
    assert stage.shipped() == set()


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ({"statusCode": 200}, "is not an executor"),
        ({"signpost": 1, "manifest": {"functions": [{"id": "has a blank"}]}}, "'has a blank'"),
        ({"signpost": 1, "manifest": {"functions": [{"id": "core::old"}]}}, "hosts core::old already"),
    ],
)
def test_an_executor_that_cannot_be_placed_fails_the_deployment_with_a_reason(
    stage: StackResourceStage, manifest: JsonObject, says: str
) -> None:
    stage.asks("Create", OLD.arn)
    stage.manifests[CORE.arn] = manifest
    answer = stage.asks("Update", OLD.arn, CORE.arn, before=(OLD.arn,))
    assert (answer["Status"], says in answer["Reason"]) == ("FAILED", True), answer
    assert stage.shipped() == {"core::old"}


def test_a_missing_executor_fails_the_deployment(stage: StackResourceStage) -> None:
    assert "arn:nowhere" in stage.asks("Create", "arn:nowhere")["Reason"]


def test_a_deployment_waits_for_permissions_that_were_made_a_moment_ago(stage: StackResourceStage) -> None:
    """AWS needs seconds until a new permission holds everywhere. At first the executor cannot be called,
    then its secret cannot be written."""
    handlers, secrets = stage.handlers, stage.account.secrets
    handler, secret = handlers.pop(CORE.arn), secrets.pop(CORE.key_secret_arn)
    stage.after_pauses = {
        2: lambda: handlers.update({CORE.arn: handler}),
        4: lambda: secrets.update({CORE.key_secret_arn: secret}),
    }
    assert stage.asks("Create", CORE.arn)["Status"] == "SUCCESS"
    assert (stage.pauses, stage.shipped()) == (4, {"core::wait"})


def test_a_deployment_gives_up_a_minute_before_its_time_is_over(stage: StackResourceStage) -> None:
    started = stage.clock.now()
    answer = stage.asks("Create", "arn:nowhere")
    assert (answer["Status"], "arn:nowhere" in answer["Reason"]) == ("FAILED", True)
    assert TIME_MS / 1000 - 66 < stage.clock.now() - started <= TIME_MS / 1000 - 60


@pytest.mark.parametrize("request_type", ["Create", "Delete"])
def test_a_deployment_does_not_wait_for_problems_that_remain(stage: StackResourceStage, request_type: str) -> None:
    """Not for a manifest that the deployer has to correct, nor at the deletion of a stack."""
    stage.manifests[CORE.arn] = {"statusCode": 200}
    stage.asks(request_type, CORE.arn)
    assert stage.pauses == 0


@pytest.mark.parametrize(("fault", "says"), [(Unavailable("Overloaded."), "Overloaded"), (KeyError("x"), "KeyError")])
def test_cloudformation_is_answered_after_any_fault(
    stage: StackResourceStage, monkeypatch: pytest.MonkeyPatch, fault: Exception, says: str
) -> None:
    def broken(_: str) -> Executor:
        raise fault

    monkeypatch.setattr(stage.account, "inspect", broken)
    answer = stage.asks("Create", CORE.arn)
    assert (answer["Status"], says in answer["Reason"]) == ("FAILED", True)


NO_LISTS: Mapping[str, Sequence[str]] = {"ExecutorFunctions": [""], "MoreOrigins": [""]}
"""The properties of a stack without a value for both parameters."""


def test_the_lists_of_the_deployment_are_stored_and_stay_when_the_stack_is_deleted(stage: StackResourceStage) -> None:
    executors = [f"arn:executor-{number}" for number in range(60)]
    lists = {
        "ExecutorFunctions": executors,
        "MoreOrigins": ["https://a.test", " https://b.test"],
        "PassedClaims": ["department", " groups"],
    }
    assert stage.asks("Create", CORE.arn, lists=lists)["Status"] == "SUCCESS"
    stored = DeploymentLists(
        origins=("https://a.test", "https://b.test"), executors=tuple(executors), claims=("department", "groups")
    )
    assert (stage.lists.read(), stage.shipped()) == (stored, {"core::wait"})
    assert stage.asks("Delete", CORE.arn, lists=NO_LISTS)["Status"] == "SUCCESS"
    assert stage.lists.read() == stored


def test_an_update_replaces_the_lists_and_a_request_without_them_leaves_them(stage: StackResourceStage) -> None:
    stage.asks("Create", CORE.arn, lists={"ExecutorFunctions": ["arn:one"], "MoreOrigins": [""]})
    stage.asks("Update", CORE.arn, before=(CORE.arn,))
    assert stage.lists.read() == DeploymentLists(executors=("arn:one",))
    stage.asks("Update", CORE.arn, before=(CORE.arn,), lists=NO_LISTS)
    assert stage.lists.read() == DeploymentLists()


def test_lists_are_stored_once_the_table_can_be_written(
    stage: StackResourceStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = stage.lists.write

    def refuse(_: DeploymentLists) -> None:
        raise Unavailable("Denied.")

    monkeypatch.setattr(stage.lists, "write", refuse)
    stage.after_pauses = {2: lambda: monkeypatch.setattr(stage.lists, "write", write)}
    lists = {"ExecutorFunctions": ["arn:executor"], "MoreOrigins": [""]}
    assert stage.asks("Create", CORE.arn, lists=lists)["Status"] == "SUCCESS"
    assert (stage.pauses, stage.lists.read().executors) == (2, ("arn:executor",))


def test_the_documents_of_the_stack_are_published_for_every_tenant(stage: StackResourceStage) -> None:
    stage.documents = [("signpost", "# Signpost"), ("signpost/old", "# Old")]
    assert stage.asks("Create", CORE.arn)["Status"] == "SUCCESS"
    assert stage.documented() == ["signpost", "signpost/old"]
    stage.documents = [("signpost", "# Signpost, again")]
    assert stage.asks("Update", CORE.arn, before=(CORE.arn,))["Status"] == "SUCCESS"
    assert stage.documented() == ["signpost"]


def test_a_deleted_stack_removes_only_its_own_documents(stage: StackResourceStage) -> None:
    stage.documents = [("signpost", "# Signpost")]
    stage.asks("Create", CORE.arn)
    (shipped,) = stage.content.skills(None)
    stage.content.apply("acme", [SkillChange("own", shipped)])
    stage.asks("Delete", CORE.arn)
    assert stage.documented() == []
    assert len(stage.content.skills("acme")) == 1


def test_a_refused_document_fails_the_deployment_and_no_document_is_published(stage: StackResourceStage) -> None:
    stage.documents = [("fine", "# Fine"), ("Not Fine", "# Not")]
    answer = stage.asks("Create", CORE.arn)
    assert (answer["Status"], "Not Fine" in answer["Reason"]) == ("FAILED", True)
    assert stage.documented() == []


def test_an_update_registers_unchanged_content_again(stage: StackResourceStage) -> None:
    stage.documents, stage.prompts = [("signpost", "# Signpost")], [GREET]
    stage.asks("Create", CORE.arn)
    (first,), (prompt,) = stage.content.skills(None), stage.content.prompts(None)
    stage.asks("Update", CORE.arn, before=(CORE.arn,))
    (again,), (prompt_again,) = stage.content.skills(None), stage.content.prompts(None)
    assert (again.digest, again.registered_at > first.registered_at) == (first.digest, True)
    assert prompt_again.registered_at > prompt.registered_at


def test_prompts_and_files_are_shipped_and_removed_with_an_update(stage: StackResourceStage) -> None:
    stage.documents, stage.prompts = [("pdf", "# PDF")], [GREET]
    stage.files = {"forms/a.txt": b"A"}
    assert stage.asks("Create", CORE.arn)["Status"] == "SUCCESS"
    (skill,) = stage.content.skills(None)
    assert [(file.path, stage.bodies.read(None, file.digest)) for file in skill.files] == [("forms/a.txt", b"A")]
    assert [prompt.name for prompt in stage.content.prompts(None)] == ["greet"]
    stage.files, stage.prompts = {}, []
    assert stage.asks("Update", CORE.arn, before=(CORE.arn,))["Status"] == "SUCCESS"
    assert [skill.files for skill in stage.content.skills(None)] == [()]
    assert stage.content.prompts(None) == []


@pytest.mark.parametrize("wrong", [{"prompts": {"greet": "no list"}}, {"problems": ["prompts.yaml cannot be read."]}])
def test_unreadable_shipped_content_fails_the_deployment(stage: StackResourceStage, wrong: JsonObject) -> None:
    stage.documents = [("fine", "# Fine")]
    for name, value in wrong.items():
        setattr(stage, name, value)
    answer = stage.asks("Create", CORE.arn)
    assert (answer["Status"], "prompts" in answer["Reason"]) == ("FAILED", True)
    assert stage.documented() == []


def test_an_event_that_is_no_cloudformation_request_is_ignored(stage: StackResourceStage) -> None:
    answer = stage.deployment.handle({"RequestType": "Delete"}, TIME_MS)
    assert "lacks RequestId" in json.dumps(answer)
    assert stage.answers == []
