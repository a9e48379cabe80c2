"""What the relay makes of the stream: every change reaches the bus, and what did not is shown to it again."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signpost.content.model import BusEvent, ChangeEvent
from signpost.entrypoints.content_relay import ContentRelay, content_bus_event
from signpost.entrypoints.stream_batch import BATCH_SIZE
from signpost.errors import Unavailable
from signpost.telemetry import Telemetry


class Bus:
    """Takes what its `refuses` does not name by sequence number."""

    def __init__(self, *refuses: int) -> None:
        self.refuses = {f"urn:signpost:seq:{number}" for number in refuses}
        self.calls: list[Sequence[BusEvent]] = []

    def put(self, events: Sequence[BusEvent]) -> Sequence[bool]:
        self.calls.append(events)
        return [event.resources[1] not in self.refuses for event in events]

    @property
    def sequences(self) -> list[int]:
        return [int(event.resources[1].rpartition(":")[2]) for call in self.calls for event in call]


def events_of(image: Mapping[str, Any]) -> Sequence[ChangeEvent]:
    if "fault" in image:
        raise image["fault"]
    return [ChangeEvent("acme", number, "skills::on-change", "register", f"s-{number}") for number in image["changes"]]


def record(number: int, *changes: int, fault: Exception | None = None) -> dict[str, Any]:
    image: dict[str, Any] = {"fault": fault} if fault else {"changes": changes}
    return {"eventName": "INSERT", "dynamodb": {"SequenceNumber": f"r-{number}", "NewImage": image}}


def relay_records(bus: Bus, *records: Mapping[str, Any]) -> Any:
    relay = ContentRelay(events_of=events_of, bus=bus, telemetry=Telemetry("relay-under-test"))
    return relay.handle({"Records": list(records)}, "request")["batchItemFailures"]


def test_events_are_sent_in_order_ten_at_a_time() -> None:
    bus = Bus()
    assert relay_records(bus, *(record(number, 2 * number, 2 * number + 1) for number in range(12))) == []
    assert bus.sequences == list(range(24))
    assert [len(call) for call in bus.calls] == [BATCH_SIZE, BATCH_SIZE, 4]


def test_s213_a_load_notice_has_operation_and_name() -> None:
    told = content_bus_event(ChangeEvent("acme", 7, "skills::registry", "load", "mail.send"))
    assert (told.type, json.loads(told.detail)) == ("skills::registry", {"op": "load", "name": "mail.send"})
    assert told.resources == ("urn:signpost:skill:mail.send", "urn:signpost:seq:7", "urn:signpost:tenant:acme")


def test_the_first_record_with_a_rejected_event_is_reported_as_failed() -> None:
    bus = Bus(3, 5)
    assert relay_records(bus, record(0, 1, 2), record(1, 3), record(2, 4), record(3, 5)) == [{"itemIdentifier": "r-1"}]


def test_a_publication_of_many_changes_is_one_record_and_many_events() -> None:
    bus = Bus()
    assert relay_records(bus, record(0, *range(1, 501))) == []
    assert bus.sequences == list(range(1, 501))
    assert relay_records(Bus(37), record(0, *range(1, 501))) == [{"itemIdentifier": "r-0"}]


@pytest.mark.parametrize("fault", [Unavailable("Overloaded."), KeyError("x")])
def test_a_fault_loses_no_earlier_event(fault: Exception) -> None:
    bus = Bus()
    first = [record(number, number) for number in range(BATCH_SIZE)]
    failed = relay_records(bus, *first, record(BATCH_SIZE, fault=fault))
    assert bus.sequences == list(range(BATCH_SIZE))
    assert [failure["itemIdentifier"] for failure in failed] in (["r-0"], [f"r-{BATCH_SIZE}"])


def test_a_bus_event_has_its_detail_and_its_resources() -> None:
    skill = content_bus_event(ChangeEvent("acme", 7, "skills::on-change", "unregister", "resend/email"))
    assert (skill.source, skill.type) == ("signpost", "skills::on-change")
    assert json.loads(skill.detail) == {"op": "unregister", "id": "resend/email"}
    assert skill.resources == ("iii://resend/email", "urn:signpost:seq:7", "urn:signpost:tenant:acme")
    prompt = content_bus_event(ChangeEvent(None, 8, "prompts::on-change", "register", "send-email"))
    assert json.loads(prompt.detail) == {"op": "register", "name": "send-email"}
    assert prompt.resources == ("urn:signpost:prompt:send-email", "urn:signpost:seq:8")
    workflow = content_bus_event(ChangeEvent("acme", 9, "workflows::on-change", "register", "deploy", "0f" * 32))
    assert json.loads(workflow.detail) == {"op": "register", "id": "deploy", "digest": "0f" * 32}
    assert workflow.resources[0] == "urn:signpost:workflow:deploy"
