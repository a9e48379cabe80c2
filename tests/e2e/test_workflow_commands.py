"""`signpost workflow`, `audit` and `approvals` on a deployed stack: what operators look at, and what people decide."""

import json
import os
import re
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from signpost.model import JsonObject
from tests.support.commands import ProcessRunner, parse_json_lines
from tests.support.example_workflows import EXAMPLES
from tests.support.laptop import Laptop, Stack
from tests.support.login_command import SIGNPOST_COMMAND, log_in

pytestmark = pytest.mark.cloud

EXPENSE = "expense_approval"
CLAIM = {"amount": 2000, "purpose": "Train to the customer", "receipt": "R-20311"}
LEAVE = """
version: 1
workflows:
  leave:
    title: Grant a day off
    initialState: wanted
    states:
      wanted: {transitions: {ask: {target: asked, executor: {kind: human, queue: leave}}}}
      asked:
        transitions:
          grant: {target: granted, actor: human, decision: approve, guards: [{kind: role, role: approver}]}
      granted: {terminal: true}
"""


@dataclass(frozen=True, slots=True)
class StaffedTenant:
    """A tenant of the test's own, with everybody who works there."""

    laptop: Laptop
    stack: Stack
    signpost: ProcessRunner
    tenant: str

    def run_command(self, *arguments: str, as_whom: str | None = None) -> "subprocess.CompletedProcess[str]":
        """A command, with the rights of the account's owner."""
        added = {"SIGNPOST_AUTHORIZATION": as_whom} if as_whom is not None else {}
        return self.signpost(*arguments, "--stack", "both", **added)

    def read_output(self, *arguments: str) -> str:
        done = self.run_command(*arguments, "--tenant", self.tenant)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def create_key(self, *options: str) -> str:
        created = self.run_command("keys", "create", "office", "--tenant", self.tenant, *options)
        return created.stdout.strip()

    def make_person_token(self, name: str, *roles: str) -> str:
        overrides: Mapping[str, object] = {"sub": name, "tenant": self.tenant, "roles": list(roles)}
        return self.laptop.issuer.access_token("approver", self.stack.url, **overrides)

    def publish(self, path: Path) -> None:
        author = self.create_key("--permission", "signpost.admin")
        done = self.run_command("publish", str(path), as_whom=author)
        assert done.returncode == 0, done.stderr

    def call_tool(self, credential: str, tool: str, arguments: JsonObject) -> Any:
        answer = self.stack.request(credential, "tools/call", {"name": tool, "arguments": arguments})
        assert answer.status == 200, answer.text
        return answer.json["result"]["structuredContent"]


@pytest.fixture
def staffed_tenant(laptop: Laptop, product_stack: Stack, signpost: ProcessRunner) -> StaffedTenant:
    return StaffedTenant(laptop, product_stack, signpost, f"t-{uuid.uuid4().hex[:12]}")


def start_expense_claim(office: StaffedTenant, agent: str) -> str:
    """The id of a run that waits for two people of finance."""
    run = office.call_tool(agent, "workflow.start", {"definitionId": EXPENSE})
    submitted: JsonObject = {
        "workflowId": run["workflowId"],
        "expectedVersion": run["version"],
        "transition": "claim",
        "arguments": CLAIM,
    }
    assert office.call_tool(agent, "workflow.submit", submitted)["state"] == "with_finance"
    return run["workflowId"]


@pytest.mark.invariant(49)
def test_two_people_approve_an_expense_and_timeline_and_picture_show_it(
    staffed_tenant: StaffedTenant, tmp_path: Path
) -> None:
    staffed_tenant.publish(EXAMPLES["expense-approval"])
    agent = staffed_tenant.create_key("--role", "finance")
    run = start_expense_claim(staffed_tenant, agent)
    request, digest = _read_request(staffed_tenant, run)

    def answer(who: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return staffed_tenant.run_command(
            "approvals", *arguments, "--yes", "--tenant", staffed_tenant.tenant, as_whom=who
        )

    fay, finn = staffed_tenant.make_person_token("fay", "finance"), staffed_tenant.make_person_token("finn", "finance")
    assert "a person's" in answer(agent, "approve", request).stderr
    unable = answer(staffed_tenant.make_person_token("ann"), "approve", request).stderr
    assert "None of the transitions that you may take approves it" in unable
    assert "has the digest" in answer(fay, "approve", request, "--digest", "0" * 64).stderr
    first = answer(fay, "approve", request, "--digest", digest)
    waiting = "The request stays open in the queue finance; approved so far by fay.\n"
    assert first.stdout.endswith(waiting), first.stderr
    assert f"You had approved {digest} already.\n" in answer(fay, "approve", request).stdout
    assert "refuse (Refuse the expense), send_back" in answer(finn, "reject", request).stderr
    last = answer(finn, "approve", request, "--digest", digest)
    assert last.stdout.endswith("The run is in state paid now, version 7, and has ended.\n"), last.stderr
    assert staffed_tenant.read_output("approvals", "list") == "There are no open approval requests.\n"
    assert staffed_tenant.call_tool(agent, "workflow.get", {"workflowId": run})["state"] == "paid"
    _check_timeline(staffed_tenant, run, request, digest)
    _check_picture(staffed_tenant, run, tmp_path)


def _read_request(office: StaffedTenant, run: str) -> tuple[str, str]:
    """The request, and the digest of what it is about."""
    (waiting,) = parse_json_lines(office.read_output("approvals", "list", "--queue", "finance", "--json"))
    request = waiting["request"]
    assert (waiting["workflow"], waiting["approvedBy"]) == (run, [])
    seen = json.loads(office.read_output("approvals", "show", request, "--json"))
    assert seen["values"] == CLAIM
    assert 'purpose: "Train to the customer"' in office.read_output("approvals", "show", request)
    return request, seen["digest"]


def _check_timeline(office: StaffedTenant, run: str, request: str, digest: str) -> None:
    timeline = office.read_output("workflow", "timeline", run)
    assert "refused: approve: ACTOR_MISMATCH. " in timeline
    approvals = re.findall(r"evidence: human_approval by (\w+) \(id (\w+), digest (\w+)\)", timeline)
    assert approvals == [(who, request, digest) for who in ("fay", "fay", "finn")]
    assert re.findall(r"^ +(\d) {2}(\w+): ", timeline, re.MULTILINE) == [
        ("2", "claim"),
        ("3", "large"),
        ("4", "approve"),
        ("5", "approve"),
        ("6", "approve"),
        ("7", "pay"),
    ]
    events = parse_json_lines(office.read_output("audit", "show", run, "--json"))
    assert [event["event_type"] for event in events][:2] == ["workflow.started", "transition.requested"]
    assert events[-1]["actor"] == "finn"
    assert {event["correlation_id"] for event in events} == set(re.findall(r"cor_\w+", timeline))
    assert {event["event_type"] for event in events} >= {"human.approval.requested", "human.approval.resolved"}


def _check_picture(office: StaffedTenant, run: str, folder: Path) -> None:
    """Of the whole way to where it stands."""
    office.read_output("workflow", "graph", "--instance", run, "--out", str(folder))
    lines = (folder / f"{run}.mmd").read_text("utf-8").splitlines()
    (current,) = [found[1] for line in lines if (found := re.fullmatch(r" +class (\w+) current", line))]
    assert f'    state "paid, end, now" as {current}' in lines
    taken = sorted(found[0] for line in lines if (found := re.findall(r"✓ ([\d, ]*\d)", line)))
    assert taken == ["1", "2", "3, 4", "5", "6"]
    drawn = ET.fromstring((folder / f"{run}.svg").read_text("utf-8"))  # noqa: S314 - our own
    assert len([part for part in drawn.iter() if part.get("class") == "pointer"]) == 1


def test_running_instances_continue_while_their_workflow_is_disabled(staffed_tenant: StaffedTenant) -> None:
    staffed_tenant.publish(EXAMPLES["expense-approval"])
    agent, author = staffed_tenant.create_key(), staffed_tenant.create_key("--permission", "signpost.admin")
    run = start_expense_claim(staffed_tenant, agent)
    (listed,) = parse_json_lines(staffed_tenant.read_output("workflow", "list", "--json"))
    assert (listed["id"], listed["kind"], listed["state"]) == (EXPENSE, "workflow", "on")

    off = staffed_tenant.run_command("workflow", "disable", EXPENSE, as_whom=author)
    assert "Its current runs continue." in off.stdout, off.stderr
    staffed_tenant.publish(EXAMPLES["expense-approval"])
    assert "switched off" in staffed_tenant.read_output("workflow", "list").splitlines()[1]
    refused = staffed_tenant.call_tool(agent, "workflow.start", {"definitionId": EXPENSE})
    assert refused["error"]["code"] == "NOT_FOUND"
    done = staffed_tenant.run_command(
        "approvals",
        "approve",
        run,
        "--yes",
        "--tenant",
        staffed_tenant.tenant,
        as_whom=staffed_tenant.make_person_token("fay", "finance"),
    )
    assert "approved so far by fay" in done.stdout, done.stderr
    assert "It is switched off" in staffed_tenant.read_output("workflow", "show", EXPENSE)

    assert staffed_tenant.run_command("workflow", "enable", EXPENSE, as_whom=author).returncode == 0
    assert start_expense_claim(staffed_tenant, agent) != run
    again = staffed_tenant.run_command("workflow", "enable", EXPENSE, as_whom=author)
    assert "Nothing changed: it was in this state already." in again.stderr
    mistyped = staffed_tenant.run_command("workflow", "disable", "expense_aproval", as_whom=author)
    assert mistyped.returncode == 1
    assert f"Did you mean '{EXPENSE}'?" in mistyped.stderr
    nobody = staffed_tenant.run_command("workflow", "disable", EXPENSE, as_whom=agent)
    assert (nobody.returncode, "signpost.admin" in nobody.stderr) == (1, True)


def test_a_logged_in_person_approves_without_aws_credentials(staffed_tenant: StaffedTenant, tmp_path: Path) -> None:
    """The people of the issuer's page are in the default tenant."""
    of_the_default_tenant = replace(staffed_tenant, tenant="default")
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(LEAVE, "utf-8")
    of_the_default_tenant.publish(manifest)
    agent = of_the_default_tenant.create_key()
    run = of_the_default_tenant.call_tool(agent, "workflow.start", {"definitionId": "leave"})["workflowId"]
    ask: JsonObject = {"workflowId": run, "expectedVersion": 1, "transition": "ask"}
    assert of_the_default_tenant.call_tool(agent, "workflow.submit", ask)["state"] == "asked"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    command = [*SIGNPOST_COMMAND, "approvals", "approve", run, "--yes", "--url", staffed_tenant.stack.url]

    def approved() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    before = approved()
    assert (before.returncode, f"signpost login --url {staffed_tenant.stack.url}" in before.stderr) == (1, True)
    log_in(staffed_tenant.stack, "approver", environment)
    after = approved()
    assert after.stdout.endswith("The run is in state granted now, version 3, and has ended.\n"), after.stderr
