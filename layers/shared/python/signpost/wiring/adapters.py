"""Which adapter stands behind which port of a gateway, in an AWS account."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

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
)
from signpost.records import dataclass
from signpost.settings import GatewaySettings
from signpost.telemetry import Telemetry
from signpost.wiring.clients import CALLS, CLIENT, SIGNED_URLS

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

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


# The engine behind workflows takes a tenth of a cold start to import, and waits for the first call that needs it.


def _instances(dynamodb: "DynamoDBClient", table: str, values: Texts) -> "workflow_ports.Instances":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.instances(dynamodb, table, values)


def _pause() -> "workflow_ports.Pause":
    from signpost.wiring import workflows  # noqa: PLC0415 - as above

    return workflows.pause()
