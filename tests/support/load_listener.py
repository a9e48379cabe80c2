"""Listens to the event bus of a deployed stack for the events of callable skills."""

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.bus import add_target
from tests.support.laptop import Laptop, Stack


@dataclass(frozen=True, slots=True)
class LoadListener:
    """The events about skills that the bus has sent so far."""

    sqs: Any
    queue: str
    heard: list[Any] = field(default_factory=list[Any])

    def receive_messages(self) -> None:
        """Takes what the queue has, or waits a second for it."""
        answer = self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10, WaitTimeSeconds=1)
        for message in answer.get("Messages", []):
            self.heard.append(json.loads(message["Body"]))
            self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])

    def read_events(self, *tenants: str) -> Sequence[Sequence[Any]]:
        """What each of the tenants was told, in any order."""
        self.receive_messages()
        return [sorted(self._of(tenant), key=str) for tenant in tenants]

    def _of(self, tenant: str) -> Iterator[Any]:
        return (event["detail"] for event in self.heard if f"urn:signpost:tenant:{tenant}" in event["resources"])


def build_load_listener(laptop: Laptop, stack: Stack) -> LoadListener:
    sqs, name = laptop.client("sqs"), f"loads-{uuid.uuid4().hex[:8]}"
    queue = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {"source": ["signpost"], "detail-type": ["skills::registry"]}
    add_target(laptop, stack.deployed.outputs["EventBusName"], name, pattern, arn)
    return LoadListener(sqs, queue)
