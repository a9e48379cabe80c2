"""The sweeper function."""

from collections.abc import Mapping
from functools import cache

import boto3

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb.references import DynamoReferences
from signpost.adapters.s3 import S3Publications
from signpost.adapters.s3_versions import S3KeptObjects
from signpost.registry.collection import Ages
from signpost.settings import sweeper_settings
from signpost.sweeper import Sweeper
from signpost.telemetry import Telemetry
from signpost.wiring.clients import CLIENT


def sweeper(environment: Mapping[str, str]) -> Sweeper:
    return composed(environment, Ages())


def composed(environment: Mapping[str, str], ages: Ages) -> Sweeper:
    settings = sweeper_settings(environment)
    client = cache(lambda: boto3.client("s3", config=CLIENT))
    publications = S3Publications(client, settings.content_bucket)
    dynamodb = boto3.client("dynamodb", config=CLIENT)
    return Sweeper(
        references=DynamoReferences(dynamodb, settings.registry_table, publications, settings.scopes),
        objects=S3KeptObjects(client, settings.content_bucket),
        clock=SystemClock(),
        telemetry=Telemetry("sweeper"),
        ages=ages,
    )
