"""Workflows of a deployed gateway: published by the command, driven over HTTP by people and machines of the issuer."""

import json
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from tests.support.commands import Run
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

AT_ONCE = 8
LONG = "x" * 40_000
"""More than a row holds."""
NUMBER: Mapping[str, Any] = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


def counter(step: str = "add") -> Mapping[str, Any]:
    transitions = {
        step: {"target": "open", "inputSchema": NUMBER, "output": {"last": "$.arguments.n"}},
        "keep": {"target": "open", "inputSchema": {"type": "object"}, "output": {"kept": "$.arguments.text"}},
        "close": {"target": "closed"},
    }
    return {
        "title": "Count",
        "initialState": "open",
        "states": {"open": {"transitions": transitions}, "closed": {"terminal": True}},
    }


RELEASE: Mapping[str, Any] = {
    "title": "Release",
    "initialState": "draft",
    "states": {
        "draft": {
            "transitions": {
                "ask": {
                    "target": "waiting",
                    "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
                    "executor": {"kind": "human", "queue": "releases", "shows": ["what"]},
                    "output": {"what": "$.arguments.what"},
                }
            }
        },
        "waiting": {
            "transitions": {
                "approve": {
                    "target": "released",
                    "actor": "human",
                    "decision": "approve",
                    "guards": [{"kind": "permission", "permission": "workflow.approve"}],
                },
                "give_back": {"target": "draft", "actor": "human", "decision": "reject"},
            }
        },
        "released": {"terminal": True},
    },
}
MANIFEST: Mapping[str, Any] = {
    "version": 1,
    "workflows": {"counter": counter(), "release": RELEASE},
    "proxy": {"expose": [{"name": "notes.add", "title": "Add a note", "inputSchema": NUMBER}, {"name": "notes.list"}]},
}


@dataclass(frozen=True, slots=True)
class Desk:
    """A tenant of the test's own."""

    laptop: Laptop
    stack: Stack
    signpost: Run
    home: Path
    tenant: str

    def token(self, subject: str) -> str:
        return self.laptop.issuer.access_token(subject, self.stack.url, tenant=self.tenant)

    def publish(self, manifest: Mapping[str, Any]) -> None:
        path = self.home / "manifest.json"
        path.write_text(json.dumps(manifest))
        published = self.signpost(
            "publish", str(path), "--stack", self.stack.deployed.name, SIGNPOST_AUTHORIZATION=self.token("operator")
        )
        assert published.returncode == 0, published.stderr

    def result(self, tool: str, by: str = "agent", **args: Any) -> Any:
        answer = self.stack.ask(self.token(by), "tools/call", {"name": tool, "arguments": args})
        assert answer.status == 200, answer.text
        return answer.json["result"]

    def ask(self, tool: str, by: str = "agent", **args: Any) -> Any:
        result = self.result(tool, by, **args)
        assert result["isError"] is False, result
        return result["structuredContent"]

    def start(self, definition_id: str, **given: Any) -> Any:
        return self.ask("workflow.start", definitionId=definition_id, input=given)

    def follow(self, link: Mapping[str, Any], by: str = "agent", **arguments: Any) -> Any:
        args = {**link["args"], **({"arguments": arguments} if arguments else {})}
        return self.ask(link["method"], by, **args)


@pytest.fixture
def desk(laptop: Laptop, both: Stack, signpost: Run, tmp_path: Path) -> Desk:
    desk = Desk(laptop, both, signpost, tmp_path, f"t-{uuid.uuid4().hex[:12]}")
    desk.publish(MANIFEST)
    return desk


def by_name(answer: Any) -> Mapping[str, Any]:
    return {link["args"]["transition"]: link for link in answer["links"] if link["rel"] == "transition"}


def test_a_client_gets_to_the_end_by_following_links_alone(desk: Desk) -> None:
    listed = desk.stack.ask(desk.token("agent")).json["result"]["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in GATEWAY_TOOLS]
    (found,) = desk.ask("gateway.search", query="count", limit=1)["results"]
    (start,) = desk.ask("gateway.describe", id=found["item"]["id"])["links"]
    started = desk.follow(start)
    assert (started["state"], started["version"]) == ("open", 1)
    added = desk.follow(by_name(started)["add"], n=7)
    assert (added["version"], added["context"]) == (2, {"last": 7})
    seen = desk.ask("workflow.get", workflowId=started["workflowId"])
    assert seen == {**added, "evidence": []}
    closed = desk.follow(by_name(seen)["close"])
    assert (closed["state"], closed["terminal"], closed["links"]) == ("closed", True, [])
    assert desk.ask("workflow.explain", definitionId="counter")["initialState"] == "open"


def test_a_refusal_changes_nothing_and_says_how_to_go_on(desk: Desk) -> None:
    started = desk.start("counter")
    step: Mapping[str, Any] = {"workflowId": started["workflowId"], "expectedVersion": 1}
    late: Mapping[str, Any] = {**step, "expectedVersion": 3, "transition": "close"}
    refused = [
        desk.ask("workflow.submit", **step, transition="addd"),
        desk.ask("workflow.submit", **step, transition="add", arguments={"n": "seven"}),
        desk.ask("workflow.submit", **late),
    ]
    codes = ["INVALID_TRANSITION", "INPUT_SCHEMA_VIOLATION", "STALE_WORKFLOW_VERSION"]
    assert [answer["error"]["code"] for answer in refused] == codes
    for answer in refused:
        assert (answer["version"], answer["context"]) == (1, {})
        assert [link["rel"] for link in answer["links"]] == ["self", *["transition"] * 3]
    assert desk.follow(refused[-1]["links"][0])["version"] == 1
    assert desk.result("workflow.get", workflowId="wf_0")["isError"] is True
    assert desk.result("workflow.submit", workflowId=started["workflowId"], transition="close")["isError"] is True


def test_what_waits_for_a_person_goes_on_when_a_person_with_the_right_to_has_decided(desk: Desk) -> None:
    asked = desk.follow(by_name(desk.start("release"))["ask"], what="2.0")
    assert (asked["state"], asked["waitingFor"]) == ("waiting", "human")
    assert asked["approval"]["queue"] == "releases"
    approve = by_name(asked)["approve"]
    assert desk.follow(approve)["error"]["code"] == "ACTOR_MISMATCH"
    assert desk.follow(approve, by="reader")["error"]["code"] == "GUARD_REJECTED"
    released = desk.follow(approve, by="approver")
    assert (released["state"], released["terminal"]) == ("released", True)
    assert "human_approval" in {item["kind"] for item in released["evidence"]}


@pytest.mark.invariant(50)
def test_a_tenant_knows_nothing_of_the_workflows_of_another(desk: Desk, tmp_path: Path) -> None:
    started = desk.start("counter")
    other = Desk(desk.laptop, desk.stack, desk.signpost, tmp_path, f"{desk.tenant}-2")
    workflow_id = started["workflowId"]
    asked: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("workflow.get", {"workflowId": workflow_id}),
        ("workflow.submit", {"workflowId": workflow_id, "expectedVersion": 1, "transition": "close"}),
        ("workflow.start", {"definitionId": "counter"}),
        ("workflow.explain", {"definitionId": "counter"}),
        ("gateway.describe", {"id": "counter"}),
    )
    for tool, args in asked:
        assert other.result(tool, **args)["structuredContent"]["error"]["code"] == "NOT_FOUND", tool
    assert other.ask("gateway.home")["items"] == []
    assert desk.ask("workflow.get", workflowId=workflow_id)["state"] == "open"


@pytest.mark.invariant(51)
def test_of_many_who_take_a_step_at_once_one_takes_it(desk: Desk) -> None:
    started = desk.start("counter")
    add = by_name(started)["add"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        taking = [pool.submit(desk.follow, add, n=number) for number in range(AT_ONCE)]
        answers = [taken.result() for taken in taking]
    assert Counter(answer.get("error", {}).get("code") for answer in answers) == {
        None: 1,
        "STALE_WORKFLOW_VERSION": AT_ONCE - 1,
    }
    (won,) = (answer for answer in answers if "error" not in answer)
    seen = desk.ask("workflow.get", workflowId=started["workflowId"])
    assert (seen["version"], seen["context"]) == (2, won["context"])


def test_what_is_too_long_for_a_row_is_kept_all_the_same(desk: Desk) -> None:
    kept = desk.follow(by_name(desk.start("counter"))["keep"], text=LONG)
    assert desk.ask("workflow.get", workflowId=kept["workflowId"])["context"] == {"kept": LONG}
    again = desk.follow(by_name(kept)["add"], n=1)
    assert again["context"] == {"kept": LONG, "last": 1}


@pytest.mark.parametrize("text", ["\u0000", "Ünïcode 🚀", ""])
def test_any_text_that_json_can_say_is_kept(desk: Desk, text: str) -> None:
    kept = desk.follow(by_name(desk.start("counter"))["keep"], text=text)
    assert desk.ask("workflow.get", workflowId=kept["workflowId"])["context"] == {"kept": text}


@pytest.mark.parametrize("name", ["wf_" + "0" * 900, "wf_0#now", "", "§"])
def test_what_cannot_be_an_id_is_not_found(desk: Desk, name: str) -> None:
    answered = desk.result("workflow.get", workflowId=name)
    assert answered["structuredContent"]["error"]["code"] == "NOT_FOUND"


def test_a_capability_is_reached_by_its_link(desk: Desk) -> None:
    (start,) = desk.ask("gateway.describe", id="notes.add")["links"]
    assert start["input_schema"] == NUMBER
    started = desk.follow({**start, "args": {**start["args"], "input": {"capability": "notes.add", "n": 3}}})
    assert (started["state"], started["version"], started["context"]) == ("ready", 2, {"lastResult": {}})
    (link,) = started["links"]  # to call it once more
    assert link["args"]["arguments"] == {"n": 3}
    again = desk.follow(link)
    assert (again["state"], again["version"], again["context"]) == ("ready", 3, {"lastResult": {}})


def test_a_publication_counts_for_the_next_start_and_not_for_what_runs(desk: Desk) -> None:
    before = desk.start("counter")
    desk.publish({**MANIFEST, "workflows": {"counter": counter("plus"), "release": RELEASE}})
    assert list(by_name(desk.start("counter"))) == ["plus", "keep", "close"]
    assert desk.follow(by_name(before)["add"], n=1)["version"] == 2
