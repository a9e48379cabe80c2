"""The composition of the sweeper function."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import boto3

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
from signpost.wiring.aws_clients import CLIENT_CONFIG

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.ports import Clock


def build_sweeper(environment: Mapping[str, str]) -> SweeperHandler:
    return compose_sweeper(environment, RetentionAges())


def compose_sweeper(environment: Mapping[str, str], ages: RetentionAges) -> SweeperHandler:
    settings, clock, telemetry = sweeper_settings(environment), SystemClock(), Telemetry("sweeper")
    dynamodb = boto3.client("dynamodb", config=CLIENT_CONFIG)
    due = DueSweeper(
        due=DynamoDue(dynamodb, settings.workflows_table),
        queue=SqsWorkQueue(cache(lambda: boto3.client("sqs", config=CLIENT_CONFIG)), settings.work_queue),
        clock=clock,
        telemetry=telemetry,
    )
    return SweeperHandler(sweeper=_build_content_sweeper(settings, dynamodb, clock, telemetry, ages), due=due)


def _build_content_sweeper(
    settings: SweeperSettings, dynamodb: "DynamoDBClient", clock: "Clock", telemetry: Telemetry, ages: RetentionAges
) -> ContentSweeper:
    client = cache(lambda: boto3.client("s3", config=CLIENT_CONFIG))
    change_batches = S3ChangeBatchStore(client, settings.content_bucket)
    return ContentSweeper(
        references=DynamoReferences(dynamodb, settings.registry_table, change_batches, settings.scopes),
        objects=S3KeptObjects(client, settings.content_bucket),
        clock=clock,
        telemetry=telemetry,
        ages=ages,
    )
