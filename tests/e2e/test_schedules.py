"""Workflows that start by themselves on a deployed stack: by a schedule, once for each occasion, and by a trigger."""

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from signpost.adapters import keys
from signpost.workflow.wakes import SCHEDULES, WakeMessage
from tests.support.commands import ProcessRunner, parse_json_lines
from tests.support.functions import connect_functions
from tests.support.laptop import Laptop, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

MANIFEST = """
version: 1
workflows:
  report:
    title: Write the report
    initialState: open
    inputSchema: {type: object, properties: {region: {type: string}}, required: [region]}
    states:
      open: {transitions: {close: {target: done, actor: deterministic}}}
      done: {terminal: true}
  review:
    title: Review a document
    initialState: open
    states:
      open: {transitions: {close: {target: done}}}
      done: {terminal: true}
schedules:
  minutely: {workflow: report, cron: "* * * * *", timezone: Europe/Berlin, input: {region: north}}
  denied: {workflow: review, cron: "* * * * *"}
policies:
  no: {kind: deny, who: ["subject:schedule:denied"], what: ["workflow:*"]}
triggers:
  - {trigger_type: skills::on-change, workflow: review, metadata: {team: docs}}
"""
PATIENCE = 150.0
"""Seconds: an occasion is at most a minute away, and the sweeper and the worker follow."""


@dataclass(frozen=True, slots=True)
class ScheduledTenant:
    """A tenant of the test's own, whose workflows start by themselves."""

    laptop: Laptop
    stack: Stack
    signpost: ProcessRunner
    tenant: str
    author: str
    """An API key that publishes."""

    def run_command(self, *arguments: str) -> str:
        done = self.signpost(*arguments, "--stack", "both", SIGNPOST_AUTHORIZATION=self.author)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def list_schedules(self) -> Mapping[str, Any]:
        listed = parse_json_lines(self.run_command("schedules", "list", "--tenant", self.tenant, "--json"))
        return {fields["id"]: fields for fields in listed}

    def list_runs(self, definition: str) -> Sequence[Mapping[str, Any]]:
        """Return the heads of all runs of a definition."""
        client: Any = self.laptop.client("dynamodb")
        table = self.stack.deployed.outputs["WorkflowsTableName"]
        pages = client.get_paginator("scan").paginate(TableName=table)
        prefix = keys.workflow(self.tenant, "")
        rows = [row for page in pages for row in page["Items"]]
        heads = [row for row in rows if row["pk"]["S"].startswith(prefix) and row["sk"]["S"] == keys.HEAD]
        found = [json.loads(row["text"]["S"]) for row in heads]
        return [head for head in found if head["definition"] == definition]

    def count_queued(self) -> int:
        """Return the number of messages to the worker that it can take now, or has taken and not finished."""
        names: Any = [f"ApproximateNumberOfMessages{suffix}" for suffix in ("", "NotVisible")]
        queue = self.stack.deployed.outputs["WorkQueueUrl"]
        attributes = self.laptop.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
        return sum(int(attributes[name]) for name in names)

    def wait_for_the_worker(self) -> None:
        wait_for("the messages to the worker", self.count_queued, lambda count: count == 0)

    def fire_again(self) -> None:
        """Run the sweeper twice, and put the message of the schedules into the queue twice, as a redelivery does."""
        functions = connect_functions(self.laptop, self.stack)
        for _ in range(2):
            functions.invoke("Sweeper", {"sweep": "due"})
            self.laptop.client("sqs").send_message(
                QueueUrl=self.stack.deployed.outputs["WorkQueueUrl"],
                MessageBody=WakeMessage(self.tenant, SCHEDULES).text,
            )


@pytest.fixture
def scheduled_tenant(laptop: Laptop, product_stack: Stack, signpost: ProcessRunner, tmp_path: Path) -> ScheduledTenant:
    tenant = f"t-{uuid.uuid4().hex[:12]}"
    created = signpost(
        "keys", "create", "author", "--tenant", tenant, "--permission", "signpost.admin", "--stack", "both"
    )
    scheduled = ScheduledTenant(laptop, product_stack, signpost, tenant, created.stdout.strip())
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text(MANIFEST)
    planned = scheduled.run_command("publish", str(manifest), "--dry-run")
    assert "+ schedule:minutely" in planned
    scheduled.run_command("publish", str(manifest))
    return scheduled


def count_minutes(began: float, ended: float) -> int:
    return int(ended // 60) - int(began // 60)


@pytest.mark.invariant(135)
def test_a_schedule_starts_one_run_however_often_it_is_fired(scheduled_tenant: ScheduledTenant) -> None:
    began = time.time()
    listed = wait_for(
        "the first run of the schedule",
        scheduled_tenant.list_schedules,
        lambda schedules: schedules["minutely"]["last"] is not None,
        patience=PATIENCE,
    )
    last = listed["minutely"]["last"]
    assert (last["outcome"], listed["denied"]["last"]["code"]) == ("started", "NOT_FOUND")
    scheduled_tenant.fire_again()
    scheduled_tenant.run_command("schedules", "disable", "minutely")
    scheduled_tenant.wait_for_the_worker()
    runs = scheduled_tenant.list_runs("report")
    assert 1 <= len(runs) <= count_minutes(began - 60, time.time())
    assert len({head["startedAt"] // 60 for head in runs}) == len(runs), "each minute has one run at most"
    scheduled_tenant.fire_again()
    scheduled_tenant.wait_for_the_worker()
    assert len(scheduled_tenant.list_runs("report")) == len(runs)
    assert {(head["startedBy"], head["starterIssuer"], head["state"]) for head in runs} == {
        ("schedule:minutely", "signpost:schedules", "done")
    }
    assert scheduled_tenant.list_runs("review") == [], "policy denies it to the other schedule"
    assert scheduled_tenant.list_schedules()["minutely"]["state"] == "switched off"
    assert "switched off" in scheduled_tenant.run_command("schedules", "list", "--tenant", scheduled_tenant.tenant)


def test_a_client_sees_when_a_workflow_starts_by_itself(scheduled_tenant: ScheduledTenant) -> None:
    params: Any = {"name": "gateway.describe", "arguments": {"id": "report"}}
    answer = scheduled_tenant.stack.request(scheduled_tenant.author, "tools/call", params)
    (schedule,) = answer.json["result"]["structuredContent"]["schedules"]
    next_at = datetime.fromisoformat(schedule.pop("nextAt")).timestamp()
    assert schedule == {"id": "minutely", "cron": "* * * * *", "timezone": "Europe/Berlin"}
    assert next_at % 60 == 0
    assert abs(next_at - time.time()) < PATIENCE, answer.text


@pytest.mark.invariant(137)
def test_a_change_starts_a_workflow_once(scheduled_tenant: ScheduledTenant, tmp_path: Path) -> None:
    folder = tmp_path / "handbook" / "skills"
    folder.mkdir(parents=True)
    (folder / "welcome.md").write_text("# Welcome\n\nFor new colleagues.\n")
    scheduled_tenant.run_command("publish", str(tmp_path / "handbook"))
    (run,) = wait_for("the run of the trigger", lambda: scheduled_tenant.list_runs("review"), bool, patience=PATIENCE)
    assert (run["startedBy"], run["starterIssuer"]) == ("trigger", "signpost:events")
    scheduled_tenant.wait_for_the_worker()
    assert len(scheduled_tenant.list_runs("review")) == 1
