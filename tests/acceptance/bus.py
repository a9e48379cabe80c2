"""What the stack tells on its bus, as a queue of another stack hears it."""

import json
import threading
import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Self

from tests.acceptance.outcomes import CaseNotPlayed
from tests.support.laptop import Laptop

PATIENCE = 60.0
"""Seconds for an event to come."""


class EventOverdue(CaseNotPlayed):
    """An event that had to come did not."""


class EventRecorder:
    """Every event since it was opened, by tenant and sequence number. A change has one number and one event, so
    whoever has all numbers up to one has heard everything that happened before it."""

    def __init__(self, laptop: Laptop, bus: str) -> None:
        self._sqs = laptop.client("sqs")
        self._heard: dict[str, dict[int, Any]] = defaultdict(dict)
        self._news = threading.Condition()
        self._queue = self._subscribed(laptop, bus)
        self._ended = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._listener.join()

    def until(self, tenant: str, last: Any) -> Sequence[Any]:
        """The tenant's events in the order of the changes, up to this one. Raises Overdue."""
        with self._news:
            if not self._news.wait_for(lambda: self._is_complete(tenant, last), PATIENCE):
                raise EventOverdue(f"no {last} after {PATIENCE:.0f} s; there were {self._in_order(tenant)}")
            return self._in_order(tenant)

    def _is_complete(self, tenant: str, last: Any) -> bool:
        heard = self._heard[tenant]
        return last in heard.values() and len(heard) == max(heard)

    def _in_order(self, tenant: str) -> Sequence[Any]:
        return [event for _, event in sorted(self._heard[tenant].items())]

    def _listen(self) -> None:
        while not self._ended.is_set():
            answer = self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            for message in answer.get("Messages", []):
                self._hear(json.loads(message["Body"]))
                self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])

    def _hear(self, event: Any) -> None:
        """Twice is once: delivery is at least once."""
        names = [resource.removeprefix("urn:signpost:").partition(":") for resource in event["resources"]]
        found = {kind: value for kind, _, value in names}
        if "tenant" not in found:
            return  # it is about what the deployment ships
        with self._news:
            self._heard[found["tenant"]][int(found["seq"])] = {"type": event["detail-type"], "payload": event["detail"]}
            self._news.notify_all()

    def _subscribed(self, laptop: Laptop, bus: str) -> str:
        name = f"acceptance-{uuid.uuid4().hex[:8]}"
        queue = self._sqs.create_queue(QueueName=name)["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]
        pattern = {"source": ["signpost"], "detail-type": ["skills::on-change", "prompts::on-change"]}
        add_target(laptop, bus, name, pattern, attributes["QueueArn"])
        return queue


def add_target(laptop: Laptop, bus: str, name: str, pattern: Any, target: str) -> None:
    """A rule of this name, with one target."""
    events = laptop.client("events")
    events.put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "target", "Arn": target}])
