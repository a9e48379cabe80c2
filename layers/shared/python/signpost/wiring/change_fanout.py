"""The composition of the change fan-out."""

from collections.abc import Mapping
from functools import cache

import boto3

from signpost.adapters.dynamodb import DynamoContentStore, DynamoRevisionRows
from signpost.adapters.s3 import S3ChangeBatchStore
from signpost.adapters.sqs import SqsQueue
from signpost.entrypoints.change_fanout import ChangeFanout, SubscriptionCache
from signpost.settings import change_fanout_settings
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import CLIENT_CONFIG


def build_change_fanout(environment: Mapping[str, str]) -> ChangeFanout:
    settings = change_fanout_settings(environment)
    dynamodb, sqs = boto3.client("dynamodb", config=CLIENT_CONFIG), boto3.client("sqs", config=CLIENT_CONFIG)
    change_batches = S3ChangeBatchStore(
        cache(lambda: boto3.client("s3", config=CLIENT_CONFIG)), settings.content_bucket
    )
    content = DynamoContentStore(dynamodb, settings.registry_table, change_batches, settings.scopes)
    return ChangeFanout(
        subscribers=SubscriptionCache(content, DynamoRevisionRows(dynamodb, settings.registry_table)),
        queue=SqsQueue(lambda: sqs, settings.delivery_queue),
        telemetry=Telemetry("subscriber"),
    )
