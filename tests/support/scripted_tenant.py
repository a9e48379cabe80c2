"""Workflows of a deployed stack with steps that the executors of the test stage carry out."""

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from signpost.adapters.dynamodb import DynamoApiKeys, DynamoContentStore
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.s3 import S3ChangeBatchStore, S3Values
from signpost.adapters.source_json import parse_json_source
from signpost.content.model import ScopeNames
from signpost.contract import HostedFunction
from signpost.identity.api_keys import parse_api_key
from signpost.model import Principal
from signpost.workflow.authoring.compile import CompiledManifest, compile_manifest
from signpost.workflow.engine.permissions import CANCEL
from tests.acceptance.callers import Credentials
from tests.support.executors import TIMEOUT_MS, Executors
from tests.support.manifests import publish
from tests.support.memory_gateway import GatewayAnswer, build_modern_request
from tests.support.tool_answers import read_tool_answer
from tests.support.waiting import wait_for

type WorkflowAnswer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScriptedTenant:
    """A tenant for one test, with functions and workflows."""

    executors: Executors
    tenant: str
    key: str
    values: S3Values

    def publish(self, **manifest: Any) -> None:
        stack, dynamodb = self.executors.gateway, self.executors.laptop.client("dynamodb")
        compiled = compile_manifest(parse_json_source(json.dumps({"version": 1, **manifest}), "a test"))
        assert isinstance(compiled, CompiledManifest), compiled
        table, bucket = (stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
        publications = S3ChangeBatchStore(lambda: self.executors.laptop.client("s3"), bucket)
        content = DynamoContentStore(dynamodb, table, publications, ScopeNames("skills", "prompts"))
        texts = DynamoDefinitionTexts(dynamodb, table, self.values)
        publish(content, self.values, texts, self.tenant, compiled.manifest)

    def host_scripts(self, scripts: Mapping[str, Sequence[WorkflowAnswer]], *, timeout_ms: int | None = None) -> None:
        """Host functions that play these scripts, with the timeout that they declare, and no other function in this
        tenant."""
        for function, script in scripts.items():
            self.executors.write_script(self.tenant, function, script)
        hosted = [HostedFunction(function, timeout_ms=timeout_ms) for function in scripts]
        self.executors.place("stub", hosted, self.tenant, timeout_ms=max(TIMEOUT_MS, timeout_ms or 0))

    def list_calls(self, function: str) -> Sequence[WorkflowAnswer]:
        return self.executors.list_calls(self.tenant, function)

    def make_key(self, *permissions: str) -> str:
        return self.executors.laptop.make_key(self.executors.gateway, self.tenant, permissions=permissions)

    def revoke_key(self, key: str) -> None:
        """Revoke an API key in the table, as `signpost keys revoke` does."""
        presented, laptop = parse_api_key(key), self.executors.laptop
        assert presented is not None
        table = self.executors.gateway.deployed.outputs["RegistryTableName"]
        assert DynamoApiKeys(laptop.client("dynamodb"), table).revoke(self.tenant, presented.key_id, time.time())

    def make_person_credential(self, subject: str) -> str:
        """Return a credential of a person who has logged in."""
        principal = Principal(subject, self.tenant, "a test", human=True)
        return Credentials(self.executors.laptop, self.executors.gateway).of(principal)

    def send(
        self, tool: str, key: str = "", headers: Mapping[str, str] | None = None, **arguments: Any
    ) -> GatewayAnswer:
        message, own = build_modern_request("tools/call", {"name": tool, "arguments": arguments})
        sent = {**own, "authorization": f"Bearer {key or self.key}", **(headers or {})}
        return self.executors.gateway.send("POST", "/mcp", body=json.dumps(message), headers=sent)

    def call_tool(self, tool: str, key: str = "", **arguments: Any) -> Any:
        answer = self.send(tool, key, **arguments)
        assert answer.status == 200, answer.text
        return read_tool_answer(answer)

    def start(self, definition_id: str, **workflow_input: Any) -> Any:
        return self.call_tool("workflow.start", definitionId=definition_id, input=workflow_input)

    def get(self, workflow_id: str, key: str = "") -> Any:
        return self.call_tool("workflow.get", key, workflowId=workflow_id)

    def submit(self, at: WorkflowAnswer, transition: str, key: str = "", **arguments: Any) -> Any:
        return self.call_tool("workflow.submit", key, **build_submission(at, transition), arguments=arguments)

    def follow_link(self, seen: WorkflowAnswer, move: str, key: str = "", **arguments: Any) -> Any:
        """Follow the link to this move, with more arguments than it already carries."""
        (link,) = [link for link in seen["links"] if link["args"].get("transition") == move]
        args = {**link["args"], "arguments": {**link["args"]["arguments"], **arguments}}
        return self.call_tool(link["method"], key, **args)

    def wait_until(self, workflow_id: str, condition: Callable[[WorkflowAnswer], bool], key: str = "") -> Any:
        return wait_for("a state of the workflow", lambda: self.get(workflow_id, key), condition)

    def wait_until_settled(self, workflow_id: str) -> Any:
        return self.wait_until(workflow_id, lambda seen: "pending" not in seen)

    def list_audit_types(self, workflow_id: str) -> Sequence[str]:
        """Return the types of the audit events of a workflow."""
        table = self.executors.gateway.deployed.outputs["WorkflowsTableName"]
        instances = DynamoInstanceStore(self.executors.laptop.client("dynamodb"), table, self.values)
        return [event.record.type for event in instances.audit(self.tenant, workflow_id)]

    def sweep(self) -> None:
        """Run the sweep for due workflows, which the schedule runs every minute."""
        name = self.executors.gateway.deployed.outputs["SweeperFunctionName"]
        sent = json.dumps({"sweep": "due"}).encode()
        answer = self.executors.laptop.client("lambda").invoke(FunctionName=name, Payload=sent)
        assert "FunctionError" not in answer, answer["Payload"].read()


def make_scripted_tenant(executors: Executors) -> ScriptedTenant:
    tenant = f"t-{uuid.uuid4().hex[:12]}"
    bucket = executors.gateway.deployed.outputs["ContentBucketName"]
    executors.set_settings(tenant, breaker_failures=0)
    values = S3Values(lambda: executors.laptop.client("s3"), bucket)
    return ScriptedTenant(executors, tenant, executors.make_key(tenant), values)


def build_submission(at: WorkflowAnswer, transition: str) -> WorkflowAnswer:
    return {"workflowId": at["workflowId"], "expectedVersion": at["version"], "transition": transition}


def list_link_names(seen: WorkflowAnswer) -> Sequence[str]:
    """Return the names of its links without `$cancel`: the transition of a move, the rel of any other link."""
    names = [link["args"].get("transition", link["rel"]) for link in seen["links"]]
    return [name for name in names if name != CANCEL]


def build_function_executor(name: str, **settings: Any) -> WorkflowAnswer:
    return {"kind": "function", "function": name, **settings}


def define_one_step(**transition: Any) -> WorkflowAnswer:
    """Return a workflow with one step only."""
    done: WorkflowAnswer = {"terminal": True}
    first = {"transitions": {"go": {"target": "done", **transition}}}
    return {"initialState": "open", "states": {"open": first, "done": done}}
