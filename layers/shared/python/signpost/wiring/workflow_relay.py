"""The composition of the workflow relay."""

from collections.abc import Mapping

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb.due import wakes_in
from signpost.adapters.dynamodb.workflow_stream import workflow_events_in
from signpost.adapters.eventbridge import EventBridge
from signpost.adapters.sqs import SqsWorkQueue
from signpost.entrypoints.workflow_relay import StreamReader, WorkflowRelay
from signpost.settings import workflow_relay_settings
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import AwsClients


def build_workflow_relay(environment: Mapping[str, str]) -> WorkflowRelay:
    settings = workflow_relay_settings(environment)
    clients = AwsClients()
    for make_client in (clients.events, clients.sqs):
        make_client()  # at init: nearly every invocation needs them
    return WorkflowRelay(
        reader=StreamReader(events=workflow_events_in, wakes=wakes_in),
        bus=EventBridge(clients.events, settings.event_bus),
        queue=SqsWorkQueue(clients.sqs, settings.work_queue),
        clock=SystemClock(),
        telemetry=Telemetry("herald"),
    )
