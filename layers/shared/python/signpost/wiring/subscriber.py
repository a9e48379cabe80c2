"""The subscriber function."""

from collections.abc import Mapping
from functools import cache

import boto3

from signpost.adapters.dynamodb import DynamoContentStore, DynamoRevisionRows
from signpost.adapters.s3 import S3Publications
from signpost.adapters.sqs import SqsQueue
from signpost.settings import subscriber_settings
from signpost.subscriber import SubscriberDoor, Subscribers
from signpost.telemetry import Telemetry
from signpost.wiring.clients import CLIENT


def subscriber(environment: Mapping[str, str]) -> SubscriberDoor:
    settings = subscriber_settings(environment)
    dynamodb, sqs = boto3.client("dynamodb", config=CLIENT), boto3.client("sqs", config=CLIENT)
    publications = S3Publications(cache(lambda: boto3.client("s3", config=CLIENT)), settings.content_bucket)
    content = DynamoContentStore(dynamodb, settings.registry_table, publications, settings.scopes)
    return SubscriberDoor(
        subscribers=Subscribers(content, DynamoRevisionRows(dynamodb, settings.registry_table)),
        queue=SqsQueue(lambda: sqs, settings.delivery_queue),
        telemetry=Telemetry("subscriber"),
    )
