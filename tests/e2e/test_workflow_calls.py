"""What the tools cost: the calls to AWS of a gateway that is composed as on Lambda, counted on the emulator."""

import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import DynamoContentStore
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.instances import LONGEST_IN_A_ROW
from signpost.adapters.s3 import S3Publications, S3Values
from signpost.content import Scopes
from signpost.model import CatalogueItem
from signpost.registry.catalogue import CatalogueView
from tests.support.catalogues import put_in_place
from tests.support.counted import CountedGateway, counted_gateway
from tests.support.laptop import Laptop, Stack
from tests.support.manifests import publish

pytestmark = pytest.mark.cloud

READ, WRITTEN = {"Query": 1}, {"TransactWriteItems": 1}
HEAD, SNAPSHOT = {"GetItem": 1}, {"GetObject": 1}
REVALIDATED_AFTER = 2.1
MANY, LONGEST_COLD_SECONDS = 10_000, 0.150
MANIFEST: Mapping[str, Any] = {
    "version": 1,
    "workflows": {
        "loop": {
            "title": "Goes round",
            "initialState": "open",
            "states": {
                "open": {
                    "transitions": {
                        "next": {"target": "open", "output": {"said": "$.arguments.text"}, "inputSchema": {}},
                        "never": {"target": "open", "guards": [{"kind": "role", "role": "nobody"}]},
                    }
                }
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class Catalogued:
    """A tenant of a stack."""

    content: DynamoContentStore
    values: S3Values
    tenant: str
    key: str


@pytest.fixture(scope="module")
def tenant(laptop: Laptop, both: Stack) -> Catalogued:
    dynamodb, s3 = laptop.client("dynamodb"), laptop.client("s3")
    table, bucket = (both.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
    values = S3Values(lambda: s3, bucket)
    content = DynamoContentStore(dynamodb, table, S3Publications(lambda: s3, bucket), Scopes("skills", "prompts"))
    name = f"calls-{uuid.uuid4().hex[:8]}"
    publish(content, values, DynamoDefinitionTexts(dynamodb, table, values), name, MANIFEST)
    return Catalogued(content, values, name, laptop.key(both, name))


class Driver:
    """A client of a gateway that has answered before: nothing is read for the first time."""

    def __init__(self, gateway: CountedGateway, key: str) -> None:
        self._gateway = gateway
        self._key = key
        self.calls: Mapping[str, int] = {}
        self.call("workflow.start", definitionId="loop")

    def call(self, tool: str, **arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        answer, self.calls = self._gateway.ask(self._key, "tools/call", params)
        return answer.json["result"]["structuredContent"]

    def start(self) -> Any:
        return self.call("workflow.start", definitionId="loop")

    def submit(self, at: Any, transition: str, **arguments: Any) -> Any:
        known = {"workflowId": at["workflowId"], "expectedVersion": at["version"]}
        return self.call("workflow.submit", **known, transition=transition, arguments=arguments)


@pytest.fixture
def driver(laptop: Laptop, both: Stack, tenant: Catalogued) -> Iterator[Driver]:
    with counted_gateway(laptop, both) as gateway:
        yield Driver(gateway, tenant.key)


def test_a_start_is_one_read_and_one_transaction(driver: Driver) -> None:
    driver.start()
    assert driver.calls == HEAD | WRITTEN


def test_a_look_is_one_read_however_long_the_history(driver: Driver) -> None:
    at = driver.start()
    for _ in range(30):
        at = driver.submit(at, "next", text="a")
    assert driver.call("workflow.get", workflowId=at["workflowId"])["version"] == 31
    assert driver.calls == READ


def test_a_step_is_one_read_and_one_transaction(driver: Driver) -> None:
    driver.submit(driver.start(), "next", text="a")
    assert driver.calls == READ | WRITTEN


def test_a_refused_step_is_one_read_and_one_write(driver: Driver) -> None:
    at = driver.start()
    assert driver.submit(at, "never")["error"]["code"] == "GUARD_REJECTED"
    assert driver.calls == READ | {"PutItem": 1}
    driver.submit(at, "next", text="a")
    assert driver.submit(at, "next", text="b")["error"]["code"] == "STALE_WORKFLOW_VERSION"
    assert driver.calls == READ | {"PutItem": 1}


def test_a_long_value_is_one_call_for_an_object_each_time(driver: Driver) -> None:
    at = driver.submit(driver.start(), "next", text="a" * LONGEST_IN_A_ROW)
    assert driver.calls == READ | WRITTEN | {"PutObject": 1}
    driver.call("workflow.get", workflowId=at["workflowId"])
    assert driver.calls == READ | {"GetObject": 1}
    driver.submit(at, "next", text="short")
    assert driver.calls == READ | WRITTEN | {"GetObject": 1}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("gateway.home", {}), ("gateway.search", {"query": "round"}), ("gateway.describe", {"id": "loop"})],
)
def test_a_list_is_nothing_within_two_seconds_and_one_read_after(
    driver: Driver, tool: str, arguments: Mapping[str, Any]
) -> None:
    driver.call(tool, **arguments)  # what is read for the first time
    driver.start()  # looks at the catalogue itself
    driver.call(tool, **arguments)
    assert driver.calls == {}
    time.sleep(REVALIDATED_AFTER)  # the gateway's own clock runs: it is composed as on Lambda
    driver.call(tool, **arguments)
    assert driver.calls == {"GetItem": 2}, "the catalogue's head and the API key"


def test_a_cold_catalogue_of_ten_thousand_items_is_one_read_and_one_object(
    laptop: Laptop, both: Stack, tenant: Catalogued
) -> None:
    words = "what it is for, and which steps it takes, in words that a search goes over " * 3
    items = [
        CatalogueItem(f"area-{n % 97}.item-{n}", "workflow", f"Item {n}", words, ("a", "b"), (), words, "0f" * 32)
        for n in range(MANY)
    ]
    put_in_place(tenant.content, tenant.values, f"{tenant.tenant}-many", items)
    seconds = [_cold_seconds(tenant) for _ in range(5)]
    assert min(seconds) <= LONGEST_COLD_SECONDS, seconds
    with counted_gateway(laptop, both) as gateway:
        gateway.ask(tenant.key, "tools/list")
        _, calls = gateway.ask(tenant.key, "tools/call", {"name": "gateway.search", "arguments": {"query": "round"}})
    assert calls == HEAD | SNAPSHOT


def _cold_seconds(tenant: Catalogued) -> float:
    view = CatalogueView(content=tenant.content, texts=tenant.values, clock=SystemClock())
    began = time.perf_counter()
    assert len(view.snapshot(f"{tenant.tenant}-many").items) == MANY
    return time.perf_counter() - began
