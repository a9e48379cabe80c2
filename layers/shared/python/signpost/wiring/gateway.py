"""The gateway function: which adapter stands behind which port in an AWS account. One graph, made at init."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import boto3

from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemClock, SystemTimestamps
from signpost.adapters.dynamodb import (
    DynamoApiKeys,
    DynamoBreakers,
    DynamoContentStore,
    DynamoFunctionStates,
    DynamoIssuerKeySets,
    DynamoPlacedFunctions,
    DynamoRevisionRows,
)
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.ids import RandomIds
from signpost.adapters.lambdas import LambdaLink
from signpost.adapters.oidc import HttpKeySetSource
from signpost.adapters.s3 import S3Answers, S3Bodies, S3Publications, S3Values
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.back_door import BackDoor
from signpost.execution.functions import FunctionLists
from signpost.execution.nested import NestedCalls, is_nested
from signpost.execution.revisions import RevisionView
from signpost.http.front_door import FrontDoor
from signpost.identity.authenticator import Authenticator
from signpost.policy.key_ring import KeyRing
from signpost.policy.seals import Sealer
from signpost.ports import (
    Alarm,
    AnswerStore,
    ApiKeys,
    Bodies,
    Breakers,
    Clock,
    ContentStore,
    FunctionStates,
    Ids,
    IssuerKeySets,
    KeySetSource,
    Link,
    MasterKeyStore,
    PlacedFunctions,
    RevisionRows,
    Texts,
    Timestamps,
    ToolProvider,
)
from signpost.protocol.dispatch import Dispatcher
from signpost.protocol.services import Services
from signpost.protocol.surface import Surface
from signpost.protocol.tool_texts import ToolTexts
from signpost.records import dataclass
from signpost.registry.catalogue import CatalogueView
from signpost.registry.catalogue_access import CatalogueAccess
from signpost.schema.validation import Validators
from signpost.settings import ENDPOINTS, GatewaySettings, IdentitySettings, gateway_settings
from signpost.surfaces.agent_skills import AgentSkillFiles
from signpost.surfaces.catalog import Catalog
from signpost.surfaces.components import ToolkitComponents
from signpost.surfaces.documents import FetchTool, SkillDocuments, SlashCommands
from signpost.surfaces.functions import INSTRUCTIONS as FUNCTIONS_INSTRUCTIONS
from signpost.surfaces.functions import FunctionTools
from signpost.surfaces.gateway import Discovery
from signpost.surfaces.hosted import FunctionCalls, LongCalls
from signpost.surfaces.runs import WorkflowTools
from signpost.surfaces.seven import INSTRUCTIONS, SevenTools
from signpost.surfaces.skills import INSTRUCTIONS as FLAT_INSTRUCTIONS
from signpost.surfaces.skills import SkillTools
from signpost.telemetry import Telemetry
from signpost.wiring.calling import Calling, calling
from signpost.wiring.clients import CALLS, CLIENT, SIGNED_URLS
from signpost.wiring.documents import Documents, documents
from signpost.wiring.identity import anonymous_in, authenticator
from signpost.wiring.policy import Policy, policy

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.http.metrics import MetricsPage
    from signpost.wiring.workflows import Driven
    from signpost.workflow import ports as workflow_ports


@dataclass(frozen=True, slots=True)
class Adapters:
    api_keys: ApiKeys
    issuer_key_sets: IssuerKeySets
    key_set_source: KeySetSource
    master_keys: MasterKeyStore
    long_answers: AnswerStore
    function_states: FunctionStates
    placed_functions: PlacedFunctions
    revisions: RevisionRows
    breakers: Breakers
    content: ContentStore
    bodies: Bodies
    values: Texts
    definitions: Texts
    instances: "Callable[[], workflow_ports.Instances]"
    machines: "Callable[[], Mapping[str, workflow_ports.Machine]]"
    """What executors run on beside functions and workflows, by kind. Asked for when a workflow is driven."""
    pause: "Callable[[], workflow_ports.Pause]"
    lease_margin: float
    """Seconds for which a step is its owner's beyond the time that it may take."""
    link: Link
    clock: Clock
    timestamps: Timestamps
    ids: Ids
    alarm: Alarm


@dataclass(frozen=True, slots=True)
class Composition:
    """What the doors and surfaces of a gateway share."""

    adapters: Adapters
    sealer: Sealer
    catalogue: CatalogueView
    function_lists: FunctionLists
    policy: Policy
    calling: Calling
    documents: Documents
    components: ToolkitComponents
    nested: NestedCalls
    definitions: "Callable[[], workflow_ports.Definitions]"
    driven: "Callable[[], Driven]"
    long_calls: Callable[[], LongCalls]


@dataclass(frozen=True, slots=True)
class Gateway:
    """A warm gateway function: clients come in at the front, functions of executors at the back."""

    front_door: FrontDoor
    back_door: BackDoor

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> Mapping[str, Any]:
        door = self.back_door if is_nested(event) else self.front_door
        return door.handle(event, remaining_ms)


def gateway(environment: Mapping[str, str]) -> Gateway:
    settings = gateway_settings(environment)
    telemetry = Telemetry("gateway")
    composition = composed(aws_adapters(settings, telemetry), telemetry)
    return Gateway(
        front_door=front_door(settings, composition, telemetry, surfaces(composition)),
        back_door=back_door(composition, telemetry),
    )


def aws_adapters(settings: GatewaySettings, telemetry: Telemetry) -> Adapters:
    dynamodb = boto3.client("dynamodb", config=CLIENT)
    table = settings.registry_table
    clock = SystemClock()
    s3 = cache(lambda: boto3.client("s3", config=SIGNED_URLS))
    values = S3Values(s3, settings.content_bucket)
    return Adapters(
        api_keys=DynamoApiKeys(dynamodb, table),
        issuer_key_sets=DynamoIssuerKeySets(dynamodb, table),
        key_set_source=HttpKeySetSource(),
        master_keys=SecretMasterKeys(lambda: boto3.client("secretsmanager", config=CLIENT), settings.master_secret_arn),
        long_answers=S3Answers(s3, settings.content_bucket),
        function_states=DynamoFunctionStates(dynamodb, table, settings.tuning),
        placed_functions=DynamoPlacedFunctions(dynamodb, table),
        revisions=DynamoRevisionRows(dynamodb, table, settings.tuning),
        breakers=DynamoBreakers(dynamodb, table),
        content=DynamoContentStore(dynamodb, table, S3Publications(s3, settings.content_bucket), settings.scopes),
        bodies=S3Bodies(s3, settings.content_bucket),
        values=values,
        definitions=DynamoDefinitionTexts(dynamodb, table, values),
        instances=lambda: _instances(dynamodb, settings.workflows_table, values),
        machines=dict,
        pause=_pause,
        lease_margin=settings.lease_margin,
        link=LambdaLink(lambda: boto3.client("lambda", config=CALLS), clock=clock, left_behind=telemetry.left_behind),
        clock=clock,
        timestamps=SystemTimestamps(),
        ids=RandomIds(),
        alarm=alarm,
    )


def composed(adapters: Adapters, telemetry: Telemetry) -> Composition:
    clock = adapters.clock
    revisions = RevisionView(rows=adapters.revisions, clock=clock)
    catalogue = CatalogueView(revisions=revisions, texts=adapters.values)
    lists = FunctionLists(placed=adapters.placed_functions, revisions=revisions)
    allowed = policy(catalogue=catalogue, texts=adapters.definitions, lists=lists, telemetry=telemetry)
    definitions = cache(lambda: _definitions(adapters, catalogue, allowed.catalogue))
    driven = cache(lambda: _driven(adapters, definitions(), calls))
    keys = KeyRing(store=adapters.master_keys, clock=clock)
    calls = calling(
        function_states=adapters.function_states,
        breakers=adapters.breakers,
        link=adapters.link,
        keys=keys,
        clock=clock,
        ids=adapters.ids,
        telemetry=telemetry,
    )
    written = documents(
        content=adapters.content,
        revisions=revisions,
        bodies=adapters.bodies,
        calling=calls,
        access=allowed.functions,
        clock=clock,
        timestamps=adapters.timestamps,
    )
    return Composition(
        adapters=adapters,
        sealer=Sealer(keys),
        catalogue=catalogue,
        function_lists=lists,
        policy=allowed,
        calling=calls,
        documents=written,
        components=ToolkitComponents(
            access=allowed.functions, executors=calls.executors, prompts=written.prompts, clock=clock
        ),
        nested=NestedCalls(mint=calls.mint, executors=calls.executors, access=allowed.functions, clock=clock),
        definitions=definitions,
        driven=driven,
        long_calls=cache(lambda: _long_calls(driven(), calls, clock)),
    )


# The engine behind workflows takes a tenth of a cold start to import, and waits for the first call that needs it.


def _instances(dynamodb: "DynamoDBClient", table: str, values: Texts) -> "workflow_ports.Instances":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.instances(dynamodb, table, values)


def _definitions(adapters: Adapters, catalogue: CatalogueView, access: CatalogueAccess) -> "workflow_ports.Definitions":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.definitions(catalogue, access, adapters.definitions)


def _pause() -> "workflow_ports.Pause":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.pause()


def _driven(adapters: Adapters, definitions: "workflow_ports.Definitions", calls: Calling) -> "Driven":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.driven(
        definitions=definitions,
        instances=adapters.instances(),
        machines={**workflows.machines(calls), **adapters.machines()},
        clock=adapters.clock,
        ids=adapters.ids,
        pause=adapters.pause(),
        lease_margin=adapters.lease_margin,
    )


def _long_calls(driven: "Driven", calls: Calling, clock: Clock) -> LongCalls:
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.long_calls(driven, calls, clock)


def surfaces(composition: Composition) -> Mapping[str, Surface]:
    """By the path at which each answers."""
    default, flat, functions = ENDPOINTS
    return {
        default: gateway_surface(composition),
        flat: flat_surface(composition),
        functions: functions_surface(composition),
    }


def gateway_surface(composition: Composition) -> Surface:
    tools = _seven(composition, listed=True)
    return _surface("gateway", INSTRUCTIONS, composition, [tools, _fetch(composition, listed=False)])


def flat_surface(composition: Composition) -> Surface:
    """In the order of the names. What drives a run that was started is there, unlisted."""
    skills = SkillTools(
        lists=composition.function_lists, access=composition.policy.functions, calls=_calls(composition)
    )
    workflows = WorkflowTools(
        catalogue=composition.policy.catalogue,
        definitions=composition.definitions,
        driving=lambda: composition.driven().driving,
    )
    tools = (skills, _fetch(composition, listed=True), workflows, _seven(composition, listed=False))
    surface = _surface("flat", FLAT_INSTRUCTIONS, composition, tools)
    return replace(surface, tools=(*surface.tools, Catalog(surface)))


def functions_surface(composition: Composition) -> Surface:
    tools = FunctionTools(
        lists=composition.function_lists,
        functions=composition.calling.functions,
        access=composition.policy.functions,
        calls=_calls(composition),
    )
    seven, fetch = _seven(composition, listed=False), _fetch(composition, listed=True)
    # What drives runs needs no row of a function to be found.
    return _surface("functions", FUNCTIONS_INSTRUCTIONS, composition, [seven, tools, fetch])


def _seven(composition: Composition, *, listed: bool) -> SevenTools:
    discovery = Discovery(
        catalogue=composition.policy.catalogue, sealer=composition.sealer, definitions=composition.definitions
    )
    return SevenTools(discovery=discovery, driving=lambda: composition.driven().driving, listed=listed)


def _fetch(composition: Composition, *, listed: bool) -> FetchTool:
    return FetchTool(composition.documents.functions, listed=listed)


def _calls(composition: Composition) -> FunctionCalls:
    return FunctionCalls(
        functions=composition.calling.functions,
        executors=composition.calling.executors,
        long_calls=composition.long_calls,
        long_answers=composition.adapters.long_answers,
        clock=composition.adapters.clock,
    )


def _surface(name: str, instructions: str, composition: Composition, tools: Sequence[ToolProvider]) -> Surface:
    """Documents, slash commands and what toolkits have beside tools are the same everywhere."""
    components = composition.components
    agent_skills = AgentSkillFiles(composition.documents.agent_skills)
    return Surface(
        name=name,
        instructions=instructions,
        tools=tools,
        resources=(SkillDocuments(composition.documents.skills), agent_skills, components),
        prompts=(SlashCommands(composition.documents.prompts), components),
        completions=(components,),
        skills=(agent_skills,),
    )


def front_door(
    settings: GatewaySettings, composition: Composition, telemetry: Telemetry, surfaces: Mapping[str, Surface]
) -> FrontDoor:
    adapters = composition.adapters
    services = Services(
        sealer=composition.sealer,
        clock=adapters.clock,
        alarm=adapters.alarm,
        validators=Validators(),
        long_answers=adapters.long_answers,
        tool_texts=ToolTexts(),
    )
    return FrontDoor(
        settings=settings,
        authenticator=_authenticator(settings.identity, adapters),
        surfaces={path: Dispatcher(surface, services) for path, surface in surfaces.items()},
        metrics=cache(lambda: _metrics_page(composition, surfaces)),
        telemetry=telemetry,
        clock=adapters.clock,
        alarm=adapters.alarm,
    )


def _metrics_page(composition: Composition, surfaces: Mapping[str, Surface]) -> "MetricsPage":
    # Whoever comes for tools need not wait for it.
    from signpost.wiring import metrics  # noqa: PLC0415

    return metrics.metrics_page(composition, surfaces)


def back_door(composition: Composition, telemetry: Telemetry) -> BackDoor:
    adapters = composition.adapters
    return BackDoor(nested=composition.nested, telemetry=telemetry, clock=adapters.clock, alarm=adapters.alarm)


def _authenticator(settings: IdentitySettings, adapters: Adapters) -> Authenticator:
    return authenticator(
        settings,
        api_keys=adapters.api_keys,
        issuer_key_sets=adapters.issuer_key_sets,
        key_set_source=adapters.key_set_source,
        clock=adapters.clock,
        anonymous=anonymous_in(settings),
    )
