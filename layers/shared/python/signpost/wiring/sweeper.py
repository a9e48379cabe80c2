"""The sweeper function."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import boto3

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb.due import DynamoDue
from signpost.adapters.dynamodb.references import DynamoReferences
from signpost.adapters.s3 import S3Publications
from signpost.adapters.s3_versions import S3KeptObjects
from signpost.adapters.sqs import SqsWorkQueue
from signpost.ports import Clock
from signpost.registry.collection import Ages
from signpost.settings import SweeperSettings, sweeper_settings
from signpost.sweeper import DueSweeper, Sweeper, SweeperDoor
from signpost.telemetry import Telemetry
from signpost.wiring.clients import CLIENT

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def sweeper(environment: Mapping[str, str]) -> SweeperDoor:
    return composed(environment, Ages())


def composed(environment: Mapping[str, str], ages: Ages) -> SweeperDoor:
    settings, clock, telemetry = sweeper_settings(environment), SystemClock(), Telemetry("sweeper")
    dynamodb = boto3.client("dynamodb", config=CLIENT)
    due = DueSweeper(
        due=DynamoDue(dynamodb, settings.workflows_table),
        queue=SqsWorkQueue(cache(lambda: boto3.client("sqs", config=CLIENT)), settings.work_queue),
        clock=clock,
        telemetry=telemetry,
    )
    return SweeperDoor(sweeper=_sweeper(settings, dynamodb, clock, telemetry, ages), due=due)


def _sweeper(
    settings: SweeperSettings, dynamodb: "DynamoDBClient", clock: Clock, telemetry: Telemetry, ages: Ages
) -> Sweeper:
    client = cache(lambda: boto3.client("s3", config=CLIENT))
    publications = S3Publications(client, settings.content_bucket)
    return Sweeper(
        references=DynamoReferences(dynamodb, settings.registry_table, publications, settings.scopes),
        objects=S3KeptObjects(client, settings.content_bucket),
        clock=clock,
        telemetry=telemetry,
        ages=ages,
    )
