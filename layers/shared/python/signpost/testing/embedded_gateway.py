"""A whole gateway in this process: the real entry points, protocol and composition on stores in memory."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from signpost.adapters.clock import SystemTimestamps
from signpost.adapters.ids import RandomIds
from signpost.adapters.memory import (
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
    MemoryUsedNonces,
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
from signpost.content.announcements import AnnouncementOperations
from signpost.entrypoints.nested_calls import NestedCallHandler
from signpost.entrypoints.registry_dispatch import AdministrationFunctions, RegistryDispatcher
from signpost.entrypoints.registry_nested_calls import NestedRegistryCalls
from signpost.mcp.surface import Surface
from signpost.model import JsonObject, MasterKeys
from signpost.settings import LEASE_MARGIN_MS, GatewaySettings, gateway_settings
from signpost.telemetry import Telemetry
from signpost.testing.clock import ManualClock
from signpost.toolkit.deadline import nested_alarm
from signpost.wiring.composition import GatewayComposition, compose_gateway
from signpost.wiring.endpoints import build_surfaces
from signpost.wiring.gateway import Gateway, build_front_door
from signpost.wiring.gateway_adapters import GatewayAdapters
from signpost.wiring.nested_calls import NestedCallAdapters, compose_nested_calls

if TYPE_CHECKING:
    from signpost.entrypoints.http.front_door import FrontDoor
    from signpost.identity.ports import KeySetSource
    from signpost.ports import Alarm
    from signpost.workflow.ports import StepExecutor

ISSUER = "https://issuer.test"
PUBLIC_URL = "https://gateway.test"
ENVIRONMENT: Mapping[str, str] = {
    "REGISTRY_TABLE": "registry",
    "WORKFLOWS_TABLE": "workflows",
    "LEASE_MARGIN_MS": str(LEASE_MARGIN_MS),
    "MASTER_SECRET_ARN": "secret",
    "PUBLIC_URL": PUBLIC_URL,
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
"""The environment variables of the gateway function."""
MASTER_KEYS = MasterKeys("master")
REGISTRY_ARN = "arn:registry"
NESTED_CALLS_ARN = "arn:nested-calls"
FUNCTION_MS = 60_000
"""Milliseconds that the nested calls function and the registry function have for a call."""
_numbers = count()


class EmbeddedGateway:
    """The gateway function, the nested calls function and the part of the registry that answers nested calls.

    The stores outlive `start`, which composes the three functions anew, as a cold start does.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        clock: ManualClock,
        key_set_source: "KeySetSource",
        alarm: "Alarm" = nested_alarm,
    ) -> None:
        self.clock = clock
        self.settings: GatewaySettings = gateway_settings({**ENVIRONMENT, **environment})
        # A logger keeps the output stream that it was made with, and a test's output ends with the test: hence a new
        # name for each gateway.
        self.telemetry = Telemetry(f"gateway-{next(_numbers)}")
        self.functions = FunctionTable(deployment=self.settings.tuning)
        self.executors: dict[str, ExecutorHandler] = {}
        """The Lambda functions that can be called, by ARN."""
        self.instances = MemoryInstanceStore()
        self.deployment_lists = MemoryDeploymentLists()
        self.effects, self.handles = MemoryEffectRecords(), MemoryHandles()
        self.grants, self.used_nonces = MemoryGrants(), MemoryUsedNonces()
        self.administration: list[AdministrationFunctions] = []
        """More registry functions for administrators; to be filled before the first nested call of the registry."""
        self.step_executors: dict[str, StepExecutor] = {}
        """The step executors of workflows, by kind; to be filled before the first workflow."""
        self.adapters = self._build_adapters(key_set_source, alarm)
        self.composition: GatewayComposition
        self.front_door: FrontDoor
        self._alarm = alarm

    def start(self) -> None:
        """Compose the functions over the stores."""
        self.composition = compose_gateway(self.adapters, self.telemetry)
        self.serve({})

    def serve(self, surfaces: Mapping[str, Callable[[], Surface]]) -> None:
        """Serve these surfaces at their paths, and at the other paths those of the composition."""
        self.front_door = build_front_door(
            self.settings, self.composition, self.telemetry, {**build_surfaces(self.composition), **surfaces}
        )
        self._gateway = Gateway(self.front_door)
        members = {
            field.name: getattr(self.adapters if hasattr(self.adapters, field.name) else self, field.name)
            for field in fields(NestedCallAdapters)
        }
        self._nested_calls = compose_nested_calls(NestedCallAdapters(**members), self.telemetry, REGISTRY_ARN)
        registry = cache(self._build_registry_calls)
        self.executors[REGISTRY_ARN] = lambda event: registry().handle(event, FUNCTION_MS)
        self.executors[NESTED_CALLS_ARN] = lambda event: self.handle_nested(event, FUNCTION_MS)

    def handle(self, event: JsonObject, remaining_ms: int = 30_000) -> Any:
        """Return the gateway function's answer to an event."""
        return self._gateway.handle(event, remaining_ms)

    def handle_nested(self, event: JsonObject, remaining_ms: int = 30_000) -> Any:
        """Return the answer of the nested calls function to an event."""
        return self._nested_calls.handle(event, remaining_ms)

    def _build_adapters(self, key_set_source: "KeySetSource", alarm: "Alarm") -> GatewayAdapters:
        content = MemoryContentStore(self.functions)
        return GatewayAdapters(
            api_keys=MemoryApiKeys(),
            issuer_key_sets=MemoryIssuerKeySets(),
            key_set_source=key_set_source,
            master_keys=MemoryMasterKeys(MASTER_KEYS),
            long_answers=MemoryAnswers(),
            function_states=MemoryFunctionStates(self.functions),
            placed_functions=MemoryPlacedFunctions(self.functions),
            breakers=MemoryBreakers(self.functions),
            grants=lambda: self.grants,
            used_nonces=lambda: self.used_nonces,
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
        return NestedCallHandler(nested=requests, telemetry=telemetry, clock=self.clock, alarm=self._alarm)
