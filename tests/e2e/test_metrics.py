"""/metrics of a deployed stack: its route, who sees it, and what it costs."""

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from signpost.adapters.dynamodb import DynamoBreakers
from signpost.contract import BreakerState
from signpost.metrics.gauges import GAUGES
from signpost.model import CatalogueItem
from tests.support.catalogues import store_stack_catalogue
from tests.support.counted_gateway import counted_gateway
from tests.support.laptop import CHALLENGE, Laptop, Stack

pytestmark = pytest.mark.cloud

TENANT = "measured"
REVALIDATED_AFTER = 2.1


@pytest.fixture
def key(laptop: Laptop, product_stack: Stack) -> str:
    return laptop.make_key(product_stack, TENANT)


def read_samples(text: str) -> dict[tuple[str, ...], float]:
    families = list(text_string_to_metric_families(text))
    assert [family.name for family in families] == [gauge.name for gauge in GAUGES]
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_a_scrape_shows_the_counts_of_its_own_tenant_only(laptop: Laptop, product_stack: Stack, key: str) -> None:
    store_stack_catalogue(
        laptop, product_stack, TENANT, [CatalogueItem("deploy_pipeline", "workflow", "Deploy Pipeline")]
    )
    breakers = DynamoBreakers(laptop.client("dynamodb"), product_stack.deployed.outputs["RegistryTableName"])
    breakers.open(TENANT, "email::send", BreakerState(time.time() + 600, 3, "crashed"))
    answer = product_stack.send("GET", "/metrics", headers={"authorization": f"Bearer {key}", "accept": "*/*"})
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = read_samples(answer.text)
    assert found["signpost_tools", "/mcp"] == 7
    assert found["signpost_functions", "shipped"] > 0
    assert found["signpost_skill_documents",] > 0
    assert found["signpost_workflows", "enabled"] == 1
    assert found["signpost_breaker_failures", "email::send", "open"] == 3
    others = laptop.make_key(product_stack, "measured-too")
    seen = read_samples(product_stack.send("GET", "/metrics", headers={"authorization": f"Bearer {others}"}).text)
    assert seen["signpost_workflows", "enabled"] == seen["signpost_breakers", "open"] == 0


def test_metrics_are_answered_as_json_on_request(product_stack: Stack, key: str) -> None:
    authorization = {"authorization": f"Bearer {key}"}
    by_url = product_stack.send("GET", "/metrics?format=json", headers=authorization)
    by_header = product_stack.send("GET", "/metrics", headers={**authorization, "accept": "application/json"})
    assert by_url.json["gauges"].keys() == by_header.json["gauges"].keys() == {gauge.name for gauge in GAUGES}


def test_metrics_without_a_credential_are_refused(product_stack: Stack) -> None:
    answer = product_stack.send("GET", "/metrics")
    assert answer.status == 401
    assert answer.headers[CHALLENGE].startswith("Bearer resource_metadata=")


def test_a_scrape_scans_no_table_and_reads_a_list_only_after_a_change(
    laptop: Laptop, product_stack: Stack, key: str
) -> None:
    with counted_gateway(laptop, product_stack) as gateway:
        first, calls = gateway.get(key, "/metrics")
        assert first.status == 200
        assert calls.keys() <= {"GetItem", "BatchGetItem", "Query", "GetObject"}
        assert gateway.get(key, "/metrics")[1] == {"Query": 1}
        gateway.clock.advance(REVALIDATED_AFTER)
        looked, calls = gateway.get(key, "/metrics")
        assert looked.text == first.text
        # The key; how far everything that is listed has changed; the breakers.
        assert calls == {"GetItem": 1, "BatchGetItem": 1, "Query": 1}
