"""What the tools cost: the calls to AWS of a gateway that is composed as on Lambda, counted on the emulator."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import DynamoContentStore, DynamoRevisionRows
from signpost.adapters.dynamodb.definitions import DynamoDefinitionTexts
from signpost.adapters.dynamodb.instances import LONGEST_IN_A_ROW
from signpost.adapters.s3 import S3ChangeBatchStore, S3Values
from signpost.catalogue.cache import CatalogueView
from signpost.content.model import ScopeNames
from signpost.list_revisions import RevisionView
from signpost.model import CatalogueItem
from tests.support.catalogues import store_catalogue
from tests.support.counted_gateway import CountedGateway, counted_gateway
from tests.support.laptop import Laptop, Stack
from tests.support.manifests import publish
from tests.support.slowdown import SlowdownMeter
from tests.support.tool_answers import read_tool_answer

pytestmark = pytest.mark.cloud

READ, WRITTEN, NOTED = {"Query": 1}, {"TransactWriteItems": 1}, {"PutItem": 1}
CLAIMED, EXECUTED = {"UpdateItem": 1}, {"Invoke": 1}
LOOK, SNAPSHOT = {"BatchGetItem": 1}, {"GetObject": 1}
REVALIDATED_AFTER = 2.1
STALE = "STALE_WORKFLOW_VERSION"
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
                        "run": {"target": "open", "executor": {"kind": "function", "function": "core::wait"}},
                        "never": {"target": "open", "guards": [{"kind": "role", "role": "nobody"}]},
                    }
                }
            },
        }
    },
}


@dataclass(frozen=True, slots=True)
class CataloguedTenant:
    """A tenant of a stack."""

    content: DynamoContentStore
    revisions: DynamoRevisionRows
    values: S3Values
    tenant: str
    key: str


@pytest.fixture(scope="module")
def tenant(laptop: Laptop, product_stack: Stack) -> CataloguedTenant:
    dynamodb, s3 = laptop.client("dynamodb"), laptop.client("s3")
    table, bucket = (product_stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
    values = S3Values(lambda: s3, bucket)
    content = DynamoContentStore(
        dynamodb, table, S3ChangeBatchStore(lambda: s3, bucket), ScopeNames("skills", "prompts")
    )
    name = f"calls-{uuid.uuid4().hex[:8]}"
    publish(content, values, DynamoDefinitionTexts(dynamodb, table, values), name, MANIFEST)
    return CataloguedTenant(
        content, DynamoRevisionRows(dynamodb, table), values, name, laptop.make_key(product_stack, name)
    )


class Driver:
    """A client of a gateway that has answered before: nothing is read for the first time."""

    def __init__(self, gateway: CountedGateway, key: str) -> None:
        self._gateway = gateway
        self._key = key
        self.calls: Mapping[str, int] = {}
        self.call("workflow.start", definitionId="loop")

    def call(self, tool: str, **arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        answer, self.calls = self._gateway.request(self._key, "tools/call", params)
        return answer.json["result"]["structuredContent"]

    def run_before_next(self, operation: str, happens: Callable[[], object]) -> None:
        self._gateway.run_before_next(operation, happens)

    def advance_clock(self, seconds: float) -> None:
        self._gateway.clock.advance(seconds)

    def start(self) -> Any:
        return self.call("workflow.start", definitionId="loop")

    def submit(self, at: Any, transition: str, **arguments: Any) -> Any:
        known = {"workflowId": at["workflowId"], "expectedVersion": at["version"]}
        return self.call("workflow.submit", **known, transition=transition, arguments=arguments)


@pytest.fixture
def driver(laptop: Laptop, product_stack: Stack, tenant: CataloguedTenant) -> Iterator[Driver]:
    with counted_gateway(laptop, product_stack) as gateway:
        yield Driver(gateway, tenant.key)


def test_a_start_costs_one_read_and_one_transaction(driver: Driver) -> None:
    driver.start()
    assert driver.calls == LOOK | WRITTEN


def test_a_get_costs_one_read_regardless_of_the_length_of_the_history(driver: Driver) -> None:
    at = driver.start()
    for _ in range(30):
        at = driver.submit(at, "next", text="a")
    assert driver.call("workflow.get", workflowId=at["workflowId"])["version"] == 31
    assert driver.calls == READ


def test_a_step_costs_one_read_and_one_transaction(driver: Driver) -> None:
    driver.submit(driver.start(), "next", text="a")
    assert driver.calls == READ | WRITTEN


def test_a_refused_step_costs_one_read_and_one_write(driver: Driver) -> None:
    at = driver.start()
    assert driver.submit(at, "never")["error"]["code"] == "GUARD_REJECTED"
    assert driver.calls == READ | NOTED
    driver.submit(at, "next", text="a")
    assert driver.submit(at, "next", text="b")["error"]["code"] == STALE
    assert driver.calls == READ | NOTED


def test_an_executed_step_costs_a_read_a_claim_an_invocation_and_a_transaction(driver: Driver) -> None:
    at = driver.start()
    for _ in range(3):  # what is known of a function is read anew every two seconds, and its first start takes longer
        at = driver.submit(at, "run", seconds=0)
    assert (at["version"], driver.calls) == (4, READ | CLAIMED | EXECUTED | WRITTEN)


class Rival:
    """Somebody else who takes the same step, by the deployed gateway."""

    def __init__(self, stack: Stack, key: str, at: Any) -> None:
        self._stack = stack
        self._key = key
        self._at = at
        self._threads = ThreadPoolExecutor(1)

    def start_step(self, seconds: float) -> Future[Any]:
        """And has the claim when this is over."""
        known = {"workflowId": self._at["workflowId"], "expectedVersion": self._at["version"]}
        arguments = {"seconds": seconds}
        submitted = self._threads.submit(self._ask, "workflow.submit", **known, transition="run", arguments=arguments)
        while not submitted.done() and "pending" not in self._ask("workflow.get", workflowId=self._at["workflowId"]):
            time.sleep(0.05)
        return submitted

    def _ask(self, tool: str, **arguments: Any) -> Any:
        return read_tool_answer(self._stack.request(self._key, "tools/call", {"name": tool, "arguments": arguments}))


RIVAL_SECONDS = 4.0
"""Seconds that a step takes during which others come."""


def test_a_submission_during_an_execution_costs_one_read_and_one_write(
    driver: Driver, product_stack: Stack, tenant: CataloguedTenant
) -> None:
    at = driver.start()
    rival = Rival(product_stack, tenant.key, at).start_step(RIVAL_SECONDS)
    driver.submit(at, "run", seconds=0)  # the key may have to be read again
    refused = driver.submit(at, "run", seconds=0)
    assert (refused["error"]["code"], driver.calls) == (STALE, READ | NOTED)
    assert "error" not in rival.result()


def test_a_submission_that_loses_the_claim_costs_one_more_refused_write(
    driver: Driver, product_stack: Stack, tenant: CataloguedTenant
) -> None:
    at = driver.start()
    rival = Rival(product_stack, tenant.key, at)
    begun: list[Future[Any]] = []
    driver.run_before_next("UpdateItem", lambda: begun.append(rival.start_step(RIVAL_SECONDS)))
    driver.submit(at, "run", seconds=0)
    assert (driver.calls["Query"], driver.calls["UpdateItem"], driver.calls["PutItem"]) == (1, 1, 1)
    assert "Invoke" not in driver.calls
    assert "error" not in begun[0].result()


def test_a_submission_that_loses_the_claim_to_a_finished_step_reads_again(
    driver: Driver, product_stack: Stack, tenant: CataloguedTenant
) -> None:
    at = driver.start()
    rival = Rival(product_stack, tenant.key, at)
    driver.run_before_next("UpdateItem", lambda: rival.start_step(0).result())
    refused = driver.submit(at, "run", seconds=0)
    assert (refused["error"]["code"], refused["version"]) == (STALE, 2)
    assert (driver.calls["Query"], driver.calls["UpdateItem"], driver.calls["PutItem"]) == (2, 1, 1)
    assert not {"Invoke", "TransactWriteItems"} & set(driver.calls)


def test_a_long_value_costs_one_object_call_for_each_read_and_write(driver: Driver) -> None:
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
def test_a_list_costs_nothing_within_two_seconds_and_one_read_afterwards(
    driver: Driver, tool: str, arguments: Mapping[str, Any]
) -> None:
    driver.call(tool, **arguments)  # what is read for the first time
    driver.start()  # looks at the catalogue itself
    driver.call(tool, **arguments)
    assert driver.calls == {}
    driver.advance_clock(REVALIDATED_AFTER)
    driver.call(tool, **arguments)
    assert driver.calls == LOOK | {"GetItem": 1}, "what has changed, and the API key"


def test_a_description_of_a_skill_costs_one_read_more_for_its_breaker(driver: Driver) -> None:
    driver.call("gateway.describe", id="json_transform")  # what is read for the first time
    driver.start()  # looks at the catalogue itself
    assert driver.call("gateway.describe", id="json_transform")["breaker"] == {"state": "closed"}
    assert driver.calls == {}
    driver.advance_clock(REVALIDATED_AFTER)
    driver.call("gateway.describe", id="json_transform")
    assert driver.calls == {"BatchGetItem": 2, "GetItem": 1}, "what has changed, the function, and the API key"


def test_a_cold_catalogue_of_ten_thousand_items_costs_one_read_and_one_object(
    laptop: Laptop, product_stack: Stack, tenant: CataloguedTenant
) -> None:
    words = "what it is for, and which steps it takes, in words that a search goes over " * 3
    items = [
        CatalogueItem(f"area-{n % 97}.item-{n}", "workflow", f"Item {n}", words, ("a", "b"), (), words, "0f" * 32)
        for n in range(MANY)
    ]
    store_catalogue(tenant.content, tenant.values, f"{tenant.tenant}-many", items)
    with SlowdownMeter() as machine:
        seconds = [_measure_cold_load(tenant) for _ in range(5)]
    assert min(seconds) <= machine.extend(LONGEST_COLD_SECONDS), seconds
    with counted_gateway(laptop, product_stack) as gateway:
        gateway.request(tenant.key, "tools/list")
        _, home = gateway.request(tenant.key, "tools/call", {"name": "gateway.home", "arguments": {}})
        _, search = gateway.request(
            tenant.key, "tools/call", {"name": "gateway.search", "arguments": {"query": "round"}}
        )
    # Beside the catalogue, home reads the shipped functions; a search adds the own and shipped documents and prompts,
    # and the version of their content before and after each.
    assert home == LOOK | SNAPSHOT | {"Query": 1}
    assert search == {"Query": 4, "GetItem": 8}


def _measure_cold_load(tenant: CataloguedTenant) -> float:
    revisions = RevisionView(rows=tenant.revisions, clock=SystemClock())
    view = CatalogueView(revisions=revisions, texts=tenant.values)
    began = time.perf_counter()
    assert len(view.load(f"{tenant.tenant}-many").items) == MANY
    return time.perf_counter() - began
