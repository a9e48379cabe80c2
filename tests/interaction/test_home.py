"""gateway.home: the catalogue of the caller's tenant, in pages, each item with its link."""

from typing import Any

import pytest

from signpost.model import CatalogueItem, MasterKeys
from signpost.signing.key_ring import KEYS_LIFETIME
from tests.support.memory_gateway import MemoryGateway

WORKFLOW = CatalogueItem("deploy_pipeline", "workflow", "Deploy Pipeline", "Lint, test, deploy.", ("deploy",))
CAPABILITY = CatalogueItem("github.list_issues", "capability", "List GitHub issues")


@pytest.fixture
def gateway() -> MemoryGateway:
    return MemoryGateway()


def call_home(gateway: MemoryGateway, *, tenant: str = "default", subject: str = "somebody", **arguments: Any) -> Any:
    credential = gateway.make_token(tenant=tenant, sub=subject)
    answer = gateway.request("tools/call", {"name": "gateway.home", "arguments": arguments}, credential=credential)
    return answer.json["result"]


def test_every_item_has_a_start_link(gateway: MemoryGateway) -> None:
    gateway.store_catalogue("default", CAPABILITY, WORKFLOW)
    workflow, capability = call_home(gateway)["structuredContent"]["items"]
    assert workflow == {
        "id": "deploy_pipeline",
        "kind": "workflow",
        "title": "Deploy Pipeline",
        "description": "Lint, test, deploy.",
        "tags": ["deploy"],
        "links": [
            {"rel": "start", "method": "workflow.start", "args": {"definitionId": "deploy_pipeline", "input": {}}}
        ],
    }
    (link,) = capability["links"]
    assert link["args"] == {"definitionId": "proxy_default", "input": {"capability": "github.list_issues"}}


@pytest.mark.invariant(7)
def test_a_tenant_sees_its_own_catalogue_only(gateway: MemoryGateway) -> None:
    gateway.store_catalogue("acme", CAPABILITY)
    assert call_home(gateway)["structuredContent"]["items"] == []
    assert len(call_home(gateway, tenant="acme")["structuredContent"]["items"]) == 1


@pytest.mark.invariant(9)
def test_a_publication_is_seen_within_two_seconds(gateway: MemoryGateway) -> None:
    call_home(gateway)
    gateway.store_catalogue("default", CAPABILITY)
    assert call_home(gateway)["structuredContent"]["items"] == []
    gateway.clock.advance(2)
    assert len(call_home(gateway)["structuredContent"]["items"]) == 1


def publish_many(gateway: MemoryGateway, number: int) -> list[str]:
    items = [CatalogueItem(f"capability.{index:04}", "capability", f"Number {index}") for index in range(number)]
    gateway.store_catalogue("default", *items)
    return [item.id for item in items]


def test_two_hundred_items_are_one_page(gateway: MemoryGateway) -> None:
    publish_many(gateway, 200)
    answer = call_home(gateway)["structuredContent"]
    assert len(answer["items"]) == 200
    assert "nextCursor" not in answer


def test_a_long_catalogue_is_read_page_by_page(gateway: MemoryGateway) -> None:
    published = publish_many(gateway, 450)
    seen: list[str] = []
    arguments: Any = {}
    for _page in range(3):
        answer = call_home(gateway, **arguments)["structuredContent"]
        seen += [item["id"] for item in answer["items"]]
        cursors: list[Any] = [link["args"] for link in answer["links"] if link["rel"] == "next"]
        arguments = cursors[0] if cursors else {}
    assert seen == published
    assert arguments == {}


def cursor_of(gateway: MemoryGateway) -> str:
    publish_many(gateway, 201)
    return call_home(gateway)["structuredContent"]["nextCursor"]


@pytest.mark.invariant(10)
def test_a_cursor_of_another_principal_is_refused(gateway: MemoryGateway) -> None:
    cursor = cursor_of(gateway)
    assert call_home(gateway, cursor=cursor)["isError"] is False
    refused = call_home(gateway, subject="another", cursor=cursor)
    assert refused["isError"] is True
    assert refused["structuredContent"]["links"][0] == {"rel": "home", "method": "gateway.home", "args": {}}


@pytest.mark.invariant(10)
@pytest.mark.parametrize("pattern", ["{}x", "x{}", "", "a.b", "é.", "{0}.{0}"])
def test_a_changed_cursor_is_refused(gateway: MemoryGateway, pattern: str) -> None:
    assert call_home(gateway, cursor=pattern.format(cursor_of(gateway)))["isError"] is True


def test_a_cursor_survives_one_rotation_of_the_keys_and_not_two(gateway: MemoryGateway) -> None:
    cursor = cursor_of(gateway)
    gateway.adapters.master_keys.write(MasterKeys("second", "master"))
    gateway.clock.advance(10)
    assert call_home(gateway, cursor=cursor)["isError"] is False
    gateway.adapters.master_keys.write(MasterKeys("third", "second"))
    gateway.clock.advance(KEYS_LIFETIME)
    assert call_home(gateway, cursor=cursor)["isError"] is True


def test_a_cursor_signed_after_a_rotation_is_accepted_by_a_gateway_with_old_keys(gateway: MemoryGateway) -> None:
    cursor_of(gateway)  # this gateway has read the keys
    other = MemoryGateway()
    other.adapters.master_keys.write(MasterKeys("second", "master"))
    cursor = cursor_of(other)
    gateway.adapters.master_keys.write(MasterKeys("second", "master"))
    gateway.clock.advance(10)
    assert call_home(gateway, cursor=cursor)["isError"] is False


def test_a_cursor_that_is_no_text_is_refused_by_name(gateway: MemoryGateway) -> None:
    refused = call_home(gateway, cursor=7)
    assert (refused["isError"], "cursor" in refused["content"][0]["text"]) == (True, True)
