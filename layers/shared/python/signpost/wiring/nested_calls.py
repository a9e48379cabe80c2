"""The composition of the nested calls function, the only entrance for executors."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import (
    DynamoBreakers,
    DynamoFunctionStates,
    DynamoPlacedFunctions,
    DynamoRevisionRows,
)
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.effects import DynamoEffectRecords
from signpost.adapters.dynamodb.handles import DynamoHandles
from signpost.adapters.ids import RandomIds
from signpost.adapters.lambdas import BotoLambdaTransport
from signpost.adapters.s3 import S3Values
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.calling.context_operations import ContextOperations
from signpost.calling.effect_actions import EffectActions
from signpost.calling.grant_operations import GrantOperations
from signpost.calling.handle_actions import HandleActions
from signpost.calling.lookup import FunctionLists
from signpost.calling.nested import ExecutorRequests, NestedCallJudge, NestedCalls
from signpost.calling.nested_transport import RegistryActions, RegistryTransport
from signpost.catalogue.cache import CatalogueView
from signpost.content.api.function_ids import ANNOUNCING, REGISTRY_FUNCTIONS
from signpost.entrypoints.nested_calls import NestedCallHandler
from signpost.list_revisions import RevisionRows, RevisionView
from signpost.records import dataclass
from signpost.settings import NestedCallSettings, nested_calls_settings
from signpost.signing.key_ring import KeyRing
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import AwsClients
from signpost.wiring.calling import build_call_services
from signpost.wiring.policy import build_policy_services

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.calling.ports import (
        Breakers,
        EffectRecords,
        FunctionStates,
        GrantStore,
        Handles,
        LambdaTransport,
        PlacedFunctions,
    )
    from signpost.ports import Alarm, Clock, Ids, TextStore
    from signpost.signing.ports import MasterKeyStore


@dataclass(frozen=True, slots=True)
class NestedCallAdapters:
    master_keys: "MasterKeyStore"
    function_states: "FunctionStates"
    placed_functions: "PlacedFunctions"
    revisions: RevisionRows
    breakers: "Breakers"
    grants: "Callable[[], GrantStore]"
    values: "TextStore"
    definitions: "TextStore"
    effects: "EffectRecords"
    handles: "Handles"
    link: "LambdaTransport"
    clock: "Clock"
    ids: "Ids"
    alarm: "Alarm"


def build_nested_calls(environment: Mapping[str, str]) -> NestedCallHandler:
    telemetry, settings = Telemetry("nested-calls"), nested_calls_settings(environment)
    return compose_nested_calls(_build_aws_adapters(settings, telemetry), telemetry, settings.registry_arn)


def compose_nested_calls(adapters: NestedCallAdapters, telemetry: Telemetry, registry_arn: str) -> NestedCallHandler:
    clock = adapters.clock
    revisions = RevisionView(rows=adapters.revisions, clock=clock)
    policy = build_policy_services(
        catalogue=CatalogueView(revisions=revisions, texts=adapters.values),
        texts=adapters.definitions,
        lists=FunctionLists(placed=adapters.placed_functions, revisions=revisions),
        telemetry=telemetry,
    )
    calls = build_call_services(
        function_states=adapters.function_states,
        breakers=adapters.breakers,
        link=adapters.link,
        keys=KeyRing(store=adapters.master_keys, clock=clock),
        clock=clock,
        ids=adapters.ids,
        telemetry=telemetry,
    )
    nested = NestedCalls(
        judge=NestedCallJudge(mint=calls.mint, clock=clock),
        executors=calls.executors,
        access=policy.functions,
        registry=RegistryTransport(adapters.link, registry_arn, REGISTRY_FUNCTIONS),
    )
    grants = GrantOperations(store=adapters.grants, clock=clock)
    announcing = RegistryActions(adapters.link, registry_arn, calls.mint, ANNOUNCING)
    actions = {
        **EffectActions(adapters.effects, clock).actions,
        **HandleActions(adapters.handles, clock).actions,
        **grants.actions,
        **announcing.actions,
    }
    operations = ContextOperations(mint=calls.mint, clock=clock, actions=actions)
    requests = ExecutorRequests(nested=nested, operations=operations)
    return NestedCallHandler(nested=requests, telemetry=telemetry, clock=clock, alarm=adapters.alarm)


def _build_aws_adapters(settings: NestedCallSettings, telemetry: Telemetry) -> NestedCallAdapters:
    clients = AwsClients()
    dynamodb, table, clock = clients.dynamodb, settings.registry_table, SystemClock()
    values = S3Values(clients.s3, settings.content_bucket)
    return NestedCallAdapters(
        master_keys=SecretMasterKeys(clients.secrets, settings.master_secret_arn),
        function_states=DynamoFunctionStates(dynamodb, table, settings.tuning),
        placed_functions=DynamoPlacedFunctions(dynamodb, table),
        revisions=DynamoRevisionRows(dynamodb, table, settings.tuning),
        breakers=DynamoBreakers(dynamodb, table),
        grants=lambda: _build_grants(dynamodb, table),
        values=values,
        definitions=DynamoDefinitionTexts(dynamodb, table, values),
        effects=DynamoEffectRecords(dynamodb, table),
        handles=DynamoHandles(dynamodb, table),
        link=BotoLambdaTransport(clients.lambdas, clock=clock, log_abandoned_call=telemetry.log_abandoned_call),
        clock=clock,
        ids=RandomIds(),
        alarm=alarm,
    )


def _build_grants(dynamodb: "DynamoDBClient", table: str) -> "GrantStore":
    from signpost.adapters.dynamodb.grants import DynamoGrants  # noqa: PLC0415 - at the first operation on grants

    return DynamoGrants(dynamodb, table)
