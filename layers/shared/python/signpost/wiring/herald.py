"""The herald function."""

from collections.abc import Mapping

import boto3

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb.due import wakes_in
from signpost.adapters.dynamodb.workflow_stream import happened_in
from signpost.adapters.eventbridge import EventBridge
from signpost.adapters.sqs import SqsWorkQueue
from signpost.herald import Herald, Reading
from signpost.settings import herald_settings
from signpost.telemetry import Telemetry
from signpost.wiring.clients import CLIENT


def herald(environment: Mapping[str, str]) -> Herald:
    settings = herald_settings(environment)
    bus, sqs = boto3.client("events", config=CLIENT), boto3.client("sqs", config=CLIENT)
    return Herald(
        reading=Reading(happened=happened_in, wakes=wakes_in),
        bus=EventBridge(lambda: bus, settings.event_bus),
        queue=SqsWorkQueue(lambda: sqs, settings.work_queue),
        clock=SystemClock(),
        telemetry=Telemetry("herald"),
    )
