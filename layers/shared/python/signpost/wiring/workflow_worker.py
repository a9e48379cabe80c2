"""The composition of the workflow worker."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import DynamoApiKeys, DynamoBreakers, DynamoFunctionStates, DynamoRevisionRows
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.timetables import DynamoTimetables
from signpost.adapters.ids import RandomIds
from signpost.adapters.lambdas import BotoLambdaTransport
from signpost.adapters.s3 import S3Values
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.adapters.sqs import SqsQueue
from signpost.catalogue.cache import CatalogueView
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.catalogue.policies import TenantPolicies
from signpost.catalogue.run_functions import HostedRunFunctions
from signpost.catalogue.schedules import CatalogueSchedules
from signpost.catalogue.step_policy import CurrentPolicy
from signpost.content.deliveries import Backoff
from signpost.entrypoints.workflow_worker import WorkflowWorker
from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.list_revisions import RevisionView
from signpost.policy.access import UnrestrictedAccess
from signpost.records import dataclass
from signpost.settings import WorkflowWorkerSettings, workflow_worker_settings
from signpost.signing.key_ring import KeyRing
from signpost.telemetry import Telemetry
from signpost.wiring import workflows
from signpost.wiring.aws_clients import LONG_CALL_CONFIG, AwsClients
from signpost.wiring.calling import CallServices, build_call_services
from signpost.workflow.running.step_rights import CurrentRights
from signpost.workflow.running.wakeups import Waker

if TYPE_CHECKING:
    from signpost.ports import Clock
    from signpost.workflow.ports import StepExecutor

WORK_BACKOFF = Backoff(first=10, longest=300)
"""The backoff of wake messages. With the attempts that the template allows it spans two and a half minutes; after that
the sweeper queues an instance that is due again."""


def build_worker(environment: Mapping[str, str]) -> WorkflowWorker:
    return compose_worker(environment, WORK_BACKOFF, step_executors={})


def compose_worker(
    environment: Mapping[str, str], backoff: Backoff, step_executors: Mapping[str, "StepExecutor"]
) -> WorkflowWorker:
    """Compose a worker, with step executors by kind beside those of functions and workflows."""
    settings, clock, telemetry = workflow_worker_settings(environment), SystemClock(), Telemetry("worker")
    clients = AwsClients(call_config=LONG_CALL_CONFIG)
    services = _build_services(settings, clients, clock, telemetry, step_executors)
    return WorkflowWorker(
        waker=services.waker,
        schedules=services.own_starts.schedules,
        events=services.own_starts.events,
        queue=SqsQueue(clients.sqs, settings.work_queue),
        backoff=backoff,
        clock=clock,
        telemetry=telemetry,
    )


@dataclass(frozen=True, slots=True)
class _WorkerServices:
    waker: Waker
    own_starts: workflows.OwnStarts


def _build_services(
    settings: WorkflowWorkerSettings,
    clients: AwsClients,
    clock: "Clock",
    telemetry: Telemetry,
    step_executors: Mapping[str, "StepExecutor"],
) -> _WorkerServices:
    dynamodb, table = clients.dynamodb, settings.registry_table
    values = S3Values(clients.s3, settings.content_bucket)
    revisions = RevisionView(rows=DynamoRevisionRows(dynamodb, table), clock=clock)
    catalogue = CatalogueView(revisions=revisions, texts=values)
    definitions = DynamoDefinitionTexts(dynamodb, table, values)
    calls = _build_call_services(settings, clients, clock, telemetry)
    policies = TenantPolicies(catalogue=catalogue, texts=definitions, notice=telemetry.log_denial)
    policy = CurrentPolicy(catalogue=catalogue, accesses=policies, functions=calls.functions)
    adapters = _build_adapters(settings, clients, clock, policy)
    functions = HostedRunFunctions(calls.functions)
    # No policy where the definitions of runs are found: `CurrentRights` decides before each attempt. A schedule or
    # a trigger starts only the workflows that policy allows its principal.
    services, offered = (
        workflows.build_workflow_services(
            adapters,
            workflows.build_definitions(
                catalogue, CatalogueAccess(catalogue=catalogue, accesses=accesses), functions, definitions
            ),
            lambda service: {**workflows.build_step_executors(calls, service, clock, adapters.ids), **step_executors},
        )
        for accesses in (UnrestrictedAccess(), policies)
    )
    own_starts = workflows.build_own_starts(
        adapters,
        CatalogueSchedules(catalogue),
        DynamoTimetables(dynamodb, settings.workflows_table),
        offered.workflows,
    )
    return _WorkerServices(services.waker, own_starts)


def _build_adapters(
    settings: WorkflowWorkerSettings, clients: AwsClients, clock: "Clock", policy: CurrentPolicy
) -> workflows.WorkflowAdapters:
    dynamodb, values = clients.dynamodb, S3Values(clients.s3, settings.content_bucket)
    return workflows.WorkflowAdapters(
        instances=workflows.build_instance_store(dynamodb, settings.workflows_table, values),
        clock=clock,
        ids=RandomIds(),
        pause=workflows.build_pause(),
        alarm=alarm,
        lease_margin=settings.lease_margin,
        rights=CurrentRights(
            principals=ApiKeyAuthenticator(keys=DynamoApiKeys(dynamodb, settings.registry_table), clock=clock),
            policy=policy,
        ),
    )


def _build_call_services(
    settings: WorkflowWorkerSettings, clients: AwsClients, clock: "Clock", telemetry: Telemetry
) -> CallServices:
    dynamodb, table = clients.dynamodb, settings.registry_table
    return build_call_services(
        function_states=DynamoFunctionStates(dynamodb, table),
        breakers=DynamoBreakers(dynamodb, table),
        link=BotoLambdaTransport(clients.lambdas, clock=clock, log_abandoned_call=telemetry.log_abandoned_call),
        keys=KeyRing(store=SecretMasterKeys(clients.secrets, settings.master_secret_arn), clock=clock),
        clock=clock,
        ids=RandomIds(),
        telemetry=telemetry,
    )
