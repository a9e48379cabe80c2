"""The composition of the content relay."""

from collections.abc import Mapping, Sequence
from typing import Any

from signpost.adapters.dynamodb.outbox import events_of
from signpost.adapters.eventbridge import EventBridge
from signpost.adapters.s3 import S3ChangeBatchStore
from signpost.content.model import ChangeEvent
from signpost.entrypoints.content_relay import ContentRelay
from signpost.settings import content_relay_settings
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import AwsClients


def build_content_relay(environment: Mapping[str, str]) -> ContentRelay:
    settings = content_relay_settings(environment)
    clients = AwsClients()
    clients.events()  # made at init: every invocation needs it
    change_batches = S3ChangeBatchStore(clients.s3, settings.content_bucket)

    def read_events(image: Mapping[str, Any]) -> Sequence[ChangeEvent]:
        return events_of(image, change_batches)

    return ContentRelay(
        events_of=read_events, bus=EventBridge(clients.events, settings.event_bus), telemetry=Telemetry("relay")
    )
