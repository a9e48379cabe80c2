"""`signpost publish` of workflows on a deployed stack: files in, and what clients of the gateway see of them."""

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.stack import PROJECT
from signpost.cli.publish.checking import CheckRules
from signpost.cli.publish.files import read_publication
from signpost.cli.publish.upload import RemotePublisher
from signpost.identity.permissions import ADMINISTRATION
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import Json, JsonObject
from tests.acceptance.bus import add_target
from tests.support.commands import ProcessRunner
from tests.support.laptop import Laptop, Stack
from tests.support.waiting import wait_for, wait_within

pytestmark = pytest.mark.cloud

STACK = "manifests"
EXAMPLES = {
    "deploy-pipeline": ["deploy_pipeline"],
    "expense-approval": ["expense_approval"],
    "content-publishing": ["content_publishing"],
    "change-management": ["change_management"],
}


def build_definition(title: str = "T", **fields: Json) -> JsonObject:
    return {"title": title, "initialState": "a", "states": {"a": {"terminal": True}}, **fields}


def build_exposure(name: str, **fields: Json) -> JsonObject:
    return {"name": name, "title": name, "executor": {"kind": "noop"}, **fields}


def write_manifest(folder: Path, **parts: Any) -> Path:
    path = folder / "manifest.json"
    path.write_text(json.dumps({"version": 1, **parts}))
    return path


@dataclass(frozen=True, slots=True)
class Author:
    """Of a tenant of the test's own."""

    gateway: Stack
    signpost: ProcessRunner
    tenant: str
    key: str

    def publish(self, path: Path, *options: str) -> Any:
        return self.signpost("publish", str(path), "--stack", STACK, *options, SIGNPOST_AUTHORIZATION=self.key)

    def publish_and_read_diff(self, path: Path, *options: str) -> Sequence[str]:
        """The lines of the diff."""
        done = self.publish(path, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[:-1]

    def list_titles(self) -> Mapping[str, str]:
        """Of the published items that gateway.home lists, by id, over all its pages."""
        skills = self.gateway.list_skill_names(self.key)
        found: dict[str, str] = {}
        arguments: JsonObject = {}
        while True:
            answer = self.gateway.request(self.key, "tools/call", {"name": "gateway.home", "arguments": arguments})
            assert answer.status == 200, answer.text
            home = answer.json["result"]["structuredContent"]
            found |= {item["id"]: item["title"] for item in home["items"] if item["id"] not in skills}
            if "nextCursor" not in home:
                return found
            arguments = {"cursor": home["nextCursor"]}

    def wait_for_items(self, *wanted: str, **titled: str) -> None:
        """These ids and no others, within the seconds for which lists may lag."""
        ids = {*wanted, *titled}
        wait_within(REVALIDATION_INTERVAL, f"a list of just {ids}", self.list_titles, lambda titles: set(titles) == ids)
        assert titled.items() <= self.list_titles().items()


@pytest.fixture(scope="module")
def gateway(laptop: Laptop) -> Stack:
    return laptop.deploy(STACK, AuthMode="both")


@pytest.fixture
def author(gateway: Stack, signpost: ProcessRunner) -> Author:
    tenant = f"t-{uuid.uuid4().hex[:12]}"
    named = ("--tenant", tenant, "--permission", ADMINISTRATION, "--stack", STACK)
    return Author(gateway, signpost, tenant, signpost("keys", "create", "author", *named).stdout.strip())


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_published_and_published_again(author: Author, example: str) -> None:
    path = PROJECT / "examples" / example
    assert author.publish_and_read_diff(path, "--dry-run", "--strict") == [
        f"+ workflow:{name}" for name in EXAMPLES[example]
    ]
    assert author.list_titles() == {}
    assert author.publish_and_read_diff(path, "--strict") == [f"+ workflow:{name}" for name in EXAMPLES[example]]
    author.wait_for_items(*EXAMPLES[example])
    assert author.publish_and_read_diff(path, "--prune") == [f"= workflow:{name}" for name in EXAMPLES[example]]
    author.wait_for_items(*EXAMPLES[example])


def test_functions_that_no_executor_hosts_are_named_and_published(author: Author, tmp_path: Path) -> None:
    """The functions that the deployment ships are hosted for every tenant."""

    def call(function: str) -> JsonObject:
        executor: JsonObject = {"kind": "function", "function": function, "arguments": {}}
        transitions: JsonObject = {"go": {"target": "b", "inputSchema": {"type": "object"}, "executor": executor}}
        return {"initialState": "a", "states": {"a": {"transitions": transitions}, "b": {"terminal": True}}}

    path = write_manifest(tmp_path, workflows={"lost": call("core::waits"), "found": call("core::http_fetch")})
    unhosted = "workflow lost: a.go: no executor hosts the function 'core::waits'"
    checked = author.signpost("check", str(path), "--stack", STACK, SIGNPOST_AUTHORIZATION=author.key)
    assert (checked.returncode, checked.stdout.count("[unhosted_function]")) == (0, 1), checked.stderr
    assert unhosted in checked.stdout
    strict = author.publish(path, "--strict")
    assert strict.returncode == 1
    assert "[unhosted_function]" in strict.stderr
    assert author.list_titles() == {}
    done = author.publish(path)
    assert done.returncode == 0, done.stderr
    assert unhosted.replace("lost: ", "lost: warning: ") in done.stderr
    author.wait_for_items("lost", "found")


def test_a_function_gets_the_values_inside_of_lists_and_objects(author: Author, tmp_path: Path) -> None:
    arguments: JsonObject = {"data": {"trees": ["$.arguments.tree"]}, "expression": "trees[0]"}
    executor: JsonObject = {"kind": "function", "function": "core::json_transform", "arguments": arguments}
    schema: JsonObject = {"type": "object", "properties": {"tree": {"type": "string"}}, "additionalProperties": False}
    go = {"target": "b", "inputSchema": schema, "executor": executor, "output": {"found": {"in": ["$.output.result"]}}}
    transform = {"initialState": "a", "states": {"a": {"transitions": {"go": go}}, "b": {"terminal": True}}}
    assert author.publish(write_manifest(tmp_path, workflows={"transform": transform})).returncode == 0
    author.wait_for_items("transform")

    def call(tool: str, **arguments: Json) -> Any:
        answer = author.gateway.request(author.key, "tools/call", {"name": tool, "arguments": arguments})
        return answer.json["result"]["structuredContent"]

    run = call("workflow.start", definitionId="transform", input={})
    known = {"workflowId": run["workflowId"], "expectedVersion": run["version"]}
    call("workflow.submit", **known, transition="go", arguments={"tree": "oak"})
    seen = wait_for(
        "the end", lambda: call("workflow.get", workflowId=run["workflowId"]), lambda answer: answer["state"] == "b"
    )
    assert seen["context"] == {"found": {"in": ["oak"]}}


def test_a_change_is_live_within_two_seconds_without_a_deployment(author: Author, tmp_path: Path) -> None:
    """Also for a gateway that looks all the time, and of a publication it sees all or nothing."""
    path = write_manifest(
        tmp_path,
        workflows={"w": build_definition("Before"), "v": build_definition("V")},
        proxy={"expose": [build_exposure("ping")]},
    )
    assert author.publish_and_read_diff(path) == ["+ capability:ping", "+ workflow:v", "+ workflow:w"]
    author.wait_for_items(w="Before", v="V", ping="ping")
    before, after = author.list_titles(), {"w": "After", "v": "V", "ping": "Ping!", "pong": "pong"}
    write_manifest(
        tmp_path,
        workflows={"w": build_definition("After"), "v": build_definition("V")},
        proxy={"expose": [build_exposure("ping", title="Ping!"), build_exposure("pong")]},
    )
    with ThreadPoolExecutor(1) as pool:
        publishing = pool.submit(author.publish_and_read_diff, path)
        seen = [author.list_titles()]
        while not publishing.done():
            seen.append(author.list_titles())
    seen.append(wait_within(REVALIDATION_INTERVAL, "the change", author.list_titles, lambda titles: titles != before))
    assert publishing.result() == ["~ capability:ping", "+ capability:pong", "= workflow:v", "~ workflow:w"]
    assert seen[0] == before
    assert seen[-1] == after
    assert [titles for titles in seen if titles not in (before, after)] == []


def test_prune_removes_missing_items_only_of_the_kinds_in_the_manifest(author: Author, tmp_path: Path) -> None:
    connections: Json = {"tracker": {"kind": "cli", "command": "true"}, "desk": {"kind": "cli", "command": "true"}}
    path = write_manifest(
        tmp_path,
        workflows={"w": build_definition("W"), "v": build_definition("V")},
        proxy={"expose": [build_exposure("ping"), build_exposure("pong")]},
        connections=connections,
    )
    author.publish_and_read_diff(path)
    write_manifest(
        tmp_path, workflows={"w": build_definition("W")}, connections={"desk": {"kind": "cli", "command": "false"}}
    )
    assert author.publish_and_read_diff(path) == ["~ connection:desk", "= workflow:w"]
    author.wait_for_items("w", "v", "ping", "pong")
    pruned = ["= connection:desk", "- connection:tracker", "- workflow:v", "= workflow:w"]
    assert author.publish_and_read_diff(path, "--prune", "--dry-run") == pruned
    assert author.publish_and_read_diff(path, "--prune") == pruned
    author.wait_for_items("w", "ping", "pong")
    write_manifest(tmp_path, proxy={"expose": [build_exposure("pong")]})
    assert author.publish_and_read_diff(path, "--prune") == ["- capability:ping", "= capability:pong"]
    author.wait_for_items("w", "pong")


def test_a_manifest_with_an_error_changes_nothing(author: Author, tmp_path: Path) -> None:
    author.publish_and_read_diff(write_manifest(tmp_path, workflows={"w": build_definition("Before")}))
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/a.md").write_text("# A")
    write_manifest(
        tmp_path, workflows={"w": build_definition("After"), "broken": build_definition(initialState="nowhere")}
    )
    refused = author.publish(tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "manifest.json:1:" in refused.stderr
    assert "there is no state 'nowhere'" in refused.stderr
    write_manifest(tmp_path, workflows={"w": build_definition("After", states={"a": {}})})
    strict = author.publish(tmp_path, "--strict")
    assert (strict.returncode, strict.stdout) == (1, "")
    assert "warning: 'a' is a dead end" in strict.stderr
    assert author.list_titles() == {"w": "Before"}
    done = author.publish(tmp_path)
    assert done.returncode == 0
    assert "warning: 'a' is a dead end" in done.stderr
    wait_within(REVALIDATION_INTERVAL, "the new title", author.list_titles, lambda titles: titles == {"w": "After"})


def test_documents_and_workflows_are_one_publication(author: Author, tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/guide.md").write_text("# Guide")
    greet = {"name": "greet", "description": "Greets.", "function_id": "demo::greet"}
    (tmp_path / "prompts.json").write_text(json.dumps([greet]))
    write_manifest(tmp_path, workflows={"w": build_definition("W")}, skills={"inline": "# Inline"})
    diff = ["+ guide", "+ inline", "+ prompt:greet", "+ workflow:w"]
    assert author.publish_and_read_diff(tmp_path) == diff
    author.wait_for_items(w="W")
    for uri, text in (("iii://guide", "# Guide"), ("iii://inline", "# Inline")):
        read = author.gateway.request(author.key, "resources/read", {"uri": uri}).json
        assert read["result"]["contents"][0]["text"] == text
    assert author.publish_and_read_diff(tmp_path) == [line.replace("+", "=") for line in diff]


def test_five_hundred_definitions_are_sent_in_parts_and_published_together(author: Author, tmp_path: Path) -> None:
    many = {f"w{number:03}": build_definition(f"Workflow {number}") for number in range(450)}
    exposed: Json = [build_exposure(f"c{number:03}") for number in range(50)]
    path = write_manifest(tmp_path, workflows=many, proxy={"expose": exposed})
    done = author.publish(path)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("sent")] == [
        f"sent {sent} of 500 definitions" for sent in (100, 200, 300, 400, 500)
    ]
    assert len(author.list_titles()) == 500
    again = author.publish(path)
    assert "sent" not in again.stderr
    assert again.stdout.splitlines()[-1] == "published: 0 added, 0 changed, 500 same, 0 removed"


def test_a_definition_may_be_as_large_as_a_part(author: Author, tmp_path: Path) -> None:
    large = build_definition("Large", initialContext={"handbook": "x" * 3_400_000})
    path = write_manifest(tmp_path, workflows={"large": large, "small": build_definition("Small")})
    assert author.publish_and_read_diff(path) == ["+ workflow:large", "+ workflow:small"]
    author.wait_for_items(large="Large", small="Small")
    assert author.publish_and_read_diff(path) == ["= workflow:large", "= workflow:small"]


class PublisherKilled(Exception):  # noqa: N818 - it names what happened
    """The process of the author has ended."""


def test_a_publisher_killed_before_the_publication_changes_nothing(
    author: Author, laptop: Laptop, tmp_path: Path
) -> None:
    author.publish_and_read_diff(write_manifest(tmp_path, workflows={"w": build_definition("Before")}))
    name = author.gateway.deployed.outputs["RegistryFunctionName"]
    sent: list[str] = []

    def ask(function: str, payload: JsonObject) -> JsonObject:
        if function == "manifest::publish":
            raise PublisherKilled
        sent.append(function)
        event = {"function_id": function, "payload": payload, "authorization": f"Bearer {author.key}"}
        answered = laptop.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
        answer = json.loads(answered["Payload"].read())
        assert "error" not in answer, answer
        return answer

    publication = read_publication(
        write_manifest(tmp_path, workflows={"w": build_definition("After"), "v": build_definition("V")}), CheckRules()
    )
    publisher = RemotePublisher(ask, show_line=lambda _: None)
    with suppress(PublisherKilled):
        publisher.publish(publication, publisher.plan(publication, prune=True), prune=True)
    assert sent == ["manifest::plan", "manifest::bodies"]
    time.sleep(REVALIDATION_INTERVAL)  # there is nothing that could be awaited: nothing may come
    assert author.list_titles() == {"w": "Before"}
    assert author.publish_and_read_diff(tmp_path / "manifest.json") == ["+ workflow:v", "~ workflow:w"]


def test_a_definition_that_was_not_sent_cannot_be_published_by_its_digest(author: Author) -> None:
    named = {"workflows": [{"id": "w", "digest": "0" * 64}], "prune": False}
    done = author.signpost(
        "call", "manifest::publish", json.dumps(named), "--stack", STACK, SIGNPOST_AUTHORIZATION=author.key
    )
    assert done.returncode == 1, done.stdout
    assert "workflow w: The gateway has no definition with this digest" in done.stderr
    assert author.list_titles() == {}


def test_the_bus_receives_an_event_for_each_added_changed_and_removed_workflow(
    author: Author, laptop: Laptop, tmp_path: Path
) -> None:
    sqs = laptop.client("sqs")
    name = f"manifests-{uuid.uuid4().hex[:8]}"
    queue = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {"source": ["signpost"], "detail-type": ["workflows::on-change"]}
    add_target(laptop, author.gateway.deployed.outputs["EventBusName"], name, pattern, arn)
    heard: list[tuple[str, str]] = []

    def hear() -> Sequence[tuple[str, str]]:
        for message in sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", []):
            event = json.loads(message["Body"])
            if any(resource == f"urn:signpost:tenant:{author.tenant}" for resource in event["resources"]):
                heard.append((event["detail"]["op"], event["detail"]["id"]))
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        return heard

    path = write_manifest(tmp_path, workflows={"w": build_definition("Before"), "v": build_definition("V")})
    author.publish_and_read_diff(path)
    author.publish_and_read_diff(
        write_manifest(tmp_path, workflows={"w": build_definition("After"), "v": build_definition("V")})
    )
    author.publish_and_read_diff(write_manifest(tmp_path, workflows={"w": build_definition("After")}), "--prune")
    wait_for("four events", hear, lambda events: len(events) >= 4)
    assert sorted(heard) == [("register", "v"), ("register", "w"), ("register", "w"), ("unregister", "v")]
