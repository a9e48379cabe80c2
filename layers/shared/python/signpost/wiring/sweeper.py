"""The composition of the sweeper function."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb.due import DynamoDue
from signpost.adapters.dynamodb.references import DynamoReferences
from signpost.adapters.s3 import S3ChangeBatchStore
from signpost.adapters.s3_versions import S3KeptObjects
from signpost.adapters.sqs import SqsWorkQueue
from signpost.content.retention import RetentionAges
from signpost.entrypoints.sweeper import ContentSweeper, DueSweeper, SweeperHandler
from signpost.settings import SweeperSettings, sweeper_settings
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import AwsClients

if TYPE_CHECKING:
    from signpost.ports import Clock


def build_sweeper(environment: Mapping[str, str]) -> SweeperHandler:
    return compose_sweeper(environment, RetentionAges())


def compose_sweeper(environment: Mapping[str, str], ages: RetentionAges) -> SweeperHandler:
    settings, clock, telemetry = sweeper_settings(environment), SystemClock(), Telemetry("sweeper")
    clients = AwsClients()
    due = DueSweeper(
        due=DynamoDue(clients.dynamodb, settings.workflows_table),
        queue=SqsWorkQueue(clients.sqs, settings.work_queue),
        clock=clock,
        telemetry=telemetry,
    )
    return SweeperHandler(sweeper=_build_content_sweeper(settings, clients, clock, telemetry, ages), due=due)


def _build_content_sweeper(
    settings: SweeperSettings, clients: AwsClients, clock: "Clock", telemetry: Telemetry, ages: RetentionAges
) -> ContentSweeper:
    change_batches = S3ChangeBatchStore(clients.s3, settings.content_bucket)
    return ContentSweeper(
        references=DynamoReferences(clients.dynamodb, settings.registry_table, change_batches, settings.scopes),
        objects=S3KeptObjects(clients.s3, settings.content_bucket),
        clock=clock,
        telemetry=telemetry,
        ages=ages,
    )
