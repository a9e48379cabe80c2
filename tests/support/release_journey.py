"""A stack that is upgraded and rolled back: its deployments, clients and runs."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from signpost.adapters import keys
from signpost.cli.doctor.findings import Finding
from signpost.cli.doctor.readers.partial_reads import PartialReads
from signpost.cli.doctor.readers.rollback import read_rollback_facts
from signpost.cli.doctor.rules.rollback import judge_rollback
from signpost.cli.stack import open_adapters
from tests.support.commands import ProcessRunner, build_process_runner
from tests.support.earlier_release import EarlierRelease
from tests.support.laptop import Laptop, Stack
from tests.support.memory_gateway import GatewayAnswer
from tests.support.release_content import EXECUTOR, MANIFEST, MANIFEST_NAME, TENANT, deploy_executor, write_content
from tests.support.tenant_client import TenantClient
from tests.support.waiting import wait_for

EXECUTOR_ARN = f"arn:aws:lambda:us-east-1:000000000000:function:{EXECUTOR}"
INDEX = "iii://skills"
"""The index of all documents, which is written at each read."""
SHIPPED = (INDEX, "iii://core", "iii://signpost", "skill://core", "skill://signpost")
"""What the URIs of documents begin with that each release ships in a form of its own."""
OPERATOR_LISTS = (("keys", "list"), ("settings", "list"), ("executors", "list"), ("policy", "list"))
"""Commands of the operator whose output consists of lines of JSON in both releases."""
SECONDS_TO_GO_ON = 240
"""Several times as long as a sweep, a pause of a step and the start of a function."""


@dataclass
class ReleasedStack:
    """A stack that is deployed by the earlier release or by this one, under one name."""

    laptop: Laptop
    earlier: EarlierRelease
    name: str
    home: Path
    stack: Stack
    key: str = ""

    @property
    def client(self) -> TenantClient:
        """The client of the tenant, with its key and the present deployment."""
        return TenantClient(self.stack, self.key)

    @property
    def signpost(self) -> ProcessRunner:
        """The command of this release."""
        return build_process_runner(self.laptop)

    def deploy_earlier(self) -> None:
        self.stack = _deploy_earlier(self.laptop, self.earlier, self.name, self.home)

    def deploy_this(self) -> None:
        self.stack = self.laptop.deploy(self.name, "product", **_PARAMETERS)

    def run_earlier(self, *arguments: str) -> str:
        return self.earlier.run(self.laptop, *arguments, "--stack", self.name)

    def run(self, *arguments: str) -> str:
        """Run the command of this release, and return its output."""
        done = self.signpost(*arguments, "--stack", self.name)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def write_documents(self, text: str) -> str:
        """Write the documents with another text of the handbook, and return their folder."""
        folder = write_content(self.home / "changed")
        (folder / "skills/handbook/index.md").write_text(text)
        return str(folder)

    def write_rule(self, rule: Mapping[str, Any]) -> str:
        """Write the manifest with one more rule, and return its path."""
        manifest = yaml.safe_load(MANIFEST)
        manifest["policies"]["another"] = rule
        path = self.home / "ruled.json"
        path.write_text(json.dumps(manifest))
        return str(path)

    def use_layer(self) -> None:
        """Deploy the executor with the layer that the stack has now."""
        functions = self.laptop.client("lambda")
        functions.update_function_configuration(FunctionName=EXECUTOR, Layers=[self.stack.deployed.outputs["LayerArn"]])

    def expire_key(self, key: str) -> None:
        """Write the row of a key as if its expiry had passed, which is not the end of the row."""
        row = keys.api_key(TENANT, key.split("_")[2])
        self.laptop.client("dynamodb").update_item(
            TableName=self.stack.deployed.outputs["RegistryTableName"],
            Key=row,
            UpdateExpression="SET valid_until = :past",
            ExpressionAttributeValues={":past": {"N": str(time.time() - 60)}},
        )

    def find_obstacles(self, monkeypatch: pytest.MonkeyPatch) -> Sequence[Finding]:
        """Find the rows that keep the stack from going back, as an operator does."""
        for name, value in self.laptop.emulator.environment().items():
            monkeypatch.setenv(name, value)
        with open_adapters(self.name) as adapters:
            return judge_rollback(read_rollback_facts(adapters, [TENANT], PartialReads()), self.name)

    def make_person_token(self, subject: str) -> str:
        """Return an access token of a person."""
        return self.laptop.issuer.access_token("approver", self.stack.url, sub=subject)

    def open_shop(self) -> None:
        """Let orders::book succeed, which fails until then."""
        functions = self.laptop.client("lambda")
        variables = functions.get_function_configuration(FunctionName=EXECUTOR)["Environment"]["Variables"]
        changed = {**variables, "SHOP": "open"}
        functions.update_function_configuration(FunctionName=EXECUTOR, Environment={"Variables": changed})

    def send(self, key: str, tool: str = "gateway.home", **arguments: Any) -> GatewayAnswer:
        """Call a tool and return the answer, also if it is an error."""
        return self.stack.request(key, "tools/call", {"name": tool, "arguments": arguments})

    def list_tools(self, key: str) -> set[str]:
        """Return the names of the functions that the holder of the key may call."""
        return {tool["name"] for tool in self.client.request("tools/list", "/mcp/functions", key)["tools"]}

    def start(self, definition_id: str, by: str = "") -> str:
        """Start a run and return its id."""
        return self.client.call("workflow.start", by, definitionId=definition_id, input={})["workflowId"]

    def wait_until(self, run: str, state: str) -> None:
        wait_for(
            f"the run {run} to be in {state}",
            lambda: self.client.get(run),
            lambda it: it["state"] == state,
            patience=SECONDS_TO_GO_ON,
        )

    def record_as_done(self, run: str) -> None:
        """Have an operator record that the step in doubt has happened, once it cannot be running any more."""
        operator = self.laptop.issuer.access_token("operator", self.stack.url)
        wait_for(
            f"the link $resolve of {run}",
            lambda: self.client.call("workflow.get", operator, workflowId=run),
            lambda it: any(link["args"].get("transition") == "$resolve" for link in it["links"]),
        )
        done = self.signpost(
            "workflow", "resolve", run, "--happened", "--yes", "--stack", self.name, SIGNPOST_AUTHORIZATION=operator
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def read_documents(self) -> Mapping[str, Any]:
        """Read everything that the tenant has published, as clients read it. Earlier releases list no sizes."""
        entries = self.client.request("resources/list")["resources"]
        listed = [{**entry, "size": None} for entry in entries if _is_own(entry["uri"])]
        skills = [skill for skill in self.client.request("skills/list")["skills"] if _is_own(skill["uri"])]
        files = [resource["uri"] for skill in skills for resource in skill["resources"]]
        uris = ["iii://fn/orders/visitor", *(entry["uri"] for entry in listed), *files]
        return {
            "resources": listed,
            "skills": skills,
            "contents": {uri: self.client.request("resources/read", uri=uri)["contents"] for uri in uris},
            "prompts": self.client.request("prompts/list")["prompts"],
            "prompt": self.client.request("prompts/get", name="hello", arguments={"name": "Ann"})["messages"],
        }

    def read_shipped_documents(self) -> Mapping[str, Any]:
        """Read the documents that the deployment ships."""
        uris = [
            entry["uri"] for entry in self.client.request("resources/list")["resources"] if not _is_own(entry["uri"])
        ]
        return {uri: self.client.request("resources/read", uri=uri)["contents"] for uri in uris if uri != INDEX}

    def read_catalogue(self) -> Mapping[str, Any]:
        """Read the names of all that can be called. Earlier releases list no skills in gateway.home, and the tools that
        continue a run at /mcp alone."""
        tools = {
            path: sorted(tool["name"] for tool in self.client.request("tools/list", path)["tools"])
            for path in ("/mcp", "/mcp/functions", "/mcp/flat")
        }
        for path in ("/mcp/functions", "/mcp/flat"):
            tools[path] = [name for name in tools[path] if name not in tools["/mcp"]]
        listed = (item["id"] for item in self.client.call("gateway.home")["items"])
        return {"home": sorted(name for name in listed if f"skill:{name}" not in tools["/mcp/flat"]), "tools": tools}

    def book_item(self) -> Any:
        """Call the function of the executor as a tool."""
        return self.client.request("tools/call", "/mcp/functions", name="orders__book", arguments={"item": "ink"})


_PARAMETERS = {"AuthMode": "both", "ExecutorFunctions": EXECUTOR_ARN}


def deploy_and_fill(laptop: Laptop, earlier: EarlierRelease, name: str, home: Path) -> ReleasedStack:
    """Deploy a stack of the earlier release, and fill it with that release's own commands."""
    stack = ReleasedStack(laptop, earlier, name, home, _deploy_earlier(laptop, earlier, name, home))
    deploy_executor(laptop, stack.stack)
    stack.key = stack.run_earlier("keys", "create", "agent", "--role", "clerk").strip()
    stack.run_earlier("executors", "place", EXECUTOR)
    stack.run_earlier("settings", "set", "breaker_failures", "0")
    folder = write_content(home)
    stack.run_earlier("publish", str(folder))
    stack.run_earlier("publish", str(home / MANIFEST_NAME))
    return stack


def parse_lines(printed: str) -> list[Any]:
    return [json.loads(line) for line in printed.splitlines()]


def _deploy_earlier(laptop: Laptop, earlier: EarlierRelease, name: str, home: Path) -> Stack:
    return laptop.deploy_build(name, earlier.build(home / "build.log"), "dev", **_PARAMETERS)


def _is_own(uri: str) -> bool:
    return not uri.startswith(SHIPPED)
