"""/metrics of a deployed stack: its route, who sees it, and what it costs."""

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from signpost.adapters.dynamodb import DynamoBreakers
from signpost.contract import BreakerState
from signpost.metrics.gauges import GAUGES
from signpost.model import CatalogueItem
from tests.support.catalogues import put_in_place_of
from tests.support.counted import counted_gateway
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud

TENANT = "measured"
REVALIDATED_AFTER = 2.1


@pytest.fixture
def key(laptop: Laptop, both: Stack) -> str:
    return laptop.key(both, TENANT)


def samples_in(text: str) -> dict[tuple[str, ...], float]:
    families = list(text_string_to_metric_families(text))
    assert [family.name for family in families] == [gauge.name for gauge in GAUGES]
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_a_scrape_over_http_says_what_the_tenant_has_and_nobody_else_does(
    laptop: Laptop, both: Stack, key: str
) -> None:
    put_in_place_of(laptop, both, TENANT, [CatalogueItem("deploy_pipeline", "workflow", "Deploy Pipeline")])
    breakers = DynamoBreakers(laptop.client("dynamodb"), both.deployed.outputs["RegistryTableName"])
    breakers.open(TENANT, "email::send", BreakerState(time.time() + 600, 3, "crashed"))
    answer = both.send("GET", "/metrics", headers={"authorization": f"Bearer {key}", "accept": "*/*"})
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = samples_in(answer.text)
    assert found["signpost_tools", "/mcp"] == 7
    assert found["signpost_functions", "shipped"] > 0
    assert found["signpost_skill_documents",] > 0
    assert found["signpost_workflows", "enabled"] == 1
    assert found["signpost_breaker_failures", "email::send", "open"] == 3
    others = laptop.key(both, "measured-too")
    seen = samples_in(both.send("GET", "/metrics", headers={"authorization": f"Bearer {others}"}).text)
    assert seen["signpost_workflows", "enabled"] == seen["signpost_breakers", "open"] == 0


def test_json_is_answered_to_whoever_asks_for_it(both: Stack, key: str) -> None:
    authorization = {"authorization": f"Bearer {key}"}
    by_url = both.send("GET", "/metrics?format=json", headers=authorization)
    by_header = both.send("GET", "/metrics", headers={**authorization, "accept": "application/json"})
    assert by_url.json["gauges"].keys() == by_header.json["gauges"].keys() == {gauge.name for gauge in GAUGES}


def test_nobody_sees_it_without_a_credential(both: Stack) -> None:
    answer = both.send("GET", "/metrics")
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer resource_metadata=")


def test_a_scrape_scans_nothing_and_reads_a_list_only_after_it_has_changed(
    laptop: Laptop, both: Stack, key: str
) -> None:
    with counted_gateway(laptop, both) as gateway:
        first, calls = gateway.get(key, "/metrics")
        assert first.status == 200
        assert calls.keys() <= {"GetItem", "BatchGetItem", "Query", "GetObject"}
        assert gateway.get(key, "/metrics")[1] == {"Query": 1}
        gateway.clock.turn(REVALIDATED_AFTER)
        looked, calls = gateway.get(key, "/metrics")
        assert looked.text == first.text
        # The key; how far everything that is listed has changed; the breakers.
        assert calls == {"GetItem": 1, "BatchGetItem": 1, "Query": 1}
