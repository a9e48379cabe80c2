"""The worker function."""

from collections.abc import Mapping
from functools import cache

import boto3

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import DynamoBreakers, DynamoFunctionStates, DynamoRevisionRows
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.ids import RandomIds
from signpost.adapters.lambdas import LambdaLink
from signpost.adapters.s3 import S3Values
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.adapters.sqs import SqsQueue
from signpost.execution.revisions import RevisionView
from signpost.policy.access import Unrestricted
from signpost.policy.key_ring import KeyRing
from signpost.ports import Clock
from signpost.registry.catalogue import CatalogueView
from signpost.registry.catalogue_access import CatalogueAccess
from signpost.registry.deliveries import Backoff
from signpost.settings import WorkerSettings, worker_settings
from signpost.telemetry import Telemetry
from signpost.wiring import workflows
from signpost.wiring.calling import Calling, calling
from signpost.wiring.clients import CLIENT, LONG_CALLS
from signpost.worker import Worker
from signpost.workflow.ports import Machine
from signpost.workflow.waking import Waker

LATER_AND_LATER = Backoff(first=10, longest=300)
"""With the attempts that the template allows: two and a half minutes. What is due by then, the sweeper sends anew."""


def worker(environment: Mapping[str, str]) -> Worker:
    return composed(environment, LATER_AND_LATER, machines={})


def composed(environment: Mapping[str, str], backoff: Backoff, machines: Mapping[str, Machine]) -> Worker:
    """The machines are beside functions and workflows, by kind."""
    settings, clock, telemetry = worker_settings(environment), SystemClock(), Telemetry("worker")
    return Worker(
        wakeful=_waker(settings, clock, telemetry, machines),
        queue=SqsQueue(cache(lambda: boto3.client("sqs", config=CLIENT)), settings.work_queue),
        backoff=backoff,
        clock=clock,
        telemetry=telemetry,
    )


def _waker(settings: WorkerSettings, clock: Clock, telemetry: Telemetry, machines: Mapping[str, Machine]) -> Waker:
    dynamodb, table = boto3.client("dynamodb", config=CLIENT), settings.registry_table
    s3, bucket = cache(lambda: boto3.client("s3", config=CLIENT)), settings.content_bucket
    values = S3Values(s3, bucket)
    revisions = RevisionView(rows=DynamoRevisionRows(dynamodb, table), clock=clock)
    catalogue = CatalogueView(revisions=revisions, texts=values)
    # Who may start a workflow was asked by who let it be started.
    accesses = Unrestricted()
    access = CatalogueAccess(catalogue=catalogue, accesses=accesses)
    calls = _calling(settings, clock, telemetry)
    driven = workflows.driven(
        definitions=workflows.definitions(
            catalogue, access, accesses.uses, DynamoDefinitionTexts(dynamodb, table, values)
        ),
        instances=workflows.instances(dynamodb, settings.workflows_table, values),
        machines={**workflows.machines(calls), **machines},
        clock=clock,
        ids=RandomIds(),
        pause=workflows.pause(),
        lease_margin=settings.lease_margin,
    )
    return driven.waker


def _calling(settings: WorkerSettings, clock: Clock, telemetry: Telemetry) -> Calling:
    dynamodb, table = boto3.client("dynamodb", config=CLIENT), settings.registry_table
    secrets = cache(lambda: boto3.client("secretsmanager", config=CLIENT))
    lambdas = cache(lambda: boto3.client("lambda", config=LONG_CALLS))
    return calling(
        function_states=DynamoFunctionStates(dynamodb, table),
        breakers=DynamoBreakers(dynamodb, table),
        link=LambdaLink(lambdas, clock=clock, left_behind=telemetry.left_behind),
        keys=KeyRing(store=SecretMasterKeys(secrets, settings.master_secret_arn), clock=clock),
        clock=clock,
        ids=RandomIds(),
        telemetry=telemetry,
    )
