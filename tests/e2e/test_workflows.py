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
from signpost.workflow.engine.permissions import CANCEL
from tests.support.commands import ProcessRunner
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

AT_ONCE = 8
LONG = "x" * 40_000
"""More than a row holds."""
NUMBER: Mapping[str, Any] = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


def build_counter(step: str = "add") -> Mapping[str, Any]:
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
    "workflows": {"counter": build_counter(), "release": RELEASE},
    "proxy": {"expose": [{"name": "notes.add", "title": "Add a note", "inputSchema": NUMBER}, {"name": "notes.list"}]},
}


@dataclass(frozen=True, slots=True)
class WorkflowTenant:
    """A tenant of the test's own."""

    laptop: Laptop
    stack: Stack
    signpost: ProcessRunner
    home: Path
    tenant: str

    def make_token(self, subject: str) -> str:
        return self.laptop.issuer.access_token(subject, self.stack.url, tenant=self.tenant)

    def publish(self, manifest: Mapping[str, Any]) -> None:
        path = self.home / "manifest.json"
        path.write_text(json.dumps(manifest))
        published = self.signpost(
            "publish",
            str(path),
            "--stack",
            self.stack.deployed.name,
            SIGNPOST_AUTHORIZATION=self.make_token("operator"),
        )
        assert published.returncode == 0, published.stderr

    def call_for_result(self, tool: str, by: str = "agent", **args: Any) -> Any:
        answer = self.stack.request(self.make_token(by), "tools/call", {"name": tool, "arguments": args})
        assert answer.status == 200, answer.text
        return answer.json["result"]

    def call_tool(self, tool: str, by: str = "agent", **args: Any) -> Any:
        result = self.call_for_result(tool, by, **args)
        assert result["isError"] is False, result
        return result["structuredContent"]

    def start(self, definition_id: str, **given: Any) -> Any:
        return self.call_tool("workflow.start", definitionId=definition_id, input=given)

    def follow_link(self, link: Mapping[str, Any], by: str = "agent", **arguments: Any) -> Any:
        args = {**link["args"], **({"arguments": arguments} if arguments else {})}
        return self.call_tool(link["method"], by, **args)


@pytest.fixture
def workflow_tenant(laptop: Laptop, product_stack: Stack, signpost: ProcessRunner, tmp_path: Path) -> WorkflowTenant:
    workflow_tenant = WorkflowTenant(laptop, product_stack, signpost, tmp_path, f"t-{uuid.uuid4().hex[:12]}")
    workflow_tenant.publish(MANIFEST)
    return workflow_tenant


def index_transitions(answer: Any) -> Mapping[str, Any]:
    return {link["args"]["transition"]: link for link in answer["links"] if link["rel"] == "transition"}


def test_a_client_completes_a_workflow_by_following_links_only(workflow_tenant: WorkflowTenant) -> None:
    listed = workflow_tenant.stack.request(workflow_tenant.make_token("agent")).json["result"]["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in GATEWAY_TOOLS]
    (found,) = workflow_tenant.call_tool("gateway.search", query="count", limit=1)["results"]
    (start,) = workflow_tenant.call_tool("gateway.describe", id=found["item"]["id"])["links"]
    started = workflow_tenant.follow_link(start)
    assert (started["state"], started["version"]) == ("open", 1)
    added = workflow_tenant.follow_link(index_transitions(started)["add"], n=7)
    assert (added["version"], added["context"]) == (2, {"last": 7})
    seen = workflow_tenant.call_tool("workflow.get", workflowId=started["workflowId"])
    assert seen == {**added, "evidence": []}
    closed = workflow_tenant.follow_link(index_transitions(seen)["close"])
    assert (closed["state"], closed["terminal"], closed["links"]) == ("closed", True, [])
    assert workflow_tenant.call_tool("workflow.explain", definitionId="counter")["initialState"] == "open"


def test_a_refused_submission_changes_nothing_and_returns_links(workflow_tenant: WorkflowTenant) -> None:
    started = workflow_tenant.start("counter")
    step: Mapping[str, Any] = {"workflowId": started["workflowId"], "expectedVersion": 1}
    late: Mapping[str, Any] = {**step, "expectedVersion": 3, "transition": "close"}
    refused = [
        workflow_tenant.call_tool("workflow.submit", **step, transition="addd"),
        workflow_tenant.call_tool("workflow.submit", **step, transition="add", arguments={"n": "seven"}),
        workflow_tenant.call_tool("workflow.submit", **late),
    ]
    codes = ["INVALID_TRANSITION", "INPUT_SCHEMA_VIOLATION", "STALE_WORKFLOW_VERSION"]
    assert [answer["error"]["code"] for answer in refused] == codes
    for answer in refused:
        assert (answer["version"], answer["context"]) == (1, {})
        assert [link["rel"] for link in answer["links"]] == ["self", *["transition"] * 4]
        assert answer["links"][-1]["args"]["transition"] == CANCEL
    assert workflow_tenant.follow_link(refused[-1]["links"][0])["version"] == 1
    assert workflow_tenant.call_for_result("workflow.get", workflowId="wf_0")["isError"] is True
    assert (
        workflow_tenant.call_for_result("workflow.submit", workflowId=started["workflowId"], transition="close")[
            "isError"
        ]
        is True
    )


def test_an_approval_needs_a_person_with_the_permission(workflow_tenant: WorkflowTenant) -> None:
    asked = workflow_tenant.follow_link(index_transitions(workflow_tenant.start("release"))["ask"], what="2.0")
    assert (asked["state"], asked["waitingFor"]) == ("waiting", "human")
    assert asked["approval"]["queue"] == "releases"
    approve = index_transitions(asked)["approve"]
    assert workflow_tenant.follow_link(approve)["error"]["code"] == "ACTOR_MISMATCH"
    assert workflow_tenant.follow_link(approve, by="reader")["error"]["code"] == "GUARD_REJECTED"
    released = workflow_tenant.follow_link(approve, by="approver")
    assert (released["state"], released["terminal"]) == ("released", True)
    assert "human_approval" in {item["kind"] for item in released["evidence"]}


@pytest.mark.invariant(50)
def test_a_tenant_cannot_see_the_workflows_of_another_tenant(workflow_tenant: WorkflowTenant, tmp_path: Path) -> None:
    started = workflow_tenant.start("counter")
    other = WorkflowTenant(
        workflow_tenant.laptop, workflow_tenant.stack, workflow_tenant.signpost, tmp_path, f"{workflow_tenant.tenant}-2"
    )
    workflow_id = started["workflowId"]
    asked: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("workflow.get", {"workflowId": workflow_id}),
        ("workflow.submit", {"workflowId": workflow_id, "expectedVersion": 1, "transition": "close"}),
        ("workflow.start", {"definitionId": "counter"}),
        ("workflow.explain", {"definitionId": "counter"}),
        ("gateway.describe", {"id": "counter"}),
    )
    for tool, args in asked:
        assert other.call_for_result(tool, **args)["structuredContent"]["error"]["code"] == "NOT_FOUND", tool
    assert "counter" not in [item["id"] for item in other.call_tool("gateway.home")["items"]]
    assert workflow_tenant.call_tool("workflow.get", workflowId=workflow_id)["state"] == "open"


@pytest.mark.invariant(51)
def test_one_of_many_concurrent_submissions_takes_the_step(workflow_tenant: WorkflowTenant) -> None:
    started = workflow_tenant.start("counter")
    add = index_transitions(started)["add"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        taking = [pool.submit(workflow_tenant.follow_link, add, n=number) for number in range(AT_ONCE)]
        answers = [taken.result() for taken in taking]
    assert Counter(answer.get("error", {}).get("code") for answer in answers) == {
        None: 1,
        "STALE_WORKFLOW_VERSION": AT_ONCE - 1,
    }
    (won,) = (answer for answer in answers if "error" not in answer)
    seen = workflow_tenant.call_tool("workflow.get", workflowId=started["workflowId"])
    assert (seen["version"], seen["context"]) == (2, won["context"])


def test_a_value_too_long_for_a_row_is_stored(workflow_tenant: WorkflowTenant) -> None:
    kept = workflow_tenant.follow_link(index_transitions(workflow_tenant.start("counter"))["keep"], text=LONG)
    assert workflow_tenant.call_tool("workflow.get", workflowId=kept["workflowId"])["context"] == {"kept": LONG}
    again = workflow_tenant.follow_link(index_transitions(kept)["add"], n=1)
    assert again["context"] == {"kept": LONG, "last": 1}


@pytest.mark.parametrize("text", ["\u0000", "Ünïcode 🚀", ""])
def test_any_json_text_is_stored(workflow_tenant: WorkflowTenant, text: str) -> None:
    kept = workflow_tenant.follow_link(index_transitions(workflow_tenant.start("counter"))["keep"], text=text)
    assert workflow_tenant.call_tool("workflow.get", workflowId=kept["workflowId"])["context"] == {"kept": text}


@pytest.mark.parametrize("name", ["wf_" + "0" * 900, "wf_0#now", "", "§"])
def test_an_invalid_workflow_id_is_not_found(workflow_tenant: WorkflowTenant, name: str) -> None:
    answered = workflow_tenant.call_for_result("workflow.get", workflowId=name)
    assert answered["structuredContent"]["error"]["code"] == "NOT_FOUND"


def test_a_capability_is_called_by_its_link(workflow_tenant: WorkflowTenant) -> None:
    (start,) = workflow_tenant.call_tool("gateway.describe", id="notes.add")["links"]
    assert start["input_schema"] == NUMBER
    started = workflow_tenant.follow_link(
        {**start, "args": {**start["args"], "input": {"capability": "notes.add", "n": 3}}}
    )
    assert (started["state"], started["version"], started["context"]) == ("ready", 2, {"lastResult": {}})
    (link,) = started["links"]  # to call it once more
    assert link["args"]["arguments"] == {"n": 3}
    again = workflow_tenant.follow_link(link)
    assert (again["state"], again["version"], again["context"]) == ("ready", 3, {"lastResult": {}})


def test_a_publication_affects_new_instances_and_not_running_ones(workflow_tenant: WorkflowTenant) -> None:
    before = workflow_tenant.start("counter")
    workflow_tenant.publish({**MANIFEST, "workflows": {"counter": build_counter("plus"), "release": RELEASE}})
    assert list(index_transitions(workflow_tenant.start("counter"))) == ["plus", "keep", "close"]
    assert workflow_tenant.follow_link(index_transitions(before)["add"], n=1)["version"] == 2
