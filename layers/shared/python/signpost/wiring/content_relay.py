"""The composition of the content relay."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import boto3

from signpost.adapters.dynamodb.outbox import events_of
from signpost.adapters.eventbridge import EventBridge
from signpost.adapters.s3 import S3ChangeBatchStore
from signpost.content.model import ChangeEvent
from signpost.entrypoints.content_relay import ContentRelay
from signpost.settings import content_relay_settings
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import CLIENT_CONFIG


def build_content_relay(environment: Mapping[str, str]) -> ContentRelay:
    settings = content_relay_settings(environment)
    change_batches = S3ChangeBatchStore(
        cache(lambda: boto3.client("s3", config=CLIENT_CONFIG)), settings.content_bucket
    )

    def read_events(image: Mapping[str, Any]) -> Sequence[ChangeEvent]:
        return events_of(image, change_batches)

    bus = boto3.client("events", config=CLIENT_CONFIG)
    return ContentRelay(
        events_of=read_events, bus=EventBridge(lambda: bus, settings.event_bus), telemetry=Telemetry("relay")
    )
