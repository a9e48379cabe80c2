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
from tests.support.commands import Run, rows
from tests.support.example_workflows import EXAMPLES
from tests.support.laptop import Laptop, Stack
from tests.support.logged_in import SIGNPOST, log_in

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
class Office:
    """A tenant of the test's own, with everybody who works there."""

    laptop: Laptop
    stack: Stack
    signpost: Run
    tenant: str

    def run(self, *arguments: str, as_whom: str | None = None) -> "subprocess.CompletedProcess[str]":
        """A command, with the rights of the account's owner."""
        added = {"SIGNPOST_AUTHORIZATION": as_whom} if as_whom is not None else {}
        return self.signpost(*arguments, "--stack", "both", **added)

    def read(self, *arguments: str) -> str:
        done = self.run(*arguments, "--tenant", self.tenant)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def key(self, *options: str) -> str:
        created = self.run("keys", "create", "office", "--tenant", self.tenant, *options)
        return created.stdout.strip()

    def person(self, name: str, *roles: str) -> str:
        overrides: Mapping[str, object] = {"sub": name, "tenant": self.tenant, "roles": list(roles)}
        return self.laptop.issuer.access_token("approver", self.stack.url, **overrides)

    def publish(self, path: Path) -> None:
        author = self.key("--permission", "signpost.admin")
        done = self.run("publish", str(path), as_whom=author)
        assert done.returncode == 0, done.stderr

    def call(self, credential: str, tool: str, arguments: JsonObject) -> Any:
        answer = self.stack.ask(credential, "tools/call", {"name": tool, "arguments": arguments})
        assert answer.status == 200, answer.text
        return answer.json["result"]["structuredContent"]


@pytest.fixture
def office(laptop: Laptop, both: Stack, signpost: Run) -> Office:
    return Office(laptop, both, signpost, f"t-{uuid.uuid4().hex[:12]}")


def claimed(office: Office, agent: str) -> str:
    """The id of a run that waits for two people of finance."""
    run = office.call(agent, "workflow.start", {"definitionId": EXPENSE})
    submitted: JsonObject = {
        "workflowId": run["workflowId"],
        "expectedVersion": run["version"],
        "transition": "claim",
        "arguments": CLAIM,
    }
    assert office.call(agent, "workflow.submit", submitted)["state"] == "with_finance"
    return run["workflowId"]


@pytest.mark.invariant(49)
def test_two_people_approve_an_expense_and_everybody_can_see_how_that_went(office: Office, tmp_path: Path) -> None:
    office.publish(EXAMPLES["expense-approval"])
    agent = office.key("--role", "finance")
    run = claimed(office, agent)
    request, digest = _asked(office, run)

    def answer(who: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return office.run("approvals", *arguments, "--yes", "--tenant", office.tenant, as_whom=who)

    fay, finn = office.person("fay", "finance"), office.person("finn", "finance")
    assert "a person's" in answer(agent, "approve", request).stderr
    unable = answer(office.person("ann"), "approve", request).stderr
    assert "None of the transitions that you may take approves it" in unable
    assert "has the digest" in answer(fay, "approve", request, "--digest", "0" * 64).stderr
    first = answer(fay, "approve", request, "--digest", digest)
    waiting = "The request stays open in the queue finance; approved so far by fay.\n"
    assert first.stdout.endswith(waiting), first.stderr
    assert f"You had approved {digest} already.\n" in answer(fay, "approve", request).stdout
    assert "refuse (Refuse the expense), send_back" in answer(finn, "reject", request).stderr
    last = answer(finn, "approve", request, "--digest", digest)
    assert last.stdout.endswith("The run is in state paid now, version 7, and has ended.\n"), last.stderr
    assert office.read("approvals", "list") == "There are no open approval requests.\n"
    assert office.call(agent, "workflow.get", {"workflowId": run})["state"] == "paid"
    _has_a_story(office, run, request, digest)
    _has_a_picture(office, run, tmp_path)


def _asked(office: Office, run: str) -> tuple[str, str]:
    """The request, and the digest of what it is about."""
    (waiting,) = rows(office.read("approvals", "list", "--queue", "finance", "--json"))
    request = waiting["request"]
    assert (waiting["workflow"], waiting["approvedBy"]) == (run, [])
    seen = json.loads(office.read("approvals", "show", request, "--json"))
    assert seen["values"] == CLAIM
    assert 'purpose: "Train to the customer"' in office.read("approvals", "show", request)
    return request, seen["digest"]


def _has_a_story(office: Office, run: str, request: str, digest: str) -> None:
    timeline = office.read("workflow", "timeline", run)
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
    events = rows(office.read("audit", "show", run, "--json"))
    assert [event["event_type"] for event in events][:2] == ["workflow.started", "transition.requested"]
    assert events[-1]["actor"] == "finn"
    assert {event["correlation_id"] for event in events} == set(re.findall(r"cor_\w+", timeline))
    assert {event["event_type"] for event in events} >= {"human.approval.requested", "human.approval.resolved"}


def _has_a_picture(office: Office, run: str, folder: Path) -> None:
    """Of the whole way to where it stands."""
    office.read("workflow", "graph", "--instance", run, "--out", str(folder))
    lines = (folder / f"{run}.mmd").read_text("utf-8").splitlines()
    (current,) = [found[1] for line in lines if (found := re.fullmatch(r" +class (\w+) current", line))]
    assert f'    state "paid, end, now" as {current}' in lines
    taken = sorted(found[0] for line in lines if (found := re.findall(r"✓ ([\d, ]*\d)", line)))
    assert taken == ["1", "2", "3, 4", "5", "6"]
    drawn = ET.fromstring((folder / f"{run}.svg").read_text("utf-8"))  # noqa: S314 - our own
    assert len([part for part in drawn.iter() if part.get("class") == "pointer"]) == 1


def test_a_workflow_is_switched_off_and_on_again_and_runs_go_on(office: Office) -> None:
    office.publish(EXAMPLES["expense-approval"])
    agent, author = office.key(), office.key("--permission", "signpost.admin")
    run = claimed(office, agent)
    (listed,) = rows(office.read("workflow", "list", "--json"))
    assert (listed["id"], listed["kind"], listed["state"]) == (EXPENSE, "workflow", "on")

    off = office.run("workflow", "disable", EXPENSE, as_whom=author)
    assert "Its current runs continue." in off.stdout, off.stderr
    office.publish(EXAMPLES["expense-approval"])
    assert "switched off" in office.read("workflow", "list").splitlines()[1]
    refused = office.call(agent, "workflow.start", {"definitionId": EXPENSE})
    assert refused["error"]["code"] == "NOT_FOUND"
    done = office.run(
        "approvals", "approve", run, "--yes", "--tenant", office.tenant, as_whom=office.person("fay", "finance")
    )
    assert "approved so far by fay" in done.stdout, done.stderr
    assert "It is switched off" in office.read("workflow", "show", EXPENSE)

    assert office.run("workflow", "enable", EXPENSE, as_whom=author).returncode == 0
    assert claimed(office, agent) != run
    again = office.run("workflow", "enable", EXPENSE, as_whom=author)
    assert "Nothing changed: it was in this state already." in again.stderr
    mistyped = office.run("workflow", "disable", "expense_aproval", as_whom=author)
    assert mistyped.returncode == 1
    assert f"Did you mean '{EXPENSE}'?" in mistyped.stderr
    nobody = office.run("workflow", "disable", EXPENSE, as_whom=agent)
    assert (nobody.returncode, "signpost.admin" in nobody.stderr) == (1, True)


def test_whoever_is_logged_in_decides_without_aws_credentials(office: Office, tmp_path: Path) -> None:
    """The people of the issuer's page are in the default tenant."""
    of_the_default_tenant = replace(office, tenant="default")
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(LEAVE, "utf-8")
    of_the_default_tenant.publish(manifest)
    agent = of_the_default_tenant.key()
    run = of_the_default_tenant.call(agent, "workflow.start", {"definitionId": "leave"})["workflowId"]
    ask: JsonObject = {"workflowId": run, "expectedVersion": 1, "transition": "ask"}
    assert of_the_default_tenant.call(agent, "workflow.submit", ask)["state"] == "asked"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    command = [*SIGNPOST, "approvals", "approve", run, "--yes", "--url", office.stack.url]

    def approved() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    before = approved()
    assert (before.returncode, f"signpost login --url {office.stack.url}" in before.stderr) == (1, True)
    log_in(office.stack, "approver", environment)
    after = approved()
    assert after.stdout.endswith("The run is in state granted now, version 3, and has ended.\n"), after.stderr
