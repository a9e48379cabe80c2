"""The relay function."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import boto3

from signpost.adapters.dynamodb.outbox import events_of
from signpost.adapters.eventbridge import EventBridge
from signpost.adapters.s3 import S3Publications
from signpost.content import ChangeEvent
from signpost.relay import Relay
from signpost.settings import relay_settings
from signpost.telemetry import Telemetry
from signpost.wiring.clients import CLIENT


def relay(environment: Mapping[str, str]) -> Relay:
    settings = relay_settings(environment)
    publications = S3Publications(cache(lambda: boto3.client("s3", config=CLIENT)), settings.content_bucket)

    def events(image: Mapping[str, Any]) -> Sequence[ChangeEvent]:
        return events_of(image, publications)

    bus = boto3.client("events", config=CLIENT)
    return Relay(events_of=events, bus=EventBridge(lambda: bus, settings.event_bus), telemetry=Telemetry("relay"))
