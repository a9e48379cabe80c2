"""Lists of runs and of approval requests at a deployed stack: the cost of a page, and the principals that see it."""

import os
import subprocess
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from signpost.adapters.dynamodb import DynamoContentStore
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.run_lists import build_run_rows
from signpost.adapters.s3 import S3ChangeBatchStore, S3Values
from signpost.content.model import ScopeNames
from signpost.workflow.run_summary import RunSummary
from tests.support.commands import ProcessRunner, parse_json_lines
from tests.support.counted_gateway import counted_gateway
from tests.support.effort import count_repetitions
from tests.support.laptop import Laptop, Stack
from tests.support.login_command import SIGNPOST_COMMAND
from tests.support.manifests import publish
from tests.support.tool_answers import read_tool_answer

pytestmark = pytest.mark.cloud

MANY = count_repetitions(2_000, 100_000)
ROWS_A_BATCH = 25
STARTED_AT = 1_700_000_000.0
ONE_QUERY = {"Query": 1}
MANIFEST: Mapping[str, Any] = {
    "version": 1,
    "workflows": {
        "leave": {
            "title": "Grant a day off",
            "initialState": "wanted",
            "states": {
                "wanted": {
                    "transitions": {"ask": {"target": "asked", "executor": {"kind": "human", "queue": "leave"}}}
                },
                "asked": {
                    "transitions": {
                        "grant": {
                            "target": "granted",
                            "actor": "human",
                            "decision": "approve",
                            "guards": [{"kind": "role", "role": "approver"}],
                        },
                    }
                },
                "granted": {"terminal": True},
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class LeaveTenant:
    """A tenant whose agents ask for days off."""

    laptop: Laptop
    stack: Stack
    name: str

    @property
    def table(self) -> str:
        return self.stack.deployed.outputs["WorkflowsTableName"]

    def make_person(self, name: str, *roles: str) -> str:
        claims: Mapping[str, object] = {"sub": name, "tenant": self.name, "roles": list(roles)}
        return self.laptop.issuer.access_token("approver", self.stack.url, **claims)

    def call(self, credential: str, tool: str, **arguments: Any) -> Any:
        answer = self.stack.request(credential, "tools/call", {"name": tool, "arguments": arguments})
        assert answer.status == 200, answer.text
        return answer.json["result"]["structuredContent"]

    def follow(self, credential: str, link: Mapping[str, Any]) -> Any:
        return self.call(credential, link["method"], **link["args"])

    def ask(self, agent: str) -> str:
        """Start a run that asks for approval, and return its id."""
        run = self.call(agent, "workflow.start", definitionId="leave")
        (link,) = run["links"]
        assert self.follow(agent, link)["state"] == "asked"
        return run["workflowId"]


@pytest.fixture
def tenant(laptop: Laptop, product_stack: Stack) -> LeaveTenant:
    dynamodb, s3 = laptop.client("dynamodb"), laptop.client("s3")
    table, bucket = (product_stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
    values = S3Values(lambda: s3, bucket)
    content = DynamoContentStore(
        dynamodb, table, S3ChangeBatchStore(lambda: s3, bucket), ScopeNames("skills", "prompts")
    )
    name = f"runs-{uuid.uuid4().hex[:8]}"
    publish(content, values, DynamoDefinitionTexts(dynamodb, table, values), name, MANIFEST)
    return LeaveTenant(laptop, product_stack, name)


def write_many_runs(tenant: LeaveTenant) -> None:
    """Write the rows that list many runs of one starter."""
    client: Any = tenant.laptop.client("dynamodb")
    summaries = [
        RunSummary(
            workflow_id=f"wf_{number:06}",
            definition_id="leave",
            digest="d",
            title="Grant a day off",
            state="wanted",
            version=1,
            started_at=STARTED_AT + number,
            changed_at=STARTED_AT + number,
            started_by="somebody",
            waiting="agent",
        )
        for number in range(MANY)
    ]
    rows = [{"PutRequest": {"Item": row}} for summary in summaries for row in build_run_rows(tenant.name, summary)[:1]]
    for start in range(0, len(rows), ROWS_A_BATCH):
        unwritten = {tenant.table: rows[start : start + ROWS_A_BATCH]}
        while unwritten:
            unwritten = client.batch_write_item(RequestItems=unwritten)["UnprocessedItems"]


@pytest.mark.invariant(139)
def test_a_page_of_many_runs_costs_one_query(laptop: Laptop, product_stack: Stack, tenant: LeaveTenant) -> None:
    write_many_runs(tenant)
    agent = laptop.make_key(product_stack, tenant.name)
    run = tenant.ask(agent)
    with counted_gateway(laptop, product_stack) as gateway:

        def search(**arguments: Any) -> tuple[Sequence[str], Mapping[str, int], Any]:
            params = {"name": "gateway.search", "arguments": arguments}
            answer, calls = gateway.request(agent, "tools/call", params)
            content = read_tool_answer(answer)
            return [result["item"]["id"] for result in content["results"]], calls, content

        search(kind="run")  # reads the key, the rules and the signing keys for the first time
        expected = [run, *(f"wf_{number:06}" for number in reversed(range(MANY)))]
        cursor: dict[str, str] = {}
        for page in range(3):
            ids, calls, content = search(kind="run", limit=20, **cursor)
            assert (ids, calls) == (expected[20 * page : 20 * page + 20], ONE_QUERY)
            cursor = {"cursor": content["nextCursor"]}
        assert search(kind="run", mine=True)[:2] == ([run], ONE_QUERY)
        assert search(kind="run", waiting="human")[:2] == ([run], ONE_QUERY)
        assert search(kind="run", query="nothing of this name")[:2] == ([], ONE_QUERY)
        approvals, calls, _ = search(kind="approval")
        assert (len(approvals), calls) == (1, ONE_QUERY)


@pytest.mark.invariant(140)
def test_one_principal_starts_a_run_and_another_finds_its_request_and_decides(tenant: LeaveTenant) -> None:
    agent = tenant.laptop.make_key(tenant.stack, tenant.name)
    run = tenant.ask(agent)
    approver, colleague = tenant.make_person("ada", "approver"), tenant.make_person("bob")
    assert tenant.call(colleague, "gateway.search", kind="approval")["results"] == []
    (entry,) = tenant.call(approver, "gateway.search", kind="approval")["results"]
    assert (entry["item"]["workflowId"], entry["item"]["queue"]) == (run, "leave")
    (self_link,) = entry["item"]["links"]
    (grant,) = tenant.follow(approver, self_link)["links"]
    assert tenant.follow(approver, grant)["state"] == "granted"
    assert tenant.call(approver, "gateway.search", kind="approval")["results"] == []

    # The agent has lost its context: a later conversation finds the run, and that it has ended.
    (mine,) = tenant.call(agent, "gateway.search", kind="run", mine=True, query="my day off")["results"]
    assert (mine["item"]["id"], mine["item"]["state"], mine["item"]["terminal"]) == (run, "granted", True)
    (self_link,) = mine["item"]["links"]
    assert tenant.follow(agent, self_link)["terminal"] is True


@pytest.fixture
def run_without_aws(tenant: LeaveTenant, tmp_path: Path) -> "Callable[..., subprocess.CompletedProcess[str]]":
    """Return a runner of the command with a credential of the gateway and no other environment."""

    def run(credential: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "SIGNPOST_AUTHORIZATION": credential,
        }
        command = [*SIGNPOST_COMMAND, *arguments, "--url", tenant.stack.url]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    return run


def test_runs_and_requests_are_listed_and_decided_without_aws_credentials(
    tenant: LeaveTenant, run_without_aws: "Callable[..., subprocess.CompletedProcess[str]]"
) -> None:
    agent = tenant.laptop.make_key(tenant.stack, tenant.name)
    approver = tenant.make_person("ada", "approver")
    run = tenant.ask(agent)
    (listed,) = parse_json_lines(run_without_aws(agent, "workflow", "runs", "--mine", "--json").stdout)
    assert (listed["id"], listed["state"], listed["waitingFor"]) == (run, "asked", "human")
    (asked,) = parse_json_lines(run_without_aws(approver, "approvals", "list", "--json").stdout)
    assert (asked["workflow"], asked["queue"]) == (run, "leave")
    shown = run_without_aws(approver, "approvals", "show", asked["request"])
    assert "grant (approves)" in shown.stdout, shown.stderr
    decided = run_without_aws(approver, "approvals", "approve", asked["request"], "--yes")
    assert decided.stdout.endswith("The run is in state granted now, version 3, and has ended.\n"), decided.stderr
    assert run_without_aws(approver, "approvals", "list").stdout == "There are no open approval requests.\n"


def test_an_operator_lists_the_runs_of_a_tenant_page_by_page(tenant: LeaveTenant, signpost: ProcessRunner) -> None:
    agent = tenant.laptop.make_key(tenant.stack, tenant.name)
    runs = [tenant.ask(agent) for _ in range(3)]
    command = ("workflow", "runs", "--stack", "both", "--tenant", tenant.name, "--limit", "2", "--json")
    first = signpost(*command)
    assert [row["id"] for row in parse_json_lines(first.stdout)] == runs[:0:-1], first.stderr
    cursor = first.stderr.rsplit("--cursor ", 1)[1].strip()
    second = signpost(*command, "--cursor", cursor)
    assert [row["id"] for row in parse_json_lines(second.stdout)] == [runs[0]], second.stderr
