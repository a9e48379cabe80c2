"""The target of an attack: a tenant of its own, of a deployed stack with executors."""

import json
import shutil
import subprocess
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import signpost
from local.stack import Build
from signpost.adapters.dynamodb import DynamoContentStore, DynamoRuntimeSettings
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.s3 import S3ChangeBatchStore, S3Values
from signpost.content.model import ScopeNames
from signpost.contract import HostedFunction
from signpost.directory.manifest import MANIFEST_REQUEST
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import JsonObject, SettingValue
from tests.attacks.attack import UnplayedError
from tests.support import executors as executor_stack
from tests.support.commands import ProcessRunner, build_process_runner
from tests.support.deployed_workflows import DeployedWorkflows
from tests.support.executors import SHORT_LEASE_MARGIN_MS, Executors
from tests.support.functions import Functions, connect_functions
from tests.support.laptop import Laptop, Stack
from tests.support.manifests import publish
from tests.support.memory_gateway import GatewayAnswer, build_modern_request
from tests.support.waiting import wait_for

STARTED_LATE = "refused the call: its token has expired"
"""The answer to a call that has not run, because a busy machine started the executor too slowly. It is repeated."""
ROOMS_OF_COMMANDS = ("cli", "workflow/pictures")
PARAMETERS: Mapping[str, str] = {"AuthMode": "both", "LeaseMarginMs": SHORT_LEASE_MARGIN_MS}


@dataclass
class TargetStack:
    """A stack that attacks are played against, with executors that are deployed at their first use."""

    laptop: Laptop
    stack: Stack
    name: str
    build: Build

    @cached_property
    def run_command(self) -> ProcessRunner:
        """Runs the operator's commands, with the code of the build and the rooms that its layer does not carry."""
        layer, sources = self.build.directory / "SharedLayer" / "python", Path(signpost.__path__[0])
        folder = self.laptop.home / f"commands-{self.name}" / "signpost"
        shutil.copytree(layer / "signpost", folder)
        for room in ROOMS_OF_COMMANDS:
            shutil.copytree(sources / room, folder / room)
        run = build_process_runner(self.laptop)
        return lambda *arguments: run(*arguments, PYTHONPATH=str(folder.parent))

    @cached_property
    def executors(self) -> Executors:
        deployed = executor_stack.deploy_executors(self.laptop, self.stack, f"{self.name}-executors")
        deployed.place_manifest("trials", tenant=None)
        deployed.invoke("stub", json.loads(MANIFEST_REQUEST))  # so that no call has to wait for its first sandbox
        return deployed

    @cached_property
    def dynamodb(self) -> Any:
        return self.laptop.client("dynamodb")

    @cached_property
    def s3(self) -> Any:
        return self.laptop.client("s3")

    @cached_property
    def sqs(self) -> Any:
        return self.laptop.client("sqs")

    @cached_property
    def functions(self) -> Functions:
        return connect_functions(self.laptop, self.stack)

    @property
    def names(self) -> Sequence[str]:
        """The names of the deployed stacks, the first one to delete first."""
        executors = [self.executors.stack] if "executors" in vars(self) else []
        return [*executors, self.name]

    def new_target(self) -> "Target":
        """Return a tenant of its own, with breakers off."""
        target = Target(self, f"t-{uuid.uuid4().hex[:12]}")
        target.set_settings(breaker_failures=0)
        return target


def deploy_target_stack(laptop: Laptop, name: str, build: Build) -> TargetStack:
    """Deploy a build of the test stage for attacks."""
    allowed = ",".join(executor_stack.list_arns(f"{name}-executors"))
    stack = laptop.deploy_build(name, build, "test", ExecutorFunctions=allowed, **PARAMETERS)
    return TargetStack(laptop, stack, name, build)


@dataclass
class Target:
    """One tenant, and what an attack needs: credentials, requests, functions, publications, and a look behind."""

    on: TargetStack
    tenant: str

    @property
    def laptop(self) -> Laptop:
        return self.on.laptop

    @property
    def stack(self) -> Stack:
        return self.on.stack

    @property
    def executors(self) -> Executors:
        return self.on.executors

    @cached_property
    def key(self) -> str:
        """The API key of a caller without roles and permissions."""
        return self.make_key()

    @cached_property
    def author_key(self) -> str:
        """The API key of an administrator of the tenant."""
        return self.make_key("author", permissions=[ADMINISTRATION])

    def make_key(
        self,
        name: str = "attacker",
        *,
        roles: Collection[str] = (),
        permissions: Collection[str] = (),
        owner: str = "",
    ) -> str:
        return self.laptop.make_key(self.stack, self.tenant, name, roles=roles, permissions=permissions, owner=owner)

    @cached_property
    def workflows(self) -> DeployedWorkflows:
        """The workflows of the tenant, driven with `key`."""
        table = self.stack.deployed.outputs["WorkflowsTableName"]
        return DeployedWorkflows(
            laptop=self.laptop,
            stack=self.stack,
            executors=self.executors,
            tenant=self.tenant,
            key=self.key,
            instances=DynamoInstanceStore(self.on.dynamodb, table, self._values),
            dynamodb=self.on.dynamodb,
            functions=self.on.functions,
            sqs=self.on.sqs,
        )

    def run_command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of the operator about the tenant, with the code of the stack."""
        return self.on.run_command(*arguments, "--stack", self.on.name, "--tenant", self.tenant)

    def set_settings(self, **settings: SettingValue) -> None:
        """Change settings of the tenant."""
        stored = DynamoRuntimeSettings(self.on.dynamodb, self.stack.deployed.outputs["RegistryTableName"])
        for name, value in settings.items():
            stored.set(self.tenant, None, name, value)

    def host(self, *functions: HostedFunction, **scripts: Sequence[Mapping[str, Any]]) -> None:
        """Host functions of the tenant that play scripts (`stage/stub.py`). A script is named after its function, with
        `__` for `::`."""
        for name, entries in scripts.items():
            self.executors.write_script(self.tenant, name.replace("__", "::"), entries)
        self.executors.place("stub", list(functions), self.tenant)

    def list_calls(self, function: str) -> Sequence[Any]:
        """Return the calls that reached a function that plays a script."""
        return self.executors.list_calls(self.tenant, function)

    def store_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Make a manifest the catalogue of the tenant, past the checks of a publication."""
        registry_table, bucket = (
            self.stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName")
        )
        batches = S3ChangeBatchStore(lambda: self.on.s3, bucket)
        content = DynamoContentStore(self.on.dynamodb, registry_table, batches, ScopeNames("skills", "prompts"))
        definitions = DynamoDefinitionTexts(self.on.dynamodb, registry_table, self._values)
        publish(content, self._values, definitions, self.tenant, manifest)

    def call_registry(self, function: str, payload: JsonObject, credential: str | None = None) -> Any:
        """Call a function of the registry, as the administrator of the tenant unless with another credential."""
        event = {
            "function_id": function,
            "payload": payload,
            "authorization": f"Bearer {credential or self.author_key}",
        }
        return self.on.functions.invoke("Registry", event)

    def request(
        self, method: str, params: JsonObject | None = None, *, credential: str | None = None, path: str = "/mcp"
    ) -> GatewayAnswer:
        """Send a request over HTTP, with `key` unless with another credential."""
        return self.stack.request(credential or self.key, method, params, path)

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        credential: str | None = None,
        path: str = "/mcp/flat",
    ) -> GatewayAnswer:
        """Call a tool over HTTP. The tools of functions are at /mcp/flat, the workflow tools at /mcp."""
        params: JsonObject = {"name": name, "arguments": dict(arguments or {})}
        return wait_for(
            "a call whose executor has started in time",
            lambda: self.request("tools/call", params, credential=credential, path=path),
            lambda answer: STARTED_LATE not in answer.text,
        )

    def post(
        self, method: str, params: JsonObject, *, path: str = "/mcp", headers: Mapping[str, str] | None = None
    ) -> GatewayAnswer:
        """Send a request over HTTP with own headers in place of those of the protocol."""
        message, own = build_modern_request(method, params)
        authorization = {"authorization": f"Bearer {self.key}"}
        return self.stack.send(
            "POST", path, body=json.dumps(message), headers={**own, **authorization, **(headers or {})}
        )

    @cached_property
    def _values(self) -> S3Values:
        bucket = self.stack.deployed.outputs["ContentBucketName"]
        return S3Values(lambda: self.on.s3, bucket)


def read_result(answer: GatewayAnswer) -> Any:
    """Return the result of a call that was answered with one. Raises UnplayedError."""
    if answer.status != 200 or "result" not in answer.json:
        raise UnplayedError(f"expected a result, got {answer.status} {answer.text[:500]}")
    return answer.json["result"]


def read_error(answer: GatewayAnswer) -> Any:
    """Return the error of a request that was refused as JSON-RPC does. Raises UnplayedError."""
    if "error" not in answer.json:
        raise UnplayedError(f"expected an error, got {answer.status} {answer.text[:500]}")
    return answer.json["error"]
