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
from tests.support.commands import ProcessRunner, build_process_runner, parse_json_lines
from tests.support.functions import connect_functions
from tests.support.laptop import Laptop, Stack
from tests.support.line_output import ShowLine
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
TIMED_MANIFEST = """
version: 1
workflows:
  hold:
    title: Hold a table
    initialState: held
    states:
      held: {timeoutMs: 4000, onTimeout: {target: released}, transitions: {seat: {target: seated}}}
      seated: {terminal: true}
      released: {terminal: true}
  keep:
    initialState: held
    states:
      held: {timeoutMs: 1200000, onTimeout: {target: released}, transitions: {seat: {target: released}}}
      released: {terminal: true}
  copy:
    initialState: open
    states:
      open: {transitions: {keep: {target: kept, output: {all: [$.arguments.a, $.context.b]}}}}
      kept: {terminal: true}
schedules:
  yearly: {workflow: copy, cron: "0 0 1 1 *"}
triggers:
  - {trigger_type: prompts::on-change, workflow: copy}
  - {trigger_type: prompts::on-change, function_id: orders::note, timeout_ms: 1000}
"""
SOON = 10.0
"""Seconds. Without the message that waits for the time, only the sweeper finds what is due, once a minute."""
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

    def start_run(self, definition: str) -> str:
        answer = self.stack.request(
            self.author, "tools/call", {"name": "workflow.start", "arguments": {"definitionId": definition}}
        )
        return answer.json["result"]["structuredContent"]["workflowId"]

    def read_head(self, run: str) -> Mapping[str, Any]:
        """Read the row of a run. A request would apply a timeout itself."""
        table = self.stack.deployed.outputs["WorkflowsTableName"]
        key: Any = keys.workflow_row(self.tenant, run, keys.HEAD)
        return json.loads(self.laptop.client("dynamodb").get_item(TableName=table, Key=key)["Item"]["text"]["S"])

    def move_timeout(self, run: str, ends_at: float) -> None:
        """Let the state of a run end at another time."""
        head: Mapping[str, Any] = {**self.read_head(run), "stateEndsAt": ends_at}
        self.laptop.client("dynamodb").update_item(
            TableName=self.stack.deployed.outputs["WorkflowsTableName"],
            Key=keys.workflow_row(self.tenant, run, keys.HEAD),
            UpdateExpression="SET #text = :text, due_at = :due_at",
            ExpressionAttributeNames={"#text": "text"},
            ExpressionAttributeValues={":text": {"S": json.dumps(head)}, ":due_at": {"N": str(ends_at)}},
        )

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


def publish_for_a_tenant(
    laptop: Laptop, stack: Stack, signpost: ProcessRunner, folder: Path, text: str
) -> ScheduledTenant:
    tenant = f"t-{uuid.uuid4().hex[:12]}"
    created = signpost(
        "keys", "create", "author", "--tenant", tenant, "--permission", "signpost.admin", "--stack", "both"
    )
    scheduled = ScheduledTenant(laptop, stack, signpost, tenant, created.stdout.strip())
    manifest = folder / "manifest.yaml"
    manifest.write_text(text)
    assert "+ schedule:" in scheduled.run_command("publish", str(manifest), "--dry-run")
    scheduled.run_command("publish", str(manifest))
    return scheduled


@pytest.fixture
def scheduled_tenant(laptop: Laptop, product_stack: Stack, signpost: ProcessRunner, tmp_path: Path) -> ScheduledTenant:
    return publish_for_a_tenant(laptop, product_stack, signpost, tmp_path, MANIFEST)


@pytest.fixture(scope="module")
def timed_tenant(laptop: Laptop, product_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> ScheduledTenant:
    folder = tmp_path_factory.mktemp("timed")
    return publish_for_a_tenant(laptop, product_stack, build_process_runner(laptop), folder, TIMED_MANIFEST)


def count_minutes(began: float, ended: float) -> int:
    return int(ended // 60) - int(began // 60)


@pytest.mark.invariant(135)
def test_a_schedule_starts_one_run_however_often_it_is_fired(
    scheduled_tenant: ScheduledTenant, show_line: ShowLine
) -> None:
    began = time.time()
    listed = wait_for(
        "the first run of the schedule",
        scheduled_tenant.list_schedules,
        lambda schedules: schedules["minutely"]["last"] is not None,
        patience=PATIENCE,
    )
    last = listed["minutely"]["last"]
    assert (last["outcome"], listed["denied"]["last"]["code"]) == ("started", "NOT_FOUND")
    occasion = datetime.fromisoformat(last["occasion"]).timestamp()
    lateness = scheduled_tenant.read_head(last["workflowId"])["startedAt"] - occasion
    show_line(f"a run of a schedule started {lateness:.2f} s after its occasion")
    assert 0 <= lateness < SOON
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


@pytest.mark.invariant(134)
def test_a_state_is_left_soon_after_its_timeout(timed_tenant: ScheduledTenant, show_line: ShowLine) -> None:
    """Without the message that waits for the time, the sweeper would find the run, seldom soon and not twice."""
    lateness = [measure_release(timed_tenant) for _ in range(2)]
    show_line(f"states were left {', '.join(f'{seconds:.2f}' for seconds in lateness)} s after their timeout")
    assert all(0 <= seconds < SOON for seconds in lateness)


def measure_release(tenant: ScheduledTenant) -> float:
    """Return the seconds from the end of the timeout until the run has left its state."""
    run = tenant.start_run("hold")
    started_at = tenant.read_head(run)["startedAt"]
    wait_for("the end of the timeout", lambda: tenant.read_head(run)["state"], lambda state: state == "released")
    return time.time() - started_at - 4


def test_the_sweeper_finds_a_timeout_without_a_message(timed_tenant: ScheduledTenant, show_line: ShowLine) -> None:
    """A timeout of more than 15 minutes has no message. Its end is moved to the present here."""
    run = timed_tenant.start_run("keep")
    ends_at = time.time() + 1
    timed_tenant.move_timeout(run, ends_at)
    wait_for(
        "the sweeper",
        lambda: timed_tenant.read_head(run)["state"],
        lambda state: state == "released",
        patience=PATIENCE,
    )
    show_line(f"the sweeper found a timeout {time.time() - ends_at:.2f} s after it")


@pytest.mark.invariant(114)
def test_the_doctor_names_what_an_earlier_release_does_not_understand(timed_tenant: ScheduledTenant) -> None:
    printed = timed_tenant.run_command("doctor", "--only", "rollback", "--tenant", timed_tenant.tenant, "--json")
    found = [finding for finding in json.loads(printed)["findings"] if timed_tenant.tenant in finding["subject"]]
    assert [(finding["code"], finding["subject"].split(" of tenant ")[0]) for finding in found] == [
        ("schedule_ignored", "schedule yearly"),
        ("trigger_values_ignored", "trigger prompts::on-change"),
        ("trigger_fails", "trigger prompts::on-change"),
        ("state_timeout_ignored", "workflow hold"),
        ("state_timeout_ignored", "workflow keep"),
        ("values_not_resolved", "workflow copy"),
    ]
    assert "(held)" in found[3]["problem"]
    assert "open.keep of copy" in found[5]["problem"]
