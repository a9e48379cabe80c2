"""A whole gateway in memory: the real pipeline and protocol on the in-memory adapters, with a clock that tests
advance."""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import count
from typing import Any

from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemTimestamps
from signpost.adapters.ids import RandomIds
from signpost.adapters.memory import (
    FixedKeySet,
    FunctionTable,
    MemoryAnswers,
    MemoryApiKeys,
    MemoryBodies,
    MemoryBreakers,
    MemoryContentStore,
    MemoryEffectRecords,
    MemoryFunctionStates,
    MemoryHandles,
    MemoryIssuerKeySets,
    MemoryMasterKeys,
    MemoryPlacedFunctions,
    MemoryRevisionRows,
    MemoryTextStore,
)
from signpost.adapters.memory.deployment_lists import MemoryDeploymentLists
from signpost.adapters.memory.grants import MemoryGrants
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.adapters.memory.link import ExecutorHandler, MemoryLambdaTransport
from signpost.adapters.memory.run_lists import MemoryRunLists
from signpost.calling.context_operations import ContextOperations
from signpost.calling.nested import ExecutorRequests, NestedCallJudge
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.cli.keys import new_key, stored_key
from signpost.content.announcements import AnnouncementOperations
from signpost.entrypoints.http.front_door import FrontDoor
from signpost.entrypoints.nested_calls import NestedCallHandler
from signpost.entrypoints.registry_dispatch import AdministrationFunctions, RegistryDispatcher
from signpost.entrypoints.registry_nested_calls import NestedRegistryCalls
from signpost.identity.api_keys import PresentedKey
from signpost.mcp.revisions import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from signpost.mcp.surface import Surface
from signpost.model import Call, CallToolResult, CatalogueItem, JsonObject, MasterKeys, Tool, as_object
from signpost.settings import LEASE_MARGIN_MS, GatewaySettings, gateway_settings
from signpost.telemetry import Telemetry
from signpost.wiring.composition import compose_gateway
from signpost.wiring.endpoints import build_gateway_surface, build_surfaces
from signpost.wiring.gateway import Gateway, build_front_door
from signpost.wiring.gateway_adapters import GatewayAdapters
from signpost.wiring.nested_calls import NestedCallAdapters, compose_nested_calls
from signpost.workflow.ports import StepExecutor
from tests.support.catalogues import store_catalogue
from tests.support.oracle import check_exchange
from tests.support.tokens import ISSUER, Signer

ENVIRONMENT = {
    "REGISTRY_TABLE": "registry",
    "WORKFLOWS_TABLE": "workflows",
    "LEASE_MARGIN_MS": str(LEASE_MARGIN_MS),
    "MASTER_SECRET_ARN": "secret",
    "PUBLIC_URL": "https://gateway.test",
    "AUTH_MODE": "both",
    "OIDC_ISSUER": ISSUER,
    "OIDC_AUDIENCE": "",
    "TENANT_CLAIM": "tenant",
    "ROLES_CLAIM": "roles",
    "PERMISSIONS_CLAIM": "scope",
    "HUMAN_CLAIM": "amr",
    "CLAIMS": "0",
    "DEFAULT_TENANT": "default",
    "MAX_TOKEN_LIFETIME_SECONDS": "86400",
    "TOOL_NAMES": "canonical",
    "CONTENT_BUCKET": "content",
    "ALLOWED_ORIGINS": "https://page.test",
    "HAS_MORE_ORIGINS": "0",
    "AWS_ENDPOINT_URL": "",
    "SKILLS_SCOPE": "skills",
    "PROMPTS_SCOPE": "prompts",
    "STATE_TIMEOUT_MS": "10000",
    "REQUIRE_EXPOSE": "0",
    "HIDDEN_PREFIXES": "",
}
MODERN = "2026-07-28"
META: JsonObject = {PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: {}}
REGISTRY_ARN = "arn:registry"
REGISTRY_MS = 60_000
"""Milliseconds that the registry function has for a nested call."""
_numbers = count()


class ManualClock:
    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds


RECORDER_TOOL = Tool("witness", "Records every call.", {"type": "object"})


class CallRecorder:
    """A tool provider that records every call that it receives; none if the front door refused the request."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def tools(self, call: Call) -> Sequence[Tool]:
        self.calls.append(call)
        return [RECORDER_TOOL]

    def tool(self, name: str, call: Call) -> Tool | None:
        self.calls.append(call)
        return RECORDER_TOOL if name == RECORDER_TOOL.name else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
        del tool, arguments
        self.calls.append(call)
        return CallToolResult([{"type": "text", "text": call.principal.subject}])


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


LONGEST_LAMBDA_ANSWER = 6_291_556


def encode_as_lambda(answered: Mapping[str, Any]) -> GatewayAnswer:
    """Convert an answer as Lambda's runtime does, which encodes the whole answer. An answer that it cannot encode
    crashes the function, and one that is too long is not delivered."""
    assert len(json.dumps(answered, ensure_ascii=False).encode()) <= LONGEST_LAMBDA_ANSWER
    body = answered["body"].encode()
    if answered["isBase64Encoded"]:
        body = base64.b64decode(body)
    if answered["headers"].get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return GatewayAnswer(answered["statusCode"], answered["headers"], body.decode())


class MemoryGateway:
    def __init__(self, surface: Surface | None = None, **environment: str) -> None:
        self.clock = ManualClock()
        self.signer = Signer()
        self.key_set_source = FixedKeySet({self.signer.kid: self.signer.jwk})
        # A logger keeps the output stream it was made with, and a test's output ends with the test: hence a new name.
        self.telemetry = Telemetry(f"gateway-{next(_numbers)}")
        self.settings: GatewaySettings = gateway_settings({**ENVIRONMENT, **environment})
        self.functions = FunctionTable(deployment=self.settings.tuning)
        self.executors: dict[str, ExecutorHandler] = {}
        self.instances = MemoryInstanceStore()
        self.deployment_lists = MemoryDeploymentLists()
        self.effects, self.handles = MemoryEffectRecords(), MemoryHandles()
        self.grants = MemoryGrants()
        self.administration: list[AdministrationFunctions] = []
        """More registry functions for administrators; to be filled before the first nested call of the registry."""
        self.step_executors: dict[str, StepExecutor] = {}
        """The step executors of workflows, by kind; to be filled before the first workflow."""
        self.adapters = self._build_adapters()
        self.composition = compose_gateway(self.adapters, self.telemetry)
        self.front_door: FrontDoor
        self.serve_surface(surface or build_gateway_surface(self.composition))

    def _build_adapters(self) -> GatewayAdapters:
        content = MemoryContentStore(self.functions)
        return GatewayAdapters(
            api_keys=MemoryApiKeys(),
            issuer_key_sets=MemoryIssuerKeySets(),
            key_set_source=self.key_set_source,
            master_keys=MemoryMasterKeys(MasterKeys("master")),
            long_answers=MemoryAnswers(),
            function_states=MemoryFunctionStates(self.functions),
            placed_functions=MemoryPlacedFunctions(self.functions),
            breakers=MemoryBreakers(self.functions),
            grants=lambda: self.grants,
            deployment_lists=lambda: self.deployment_lists,
            revisions=MemoryRevisionRows(content),
            content=content,
            bodies=MemoryBodies(),
            values=MemoryTextStore(),
            definitions=MemoryTextStore(),
            instances=lambda: self.instances,
            run_lists=lambda: MemoryRunLists(self.instances),
            step_executors=lambda: self.step_executors,
            pause=lambda: self.clock.advance,
            lease_margin=self.settings.lease_margin,
            public_url=self.settings.public_url,
            link=MemoryLambdaTransport(self.executors),
            clock=self.clock,
            timestamps=SystemTimestamps(),
            ids=RandomIds(),
            alarm=alarm,
        )

    def replace_adapters(self, **adapters: Any) -> None:
        """Replace these adapters, and compose the gateway again."""
        self.adapters = replace(self.adapters, **adapters)
        self.composition = compose_gateway(self.adapters, self.telemetry)
        self.serve_surface(build_gateway_surface(self.composition))

    def serve_surface(self, surface: Surface) -> None:
        self.front_door = build_front_door(
            self.settings,
            self.composition,
            self.telemetry,
            {
                **build_surfaces(self.composition),
                "/mcp": lambda: surface,
            },
        )
        self._gateway = Gateway(self.front_door)
        members = {
            field.name: getattr(self.adapters if hasattr(self.adapters, field.name) else self, field.name)
            for field in fields(NestedCallAdapters)
        }
        self._nested_calls = compose_nested_calls(NestedCallAdapters(**members), self.telemetry, REGISTRY_ARN)
        registry = cache(self._build_registry_calls)
        self.executors[REGISTRY_ARN] = lambda event: registry().handle(event, REGISTRY_MS)

    def _build_registry_calls(self) -> NestedCallHandler:
        """Build the part of the registry function that answers nested calls."""
        telemetry = Telemetry(f"registry-{next(_numbers)}")
        publisher = Publisher(
            content=self.adapters.content,
            bodies=self.adapters.bodies,
            catalogues=CataloguePublisher(
                content=self.adapters.content, values=self.adapters.values, definitions=self.adapters.definitions
            ),
            timestamps=self.adapters.timestamps,
        )
        calls = NestedRegistryCalls(
            judge=NestedCallJudge(mint=self.composition.calling.mint, clock=self.clock),
            functions=RegistryDispatcher(
                self.composition.documents.functions, [PublishFunctions(publisher), *self.administration]
            ),
            telemetry=telemetry,
        )
        operations = ContextOperations(
            mint=self.composition.calling.mint,
            clock=self.clock,
            actions=AnnouncementOperations(self.adapters.content).actions,
        )
        requests = ExecutorRequests(nested=calls, operations=operations)
        return NestedCallHandler(nested=requests, telemetry=telemetry, clock=self.clock, alarm=alarm)

    def handle(self, event: JsonObject, remaining_ms: int = 30_000) -> Any:
        """Return the gateway function's answer to an event."""
        return self._gateway.handle(event, remaining_ms)

    def handle_nested(self, event: JsonObject, remaining_ms: int = 30_000) -> Any:
        """Return the answer of the nested calls function to an event."""
        return self._nested_calls.handle(event, remaining_ms)

    def store_catalogue(self, tenant: str, *items: CatalogueItem) -> None:
        """Replace the catalogue by these items. They cannot be started, because there are no definitions."""
        store_catalogue(self.adapters.content, self.adapters.values, tenant, items)

    def make_key(self, tenant: str = "default", *, lasting: float | None = None) -> PresentedKey:
        key = new_key(tenant)
        assert self.adapters.api_keys.add(stored_key(key, "a test", created_at=self.clock.now(), lifetime=lasting))
        return key

    def make_token(self, **claims: Any) -> str:
        return self.signer.make_token(self.clock.now(), **claims)

    def send(
        self,
        method: str = "POST",
        path: str = "/mcp",
        *,
        body: str | bytes = "",
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        source_ip: str = "198.51.100.7",
        remaining_ms: int = 30_000,
    ) -> GatewayAnswer:
        event = {
            "version": "2.0",
            "rawPath": path,
            "headers": dict(headers or {}),
            "queryStringParameters": dict(query or {}),
            "body": body if isinstance(body, str) else body.decode("latin-1"),
            "isBase64Encoded": False,
            "requestContext": {
                "requestId": "request-1",
                "timeEpoch": self.clock.now() * 1000,
                "http": {"method": method, "path": path, "sourceIp": source_ip},
            },
        }
        answer = encode_as_lambda(self.front_door.handle(event, remaining_ms=remaining_ms))
        check_exchange(body, headers or {}, answer.headers, answer.text)
        return answer

    def request(
        self,
        method: str,
        params: JsonObject | None = None,
        *,
        credential: str | None = None,
        path: str = "/mcp",
        query: Mapping[str, str] | None = None,
    ) -> GatewayAnswer:
        """Send one modern request as a well-behaved client does."""
        message, headers = build_modern_request(method, params or {})
        token = credential or str(self.make_key())
        authorized = {**headers, "authorization": f"Bearer {token}"}
        return self.send(path=path, body=json.dumps(message), headers=authorized, query=query)

    def request_legacy(
        self, method: str, params: JsonObject | None, version: str, credential: str, path: str = "/mcp"
    ) -> GatewayAnswer:
        """Send one request of an older revision."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        headers = {"content-type": "application/json", "mcp-protocol-version": version}
        authorized = {**headers, "authorization": f"Bearer {credential}"}
        return self.send(path=path, body=json.dumps(message), headers=authorized)


def build_modern_request(method: str, params: JsonObject, meta: JsonObject = META) -> tuple[JsonObject, dict[str, str]]:
    """Return the body and the headers of a request of the newest revision."""
    merged_meta = {**meta, **as_object(params.get("_meta"))}
    message: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": merged_meta}}
    headers = {"content-type": "application/json", "mcp-protocol-version": MODERN, "mcp-method": method}
    name = next((params[field] for field in ("name", "uri", "taskId") if field in params), None)
    return message, {**headers, "mcp-name": name} if isinstance(name, str) else headers
