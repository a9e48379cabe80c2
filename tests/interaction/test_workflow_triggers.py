"""Triggers that start workflows: a change starts one run for each subscriber, with the event as its input."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest

from signpost.content.api.errors import RegistryRefusal
from signpost.content.deliveries import find_workflow_delivery
from signpost.entrypoints.change_fanout import ChangeFanout, SubscriptionCache
from signpost.entrypoints.content_relay import content_bus_event
from signpost.telemetry import Telemetry
from signpost.workflow.wakes import WakeMessage
from tests.support.scheduled_gateway import ScheduledGateway

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATES: Mapping[str, Any] = {"open": {"transitions": {"close": {"target": "done"}}}, "done": {"terminal": True}}
REVIEW: Mapping[str, Any] = {"initialState": "open", "states": STATES}
TRIGGER: Mapping[str, Any] = {"trigger_type": "skills::on-change", "workflow": "review"}


class _Texts:
    """A queue that keeps the texts of its messages."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def put(self, text: str) -> None:
        self.texts.append(text)

    def put_off(self, receipt: str, seconds: int) -> None:
        raise AssertionError((receipt, seconds))


class TriggeredGateway(ScheduledGateway):
    """Passes the changes of content on, as the bus and the change fan-out do."""

    def __init__(self) -> None:
        super().__init__(NOON)
        self.deliveries, self.messages = _Texts(), _Texts()

    def change(self, skill: str) -> Sequence[str]:
        """Publish a document, and return the messages to the workflow worker that its events cause."""
        before = len(self.events)
        self.publish(skills=[{"id": skill, "skill": f"# {skill}\n\nA document.\n"}])
        return self.pass_on(self.events[before:])

    def pass_on(self, events: Sequence[Any]) -> Sequence[str]:
        before = len(self.messages.texts)
        content: Any = self.gateway.adapters.content
        fanout = ChangeFanout(
            subscribers=SubscriptionCache(content, self.gateway.adapters.revisions),
            queue=self.deliveries,
            work=self.messages,
            telemetry=Telemetry("triggered-fanout"),
        )
        bodies = [_bus_text(event) for event in events]
        records = [{"messageId": str(number), "body": body} for number, body in enumerate(bodies)]
        assert fanout.handle({"Records": records}, "r") == {"batchItemFailures": []}
        return self.messages.texts[before:]

    def process(self, *texts: str) -> Sequence[str]:
        """Have the worker process messages, and return the failed ones."""
        failed: list[str] = []
        for text in texts:
            record = {"messageId": text, "receiptHandle": "r", "body": text}
            record |= {"attributes": {"ApproximateReceiveCount": "1"}}
            answer: Any = self.worker.handle({"Records": [record]}, 900_000, "r")
            failed += [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        return failed

    @property
    def events(self) -> Sequence[Any]:
        content: Any = self.gateway.adapters.content
        return content.events


def _bus_text(event: Any) -> str:
    fields = asdict(content_bus_event(event))
    return json.dumps({
        "source": fields["source"],
        "detail-type": fields["type"],
        "detail": json.loads(fields["detail"]),
        "resources": list(fields["resources"]),
    })  # fmt: skip


def subscribe(**fields: Any) -> TriggeredGateway:
    world = TriggeredGateway()
    world.publish(workflows={"review": REVIEW}, triggers=[{**TRIGGER, **fields}])
    return world


def test_a_change_starts_a_workflow_with_the_event_as_its_input() -> None:
    world = subscribe()
    messages = world.change("handbook")
    assert world.process(*messages) == []
    (run,) = world.runs
    assert (run.definition_id, run.input) == ("review", {"op": "register", "id": "handbook"})
    assert (run.started_by, run.starter_issuer) == ("trigger", "signpost:events")
    assert world.deliveries.texts == [], "it is no message of the delivery function"


@pytest.mark.invariant(137)
def test_an_event_that_arrives_twice_starts_one_run() -> None:
    world = subscribe()
    before = len(world.events)
    messages = world.change("handbook")
    repeated = world.pass_on(world.events[before:])
    assert world.process(*messages, *messages, *repeated) == []
    assert len(world.runs) == 1
    assert world.process(*world.change("handbook")) == []
    assert len(world.runs) == 2, "another change of the same document is another event"


def test_metadata_of_a_trigger_is_in_the_input() -> None:
    world = subscribe(metadata={"team": "docs"})
    world.process(*world.change("handbook"))
    assert world.runs[0].input == {"op": "register", "id": "handbook", "metadata": {"team": "docs"}}


@pytest.mark.invariant(136)
def test_policy_decides_about_the_principal_of_triggers() -> None:
    world = subscribe()
    rule = {"kind": "deny", "who": ["subject:trigger"], "what": ["workflow:review"]}
    world.publish(policies={"no": rule})
    (message,) = world.change("handbook")
    assert world.process(message) == [message], "it is received again, and kept if it fails in all attempts"
    assert world.runs == []
    world.publish(prune=True, policies={})
    assert world.process(message) == []
    assert len(world.runs) == 1


def test_an_input_that_the_workflow_refuses_fails_the_message() -> None:
    world = TriggeredGateway()
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": False}
    world.publish(workflows={"review": {**REVIEW, "inputSchema": schema}}, triggers=[TRIGGER])
    (message,) = world.change("handbook")
    assert world.process(message) == [message]
    assert world.runs == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {**TRIGGER, "workflow": "reviev"},
            "There is no workflow 'reviev' after this publication. Did you mean 'review'?",
        ),
        ({**TRIGGER, "function_id": "a::b"}, "either `function_id` or `workflow`, not both"),
        ({**TRIGGER, "timeout_ms": 5}, "has no effect on a workflow"),
        ({**TRIGGER, "workflow": "proxy_default"}, "an event chooses no capability"),
        ({**TRIGGER, "metadata": []}, "`metadata` must be an object"),
        ({"trigger_type": "skills::on-change", "function_id": "a::b", "timeout_ms": 0}, "from 1 to 55000"),
        ({"trigger_type": "skills::on-change", "function_id": "a::b", "timeout_ms": True}, "from 1 to 55000"),
    ],
)
def test_a_trigger_that_cannot_work_is_not_published(entry: Mapping[str, Any], message: str) -> None:
    world = TriggeredGateway()
    assert message in world.refuse(workflows={"review": REVIEW}, triggers=[entry])


def test_the_workflow_may_have_been_published_before() -> None:
    world = TriggeredGateway()
    world.publish(workflows={"review": REVIEW})
    world.publish(triggers=[TRIGGER])
    assert "There is no workflow 'review'" in world.refuse(prune=True, workflows={}, triggers=[TRIGGER])


def test_triggers_of_both_kinds_are_listed_and_pruned_together() -> None:
    function = {"trigger_type": "skills::on-change", "function_id": "review", "timeout_ms": 500, "metadata": {"a": 1}}
    world = TriggeredGateway()
    world.publish(workflows={"review": REVIEW}, triggers=[TRIGGER, function])
    listed: Any = world.call("manifest::subscriptions", {})
    assert not isinstance(listed, RegistryRefusal)
    entries = [{name: entry[name] for name in entry if name != "registered_at"} for entry in listed["triggers"]]
    assert entries == [{**function, "config": {}}, {**TRIGGER, "config": {}}]
    assert world.plan(prune=True, triggers=[TRIGGER])["triggers"]["removed"] == ["trigger skills::on-change review"]
    assert world.plan(triggers=[{**function, "metadata": {}}])["triggers"]["changed"] != []
    assert world.publish(prune=True, triggers=[])["triggers"]["removed"] == [
        "trigger skills::on-change review",
        "workflow skills::on-change review",
    ]


def test_a_wake_is_no_delivery() -> None:
    assert find_workflow_delivery(WakeMessage("acme", "wf_a").text) is None
