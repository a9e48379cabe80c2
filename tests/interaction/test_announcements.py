"""Changes that running functions announce: their events, and which of them are refused."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from signpost.adapters.memory import MemoryContentStore
from signpost.content.deliveries import deliveries_of, parse_change, principal_of
from signpost.content.model import BusEvent, ChangeEvent, Subscription
from signpost.contract import CallRequest, Result
from signpost.entrypoints.content_relay import content_bus_event
from signpost.model import JsonObject
from signpost.workflow.engine.actors import engine_principal
from tests.support.granting_gateway import TENANT, UNLOCK, GrantingGateway


@pytest.fixture
def yard() -> GrantingGateway:
    return GrantingGateway()


def events_of(yard: GrantingGateway) -> Sequence[ChangeEvent]:
    content = yard.gateway.adapters.content
    assert isinstance(content, MemoryContentStore)
    return content.events


def test_a_function_announces_that_a_list_changed(yard: GrantingGateway) -> None:
    before = yard.gateway.adapters.revisions.read(TENANT)
    for kind in ("tools", "prompts", "resources"):
        assert "result" in yard.perform("ann", "changed", list=kind)
    assert list(events_of(yard)) == [
        ChangeEvent(TENANT, number, "lists::on-change", "change", kind)
        for number, kind in enumerate(("tools", "prompts", "resources"), before.content + 1)
    ]
    assert yard.gateway.adapters.revisions.read(TENANT).content == before.content + 3


def test_a_function_announces_that_a_resource_changed(yard: GrantingGateway) -> None:
    assert yard.perform("ann", "resource_updated", uri="yard://map/x?a=1")["result"] == {"sequence": 1}
    (event,) = events_of(yard)
    assert event == ChangeEvent(TENANT, 1, "resources::on-change", "update", "yard://map/x?a=1")
    sent = content_bus_event(event)
    assert (sent.type, sent.detail) == ("resources::on-change", '{"op": "update", "uri": "yard://map/x?a=1"}')
    assert list(sent.resources) == ["yard://map/x?a=1", "urn:signpost:seq:1", f"urn:signpost:tenant:{TENANT}"]


def test_an_announcement_is_delivered_to_the_triggers_of_its_type(yard: GrantingGateway) -> None:
    yard.perform("ann", "changed", list="tools")
    sent = content_bus_event(events_of(yard)[0])
    change = parse_change({"detail-type": sent.type, "detail": _detail_of(sent), "resources": list(sent.resources)})
    assert change is not None
    assert change.version == 1, "its number is that of the content, by which subscriptions are remembered"
    subscriptions = [Subscription("trigger", kind, "a::b", "") for kind in ("lists::on-change", "resources::on-change")]
    (delivery,) = deliveries_of(change, subscriptions)
    assert delivery.arguments == {"op": "change", "list": "tools"}


def _detail_of(sent: BusEvent) -> JsonObject:
    return json.loads(sent.detail)


@pytest.mark.parametrize(
    ("action", "fields", "said"),
    [
        ("changed", {"list": "documents"}, "A list that changed is one of tools, prompts, resources."),
        ("changed", {}, "A list that changed is one of tools, prompts, resources."),
        ("changed", {"list": ["tools"]}, "A list that changed is one of tools, prompts, resources."),
        ("resource_updated", {}, "The URI of a resource is a text of at most 2048 characters."),
        ("resource_updated", {"uri": "x" * 2049}, "The URI of a resource is a text of at most 2048 characters."),
        ("resource_updated", {"uri": "map"}, "The URI of a resource that changed is not valid"),
        ("resource_updated", {"uri": "a:"}, "The URI of a resource that changed is not valid"),
        ("resource_updated", {"uri": "a://b c"}, "The URI of a resource that changed is not valid"),
        ("resource_updated", {"uri": "a://b\n"}, "The URI of a resource that changed is not valid"),
        ("resource_updated", {"uri": "iii://guide"}, "begins with iii:, which is reserved for the gateway."),
        ("resource_updated", {"uri": "SKILL://a"}, "begins with skill:, which is reserved for the gateway."),
    ],
)
def test_a_malformed_announcement_is_refused(yard: GrantingGateway, action: str, fields: Any, said: str) -> None:
    assert said in yard.perform("ann", action, **fields)["failure"]["message"]
    assert events_of(yard) == []


NOT_BY_ITSELF = (
    "A function that a trigger or a workflow calls by itself announces no changes: the event could call it again."
)


@pytest.mark.invariant(175)
def test_a_function_that_a_workflow_calls_by_itself_announces_nothing(yard: GrantingGateway) -> None:
    """A trigger may have started the workflow, and its announcement could start it again."""
    arguments: JsonObject = {"action": "changed", "fields": {"list": "tools"}}
    request = CallRequest(UNLOCK.function, arguments, engine_principal("acme"), yard.gateway.clock.now() + 20)
    assert isinstance(yard.gateway.composition.calling.executors.invoke(request), Result)
    assert yard.replies[-1]["failure"]["message"] == NOT_BY_ITSELF
    assert list(events_of(yard)) == []


@pytest.mark.invariant(175)
def test_a_function_that_a_trigger_calls_announces_nothing(yard: GrantingGateway) -> None:
    """Its announcement could call it again, and so on for ever."""
    yard.perform("ann", "changed", list="tools")
    sent = content_bus_event(events_of(yard)[0])
    change = parse_change({"detail-type": sent.type, "detail": _detail_of(sent), "resources": list(sent.resources)})
    assert change is not None
    (delivery,) = deliveries_of(change, [Subscription("trigger", "lists::on-change", UNLOCK.function, "")])
    arguments: JsonObject = {"action": "changed", "fields": {"list": "tools"}}
    request = CallRequest(UNLOCK.function, arguments, principal_of(delivery), yard.gateway.clock.now() + 20)
    assert isinstance(yard.gateway.composition.calling.executors.invoke(request), Result)
    assert "failure" in yard.replies[-1], yard.replies[-1]
    assert yard.replies[-1]["failure"]["message"] == NOT_BY_ITSELF
    assert len(events_of(yard)) == 1
