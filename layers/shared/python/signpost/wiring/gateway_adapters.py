"""The adapters of a gateway's ports, and those of a gateway on AWS."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

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
from signpost.adapters.lambdas import BotoLambdaTransport
from signpost.adapters.oidc import HttpKeySetSource
from signpost.adapters.s3 import S3Answers, S3Bodies, S3ChangeBatchStore, S3Values
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.list_revisions import RevisionRows
from signpost.records import dataclass
from signpost.settings import GatewaySettings
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import AwsClients

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.calling.ports import Breakers, FunctionStates, GrantStore, LambdaTransport, PlacedFunctions
    from signpost.content.ports import AnswerStore, Bodies, ContentStore
    from signpost.identity.ports import ApiKeys, IssuerKeySets, KeySetSource
    from signpost.mcp.ports import UsedNonces
    from signpost.ports import Alarm, Clock, DeploymentListStore, Ids, TextStore, Timestamps
    from signpost.signing.ports import MasterKeyStore
    from signpost.workflow import ports as workflow_ports


@dataclass(frozen=True, slots=True)
class GatewayAdapters:
    api_keys: "ApiKeys"
    issuer_key_sets: "IssuerKeySets"
    key_set_source: "KeySetSource"
    master_keys: "MasterKeyStore"
    long_answers: "AnswerStore"
    function_states: "FunctionStates"
    placed_functions: "PlacedFunctions"
    revisions: RevisionRows
    breakers: "Breakers"
    grants: "Callable[[], GrantStore]"
    deployment_lists: "Callable[[], DeploymentListStore]"
    content: "ContentStore"
    bodies: "Bodies"
    values: "TextStore"
    definitions: "TextStore"
    instances: "Callable[[], workflow_ports.InstanceStore]"
    run_lists: "Callable[[], workflow_ports.RunLists]"
    step_executors: "Callable[[], Mapping[str, workflow_ports.StepExecutor]]"
    """Makes the step executors beside those of functions and workflows, by kind, when a workflow is first driven."""
    pause: "Callable[[], workflow_ports.Pause]"
    lease_margin: float
    """Seconds for which a claim outlasts the time that its step may take."""
    public_url: str
    """Scheme and host under which clients reach the gateway."""
    link: "LambdaTransport"
    clock: "Clock"
    timestamps: "Timestamps"
    ids: "Ids"
    alarm: "Alarm"
    used_nonces: "Callable[[], UsedNonces] | None" = None
    """Makes the record of answers that count once; None for a gateway that asks no such questions."""


def build_aws_adapters(settings: GatewaySettings, telemetry: Telemetry) -> GatewayAdapters:
    clients = AwsClients()
    dynamodb, table, s3 = clients.dynamodb, settings.registry_table, clients.s3
    clock = SystemClock()
    values = S3Values(s3, settings.content_bucket)
    return GatewayAdapters(
        api_keys=DynamoApiKeys(dynamodb, table),
        issuer_key_sets=DynamoIssuerKeySets(dynamodb, table),
        key_set_source=HttpKeySetSource(),
        master_keys=SecretMasterKeys(clients.secrets, settings.master_secret_arn),
        long_answers=S3Answers(s3, settings.content_bucket),
        function_states=DynamoFunctionStates(dynamodb, table, settings.tuning),
        placed_functions=DynamoPlacedFunctions(dynamodb, table),
        revisions=DynamoRevisionRows(dynamodb, table, settings.tuning),
        breakers=DynamoBreakers(dynamodb, table),
        grants=lambda: _build_grants(dynamodb, table),
        deployment_lists=lambda: _build_deployment_lists(dynamodb, table),
        content=DynamoContentStore(dynamodb, table, S3ChangeBatchStore(s3, settings.content_bucket), settings.scopes),
        bodies=S3Bodies(s3, settings.content_bucket),
        values=values,
        definitions=DynamoDefinitionTexts(dynamodb, table, values),
        instances=lambda: _build_instance_store(dynamodb, settings.workflows_table, values),
        run_lists=lambda: _build_run_lists(dynamodb, settings.workflows_table),
        step_executors=dict,
        pause=_build_pause,
        lease_margin=settings.lease_margin,
        public_url=settings.public_url,
        link=BotoLambdaTransport(clients.lambdas, clock=clock, log_abandoned_call=telemetry.log_abandoned_call),
        clock=clock,
        timestamps=SystemTimestamps(),
        ids=RandomIds(),
        alarm=alarm,
        used_nonces=lambda: _build_used_nonces(dynamodb, table),
    )


# Imported at the first call that needs it: the workflow engine takes a tenth of a cold start to import.


def _build_instance_store(
    dynamodb: "DynamoDBClient", table: str, values: "TextStore"
) -> "workflow_ports.InstanceStore":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.build_instance_store(dynamodb, table, values)


def _build_run_lists(dynamodb: "DynamoDBClient", table: str) -> "workflow_ports.RunLists":
    from signpost.adapters.dynamodb.run_lists import DynamoRunLists  # noqa: PLC0415 - as above

    return DynamoRunLists(dynamodb, table)


def _build_grants(dynamodb: "DynamoDBClient", table: str) -> "GrantStore":
    from signpost.adapters.dynamodb.grants import DynamoGrants  # noqa: PLC0415 - few gateways need it

    return DynamoGrants(dynamodb, table)


def _build_deployment_lists(dynamodb: "DynamoDBClient", table: str) -> "DeploymentListStore":
    from signpost.adapters.dynamodb.deployment_lists import DynamoDeploymentLists  # noqa: PLC0415 - few gateways need it

    return DynamoDeploymentLists(dynamodb, table)


def _build_used_nonces(dynamodb: "DynamoDBClient", table: str) -> "UsedNonces":
    from signpost.adapters.dynamodb.used_nonces import DynamoUsedNonces  # noqa: PLC0415 - few answers count once

    return DynamoUsedNonces(dynamodb, table)


def _build_pause() -> "workflow_ports.Pause":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.build_pause()
