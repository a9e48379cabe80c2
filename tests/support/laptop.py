"""The laptop cloud for tests: one emulator and one issuer in a run, and one stack for each way to deploy."""

import io
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Self

from botocore.config import Config

from local.api_gateway import ApiAddress, ApiGateway
from local.door import Door
from local.emulator import Emulator
from local.emulator_latency import Latency
from local.issuer import Issuer
from local.ports import free_port
from local.progress import Progress
from local.stack import (
    Build,
    DeployedStack,
    Variant,
    build,
    client_settings,
    deploy,
    deploy_uploaded,
    machine_architecture,
    upload_template,
)
from signpost.adapters.dynamodb import DynamoApiKeys
from signpost.cli.keys import new_key, stored_key
from signpost.model import JsonObject
from tests.support.iam_decisions import Decision, DenialCheck
from tests.support.memory_gateway import GatewayAnswer, build_modern_request
from tests.support.waiting import wait_for

CHALLENGE = "x-amzn-remapped-www-authenticate"
"""The name under which clients of API Gateway receive WWW-Authenticate."""


@dataclass(frozen=True, slots=True)
class Stack:
    deployed: DeployedStack
    port: int

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/mcp"

    def send(
        self, method: str, path: str, *, body: str | bytes = "", headers: Mapping[str, str] | None = None
    ) -> GatewayAnswer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            connection.request(method, path, body.encode() if isinstance(body, str) else body, dict(headers or {}))
            response = connection.getresponse()
            response_headers = {name.lower(): value for name, value in response.getheaders()}
            return GatewayAnswer(response.status, response_headers, response.read().decode())
        finally:
            connection.close()

    def request(
        self,
        credential: str | None,
        method: str = "tools/list",
        params: JsonObject | None = None,
        path: str = "/mcp",
    ) -> GatewayAnswer:
        message, headers = build_modern_request(method, params or {})
        authorization = {"authorization": f"Bearer {credential}"} if credential else {}
        return self.send("POST", path, body=json.dumps(message), headers={**headers, **authorization})

    def list_home_items(self, credential: str) -> Any:
        """Return the items that gateway.home lists for the holder of this credential."""
        answer = self.request(credential, "tools/call", {"name": "gateway.home", "arguments": {}})
        assert answer.status == 200, answer.text
        return answer.json["result"]["structuredContent"]["items"]

    def list_skill_names(self, credential: str) -> frozenset[str]:
        """Return the names of the callable skills that the holder of this credential finds, shipped ones included."""
        tools = self.request(credential, "tools/list", path="/mcp/flat").json["result"]["tools"]
        names = (tool["name"] for tool in tools)
        return frozenset(name.removeprefix("skill:") for name in names if name.startswith("skill:"))

    def list_published_ids(self, credential: str) -> Sequence[str]:
        """Return the ids of the items of manifests that gateway.home lists, without callable skills."""
        skills = self.list_skill_names(credential)
        return [item["id"] for item in self.list_home_items(credential) if item["id"] not in skills]


type MakeKey = Callable[[Stack], str]


class Laptop:
    """A laptop cloud. With `latency`, permissions and event source mappings take effect later, as on AWS."""

    def __init__(self, home: Path, latency: Latency | None = None) -> None:
        self.home = home
        self._denials = DenialCheck(home / "decisions.jsonl")
        self.emulator = Emulator(home, free_port(), record=self._denials.record, latency=latency)
        self.issuer = Issuer(home, 0)
        self._deployed: dict[str, DeployedStack] = {}
        self._templates: dict[Build, str] = {}
        """The address of the uploaded template of each build that was deployed."""
        self._doors: dict[str, Door] = {}
        self._clients: dict[str, Any] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.emulator.start()
        self._open.callback(self.emulator.stop)
        self.issuer.start()
        self._open.callback(self.issuer.stop)
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Stop everything. Raise an error if a function was denied a request that no test had expected."""
        self._open.close()
        if error is None:
            self._denials.ensure_expected()

    def read_decisions(self) -> Sequence[Decision]:
        """Return the decisions so far: each distinct request that was allowed, every request that was denied."""
        return self._denials.read_decisions()

    def expect_denial(self, session: str, action: str, *resources: str) -> None:
        """Declare that a test makes a function, or another session of a role, send a request that is denied."""
        self._denials.expect_denial(session, action, *resources)

    def expect_denials_during(self, session: str) -> AbstractContextManager[None]:
        """Declare that sessions whose names begin like this, such as the functions of a stack that is made or deleted,
        may be denied requests in the block."""
        return self._denials.expect_denials_during(session)

    def deploy(self, name: str, variant: Variant = "product", **parameters: str) -> Stack:
        """Deploy the template under this name, or update the stack of this name. An empty parameter keeps its
        default."""
        built = build(variant, log=self._log(name), progress=Progress(io.StringIO()))
        return self.deploy_build(name, built, "test" if variant == "test" else "dev", **parameters)

    def deploy_build(self, name: str, built: Build, stage: str, **parameters: str) -> Stack:
        """Deploy a build under this name, with the parameters of `deploy`."""
        door = self._doors.get(name) or self._open_door(name)
        all_parameters = {
            "Stage": stage,
            "Architecture": machine_architecture(),
            "EndpointUrl": self.emulator.url,
            "PublicUrl": door.url,
            "OidcIssuer": self.issuer.url,
            **parameters,
        }
        non_empty = {name: value for name, value in all_parameters.items() if value}  # sam takes no empty value
        self._deployed[name] = self._deploy(name, built, non_empty)
        return Stack(self._deployed[name], door.port)

    def _deploy(self, name: str, built: Build, parameters: Mapping[str, str]) -> DeployedStack:
        """Deploy with `sam deploy` what it has not deployed yet. It would pack the same code again for each further
        stack of a build, which takes four seconds of processor time."""
        template_url = self._templates.get(built)
        if template_url is not None and name not in self.list_stacks():
            return deploy_uploaded(self.emulator, name, template_url, built, parameters)
        log, progress = self._log(name), Progress(io.StringIO())
        deployed = deploy(self.emulator, name, built, parameters, log=log, progress=progress)
        self._templates[built] = upload_template(self.emulator, name, built)
        return deployed

    def list_stacks(self) -> set[str]:
        """Return the names of the deployed stacks."""
        pages = self.client("cloudformation").get_paginator("describe_stacks").paginate()
        return {stack["StackName"] for page in pages for stack in page["Stacks"]}

    def delete(self, name: str) -> None:
        """Delete a stack with its functions and their sandboxes; retained tables and buckets stay."""
        with self.expect_denials_during(f"{name}-"):
            self.client("cloudformation").delete_stack(StackName=name)
            wait_for(f"the stack {name} to be gone", self.list_stacks, lambda stacks: name not in stacks)
        self._deployed.pop(name, None)

    def make_key(
        self,
        stack: Stack,
        tenant: str,
        name: str = "a test",
        *,
        roles: Collection[str] = (),
        permissions: Collection[str] = (),
        owner: str = "",
    ) -> str:
        """Return a credential of the tenant for a machine."""
        key, now = new_key(tenant), time.time()
        stored = stored_key(
            key, name, created_at=now, roles=sorted(roles), permissions=sorted(permissions), owner=owner
        )
        assert DynamoApiKeys(self.client("dynamodb"), stack.deployed.outputs["RegistryTableName"]).add(stored)
        return str(key)

    def restart_function(self, function: str) -> None:
        """Make Lambda restart a function, by a new environment variable."""
        functions = self.client("lambda")
        variables = functions.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
        variables["RESTARTED"] = str(int(variables.get("RESTARTED", "0")) + 1)
        functions.update_function_configuration(FunctionName=function, Environment={"Variables": variables})

    def client(self, service: str) -> Any:
        """Return the client of a service, with the rights of the account's owner. Threads can share it. Each service
        has one: it takes a tenth of a second of processor time to make."""
        if service not in self._clients:
            session, config = client_settings(self.emulator)
            # The emulator may close a connection that was not used for a while just when it is used again.
            config = config.merge(Config(retries={"total_max_attempts": 2}))
            self._clients[service] = session.client(service, endpoint_url=self.emulator.url, config=config)  # pyright: ignore[reportCallIssue, reportArgumentType] - the service is named at run time
        return self._clients[service]

    def _log(self, name: str) -> Path:
        return self.home / f"{name}.log"

    def _open_door(self, name: str) -> Door:
        gateway = ApiGateway(lambda: self._api(name))
        self._open.callback(gateway.close)
        door = self._doors[name] = Door(0, gateway.answer)
        door.start()
        self._open.callback(door.stop)
        return door

    def _api(self, name: str) -> ApiAddress:
        return ApiAddress(self.emulator.address, self._deployed[name].outputs["ApiId"])
