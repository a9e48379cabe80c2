"""The composition of the change fan-out."""

from collections.abc import Mapping

from signpost.adapters.dynamodb import DynamoContentStore, DynamoRevisionRows
from signpost.adapters.s3 import S3ChangeBatchStore
from signpost.adapters.sqs import SqsQueue
from signpost.entrypoints.change_fanout import ChangeFanout, SubscriptionCache
from signpost.settings import change_fanout_settings
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import AwsClients


def build_change_fanout(environment: Mapping[str, str]) -> ChangeFanout:
    settings = change_fanout_settings(environment)
    clients = AwsClients()
    clients.sqs()  # made at init: nearly every invocation needs it
    change_batches = S3ChangeBatchStore(clients.s3, settings.content_bucket)
    content = DynamoContentStore(clients.dynamodb, settings.registry_table, change_batches, settings.scopes)
    return ChangeFanout(
        subscribers=SubscriptionCache(content, DynamoRevisionRows(clients.dynamodb, settings.registry_table)),
        queue=SqsQueue(clients.sqs, settings.delivery_queue),
        work=SqsQueue(clients.sqs, settings.work_queue),
        telemetry=Telemetry("subscriber"),
    )
