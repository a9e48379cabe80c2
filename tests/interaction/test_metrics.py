"""/metrics: the gauges of the caller's tenant, and who gets to see them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from signpost import __version__
from signpost.adapters.memory import (
    MemoryBreakers,
    MemoryContentStore,
    MemoryDirectory,
    MemoryPlacedFunctions,
    MemoryRevisionRows,
    MemoryRuntimeSettings,
)
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.content.documents import build_skill
from signpost.content.model import PromptChange, SkillChange, StoredPrompt
from signpost.contract import BreakerState, Executor, HostedFunction, OpenBreakers
from signpost.errors import Unavailable
from signpost.metrics.gauges import GAUGES
from signpost.model import CatalogueItem
from signpost.surfaces.gateway.tool_specs import RUN_TOOLS
from tests.support.catalogues import store_catalogue
from tests.support.imports import imported_by
from tests.support.memory_gateway import GatewayAnswer, MemoryGateway

YARD, SHELF = (Executor(f"arn:{name}", f"secret:{name}", 60_000) for name in ("yard", "shelf"))
WORKFLOW = CatalogueItem("deploy_pipeline", "workflow", "Deploy Pipeline")
NOW = "2026-11-19T08:00:00.000000Z"
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Monitor:
    """Whoever reads /metrics of a gateway."""

    def __init__(self, **environment: str) -> None:
        self.gateway = MemoryGateway(None, **environment)
        self.directory = MemoryDirectory(self.gateway.functions)
        self.settings = MemoryRuntimeSettings(self.gateway.functions)

    def get(
        self,
        authorization: str | None,
        *,
        method: str = "GET",
        source_ip: str = "198.51.100.7",
        query: Mapping[str, str] | None = None,
        **headers: str,
    ) -> GatewayAnswer:
        if authorization is not None:
            headers["authorization"] = authorization
        return self.gateway.send(method, "/metrics", headers=headers, query=query, source_ip=source_ip)

    def scrape(self, tenant: str = "default") -> Mapping[str, float]:
        """Every sample, as it is written in a query."""
        answer = self.get(f"Bearer {self.gateway.make_token(tenant=tenant)}")
        assert answer.status == 200, answer.text
        return samples_in(answer.text)

    def document(self, tenant: str, *skills: str, prompts: tuple[str, ...] = ()) -> None:
        self.gateway.adapters.content.apply(
            tenant,
            [
                *(SkillChange(skill, build_skill(skill, f"# {skill}", NOW)) for skill in skills),
                *(PromptChange(name, StoredPrompt(name, "Says.", "yard::say", (), NOW)) for name in prompts),
            ],
        )


def samples_in(text: str) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


@pytest.fixture
def monitor() -> Monitor:
    return Monitor()


NOTHING = {
    f'signpost_build_info{{version="{__version__}"}}': 1,
    'signpost_tools{endpoint="/mcp"}': 7,
    'signpost_tools{endpoint="/mcp/flat"}': 1,
    'signpost_tools{endpoint="/mcp/functions"}': 1,
    'signpost_functions{origin="own"}': 0,
    'signpost_functions{origin="shipped"}': 0,
    "signpost_skill_documents": 0,
    "signpost_prompts": 0,
    'signpost_workflows{state="enabled"}': 0,
    'signpost_workflows{state="disabled"}': 0,
    "signpost_capabilities": 0,
    "signpost_connections": 0,
    "signpost_content_version": 0,
    'signpost_breakers{state="open"}': 0,
    'signpost_breakers{state="half_open"}': 0,
}


class TestGauges:
    def test_an_empty_tenant_has_every_gauge(self, monitor: Monitor) -> None:
        assert monitor.scrape() == NOTHING

    def test_functions_are_counted_by_origin_and_tools_as_listed(self, monitor: Monitor) -> None:
        monitor.directory.place(None, SHELF, [HostedFunction("core::wait"), HostedFunction("core::echo")])
        monitor.directory.place(
            "default", YARD, [HostedFunction("core::echo"), HostedFunction("yard::say"), HostedFunction("draft::x")]
        )
        monitor.settings.set("default", None, "hidden_prefixes", "draft::")
        found = monitor.scrape()
        assert found['signpost_functions{origin="own"}'] == 3
        assert found['signpost_functions{origin="shipped"}'] == 1
        listed = monitor.gateway.request("tools/list", path="/mcp/functions").json["result"]["tools"]
        assert found['signpost_tools{endpoint="/mcp/functions"}'] == len(listed) == 4
        assert found['signpost_tools{endpoint="/mcp/flat"}'] == 4

    def test_shipped_functions_switched_off_are_not_counted(self, monitor: Monitor) -> None:
        monitor.directory.place(None, SHELF, [HostedFunction("core::wait")])
        monitor.settings.set("default", None, "shipped_content", 0)
        found = monitor.scrape()
        assert found['signpost_functions{origin="shipped"}'] == 0
        assert found['signpost_tools{endpoint="/mcp/functions"}'] == 1

    def test_documents_and_prompts_are_counted_as_listed(self, monitor: Monitor) -> None:
        monitor.gateway.adapters.content.apply(None, [SkillChange("shipped", build_skill("shipped", "# Us", NOW))])
        monitor.document("default", "a/b", "c", "skills", prompts=("greet",))
        found = monitor.scrape()
        resources = monitor.gateway.request("resources/list").json["result"]["resources"]
        # The index is listed too, and `skills` has no URI of its own.
        assert found["signpost_skill_documents"] == len(resources) - 1 == 3
        assert found["signpost_prompts"] == 1
        assert found["signpost_content_version"] == 4

    def test_catalogue_items_are_counted_by_kind_even_if_unlisted(self, monitor: Monitor) -> None:
        items = [
            WORKFLOW,
            replace(WORKFLOW, id="by_author", enabled=False),
            replace(WORKFLOW, id="by_operator", switched_off=True),
            CatalogueItem("github.list_issues", "capability", "List issues"),
            CatalogueItem("github", "connection", "GitHub"),
        ]
        adapters = monitor.gateway.adapters
        published = CatalogueSnapshot(connections={"github": {}, "jira": {}}, discovery={"include": []})
        store_catalogue(adapters.content, adapters.values, "default", items, published)
        found = monitor.scrape()
        assert found['signpost_workflows{state="enabled"}'] == 1
        assert found['signpost_workflows{state="disabled"}'] == 2
        assert found["signpost_capabilities"] == 1
        assert found["signpost_connections"] == 2
        assert found[f'signpost_catalogue_info{{digest="{adapters.content.catalogue("default")}"}}'] == 1

    def test_breakers_that_are_not_closed_are_shown_by_function(self, monitor: Monitor) -> None:
        breakers, now = monitor.gateway.adapters.breakers, monitor.gateway.clock.now()
        breakers.open("default", "email::send", BreakerState(now + 10, 3, "crashed"))
        breakers.open("default", "files::read", BreakerState(now, 5, "timed_out"))
        breakers.open("acme", "files::read", BreakerState(now, 5, "timed_out"))
        for digest in ("a1", "b2"):
            breakers.open("default", "mail::read", BreakerState(now, 3, "timed_out", subject="ada"), digest)
        found = monitor.scrape()
        assert found['signpost_breakers{state="open"}'] == 1
        assert found['signpost_breakers{state="half_open"}'] == 1
        assert found['signpost_breaker_failures{function="email::send",state="open"}'] == 3
        assert found['signpost_breaker_failures{function="files::read",state="half_open"}'] == 5
        assert found['signpost_stopped_principals{function="mail::read"}'] == 2
        assert "ada" not in str(found)
        breakers.close("default", "email::send")
        assert monitor.scrape()['signpost_breakers{state="open"}'] == 0

    def test_a_change_is_seen_within_two_seconds(self, monitor: Monitor) -> None:
        monitor.scrape()
        monitor.gateway.store_catalogue("default", WORKFLOW)
        monitor.directory.place("default", YARD, [HostedFunction("yard::say")])
        monitor.document("default", "a")
        monitor.gateway.clock.advance(2)
        found = monitor.scrape()
        assert found['signpost_workflows{state="enabled"}'] == 1
        assert found['signpost_tools{endpoint="/mcp/functions"}'] == 2
        assert found['signpost_tools{endpoint="/mcp/flat"}'] == 3 + len(RUN_TOOLS)
        assert found["signpost_skill_documents"] == 1


@pytest.mark.invariant(7)
def test_gauges_show_only_the_tenant_of_the_caller(monitor: Monitor) -> None:
    monitor.gateway.store_catalogue("acme", WORKFLOW)
    monitor.directory.place("acme", YARD, [HostedFunction("yard::say")])
    monitor.document("acme", "a", prompts=("greet",))
    monitor.gateway.adapters.breakers.open("acme", "yard::say", BreakerState(0, 3, "crashed"))
    assert monitor.scrape() == NOTHING
    measured = monitor.scrape("acme")
    assert {name for name, value in NOTHING.items() if measured[name] == value} == {
        f'signpost_build_info{{version="{__version__}"}}',
        'signpost_tools{endpoint="/mcp"}',
        'signpost_functions{origin="shipped"}',
        'signpost_workflows{state="disabled"}',
        "signpost_capabilities",
        "signpost_connections",
        'signpost_breakers{state="open"}',
    }


class ReadRecorder:
    """What the stores behind a gateway were asked for, in their order."""

    def __init__(self, gateway: MemoryGateway) -> None:
        self.seen: list[str] = []
        adapters, table = gateway.adapters, gateway.functions
        content = MemoryContentStore(table)
        gateway.replace_adapters(
            content=self._watched(content),
            revisions=self._watched(MemoryRevisionRows(content)),
            placed_functions=self._watched(MemoryPlacedFunctions(table)),
            breakers=self._watched(MemoryBreakers(table)),
            values=self._watched(adapters.values),
        )

    def _watched(self, store: object) -> Any:
        seen = self.seen

        class Watched:
            def __getattr__(self, name: str) -> Callable[..., Any]:
                seen.append(name)
                return getattr(store, name)

        return Watched()


def test_gauges_of_an_unchanged_tenant_read_only_revisions_and_breakers(monitor: Monitor) -> None:
    reads = ReadRecorder(monitor.gateway)
    monitor.gateway.store_catalogue("default", WORKFLOW)
    monitor.scrape()
    reads.seen.clear()
    monitor.scrape()
    assert reads.seen == ["of_tenant"]
    monitor.gateway.clock.advance(2)
    reads.seen.clear()
    monitor.scrape()
    assert sorted(reads.seen) == ["of_tenant", "read"]


LAPTOP = {"AUTH_MODE": "local", "AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}
METADATA = 'resource_metadata="https://gateway.test/.well-known/oauth-protected-resource/mcp"'


@pytest.mark.invariant(2)
def test_metrics_are_refused_without_configured_authentication() -> None:
    answer = Monitor(AUTH_MODE="none").get("Bearer anything")
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (503, "not_configured")


REFUSED: Mapping[str, tuple[Callable[[MemoryGateway], str], str]] = {
    "another scheme": (lambda _: "Basic dXNlcjpwYXNz", "invalid_request"),
    "garbage": (lambda _: "Bearer x.y.z", "invalid_token"),
    "unknown key": (lambda _: f"Bearer sp_default_{'0' * 12}_{'0' * 64}", "invalid_token"),
    "expired": (lambda gateway: f"Bearer {gateway.make_token(exp=gateway.clock.now() - 10)}", "invalid_token"),
    "wrong audience": (lambda gateway: f"Bearer {gateway.make_token(aud='https://other.test/mcp')}", "invalid_token"),
    "tenant that is none": (lambda gateway: f"Bearer {gateway.make_token(tenant='../other')}", "invalid_token"),
}


@pytest.mark.invariant(1)
@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_caller_gets_no_gauges_and_no_store_is_read(monitor: Monitor, name: str) -> None:
    present, error = REFUSED[name]
    reads = ReadRecorder(monitor.gateway)
    answer = monitor.get(present(monitor.gateway))
    assert answer.status == 401
    assert f'error="{error}"' in answer.headers["www-authenticate"]
    assert METADATA in answer.headers["www-authenticate"]
    assert "signpost_" not in answer.text
    assert reads.seen == []


class TestAuthentication:
    @pytest.mark.parametrize(
        ("mode", "token", "key"),
        [("jwt", 200, 401), ("api-key", 401, 200), ("both", 200, 200)],
    )
    def test_every_auth_mode_accepts_the_credentials_that_mcp_accepts(self, mode: str, token: int, key: int) -> None:
        monitor = Monitor(AUTH_MODE=mode)
        assert monitor.get(f"Bearer {monitor.gateway.make_token()}").status == token
        assert monitor.get(f"Bearer {monitor.gateway.make_key()}").status == key

    def test_metrics_require_no_permission(self, monitor: Monitor) -> None:
        assert monitor.get(f"Bearer {monitor.gateway.make_token(scope='', roles=[])}").status == 200

    def test_a_request_without_credentials_gets_the_metadata_url(self, monitor: Monitor) -> None:
        answer = monitor.get(None)
        assert (answer.status, answer.json["error"]["data"]["reason"]) == (401, "missing")
        assert answer.headers["www-authenticate"] == f"Bearer {METADATA}"

    def test_local_mode_shows_the_anonymous_caller_its_own_tenant(self) -> None:
        monitor = Monitor(**LAPTOP)
        monitor.gateway.store_catalogue("acme", WORKFLOW)
        answer = monitor.get(None, source_ip="127.0.0.1")
        assert samples_in(answer.text) == NOTHING
        assert monitor.get(None).status == 401
        assert monitor.get("Bearer wrong", source_ip="127.0.0.1").status == 401

    def test_a_foreign_origin_is_refused(self, monitor: Monitor) -> None:
        assert monitor.get(f"Bearer {monitor.gateway.make_token()}", origin="https://evil.test").status == 403


class TestAnswerFormats:
    def test_the_default_format_is_prometheus_text(self, monitor: Monitor) -> None:
        answer = monitor.get(f"Bearer {monitor.gateway.make_key()}")
        assert (answer.status, answer.headers["content-type"]) == (200, TEXT)
        assert answer.text.startswith("# HELP signpost_build_info ")
        assert answer.text.endswith("\n")
        assert [family.name for family in text_string_to_metric_families(answer.text)] == [
            gauge.name for gauge in GAUGES
        ]

    @pytest.mark.parametrize(
        ("accept", "json_wanted"),
        [
            ("", False),
            ("*/*", False),
            ("application/json", True),
            ("application/json, text/event-stream", True),
            ("Application/JSON; charset=utf-8", True),
            ("application/*", True),
            ("text/html, application/json;q=0.9, */*;q=0.8", True),
            ("application/json, text/plain, */*", False),
            ("application/json;q=0.5, text/plain", False),
            ("application/json;q=0", False),
            ("application/json;q=nan, text/plain;q=0.1", False),
            ("application/json;q=, text/plain;q=0.1", False),
            ("text/plain;version=0.0.4;q=0.5, */*;q=0.1", False),
            ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", False),
            ("application/openmetrics-text", False),
            (";;,,q=1;/", False),
        ],
    )
    def test_the_accept_header_selects_the_format(self, monitor: Monitor, accept: str, json_wanted: bool) -> None:
        answer = monitor.get(f"Bearer {monitor.gateway.make_key()}", accept=accept)
        assert answer.headers["content-type"] == ("application/json" if json_wanted else TEXT)

    @pytest.mark.parametrize(
        ("wanted", "accept", "content_type"),
        [
            ("json", "text/plain", "application/json"),
            ("prometheus", "application/json", TEXT),
            ("", "application/json", "application/json"),
        ],
    )
    def test_the_format_in_the_url_overrides_the_accept_header(
        self, monitor: Monitor, wanted: str, accept: str, content_type: str
    ) -> None:
        authorization = f"Bearer {monitor.gateway.make_key()}"
        answer = monitor.get(authorization, query={"format": wanted}, accept=accept)
        assert answer.headers["content-type"] == content_type

    def test_an_unknown_format_is_refused_with_the_known_ones(self, monitor: Monitor) -> None:
        answer = monitor.get(f"Bearer {monitor.gateway.make_key()}", query={"format": "xml"})
        assert (answer.status, answer.json["error"]["data"]["reason"]) == (400, "format")
        assert "prometheus, json" in answer.json["error"]["message"]

    def test_both_formats_have_the_same_samples(self, monitor: Monitor) -> None:
        monitor.gateway.adapters.breakers.open("default", "yard::say", BreakerState(0, 3, "crashed"))
        authorization = f"Bearer {monitor.gateway.make_key()}"
        found = monitor.get(authorization, query={"format": "json"}).json["gauges"]
        families = list(text_string_to_metric_families(monitor.get(authorization).text))
        assert found == {
            family.name: {
                "help": family.documentation,
                "samples": [{"labels": dict(sample.labels), "value": sample.value} for sample in family.samples],
            }
            for family in families
        }

    @pytest.mark.parametrize("wanted", ["json", "prometheus"])
    def test_the_answer_must_not_be_cached(self, monitor: Monitor, wanted: str) -> None:
        answer = monitor.get(f"Bearer {monitor.gateway.make_key()}", query={"format": wanted})
        assert answer.headers["cache-control"] == "no-store"

    def test_head_is_answered_like_get(self, monitor: Monitor) -> None:
        authorization = f"Bearer {monitor.gateway.make_key()}"
        assert monitor.get(authorization, method="HEAD") == monitor.get(authorization)
        assert monitor.get(None, method="HEAD").status == 401

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
    def test_other_methods_than_get_and_head_are_refused(self, monitor: Monitor, method: str) -> None:
        answer = monitor.get(f"Bearer {monitor.gateway.make_key()}", method=method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")

    def test_an_unavailable_store_is_a_503_with_retry_after(self, monitor: Monitor) -> None:
        class Unread(MemoryBreakers):
            def of_tenant(self, tenant: str) -> Mapping[str, OpenBreakers]:
                del tenant
                raise Unavailable("An AWS service that this request needs cannot be reached.")

        monitor.gateway.replace_adapters(breakers=Unread(monitor.gateway.functions))
        answer = monitor.get(f"Bearer {monitor.gateway.make_key()}")
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")

    def test_a_request_is_logged_and_counted_as_metrics(self, capsys: pytest.CaptureFixture[str]) -> None:
        monitor = Monitor()
        monitor.get(f"Bearer {monitor.gateway.make_token(tenant='acme')}")
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        answered = next(line for line in lines if line.get("message") == "answered")
        assert (answered["operation"], answered["tenant"], answered["status"]) == ("metrics", "acme", 200)
        assert [line["operation"] for line in lines if "_aws" in line] == ["metrics"]


def test_the_gateway_does_not_import_the_metrics_at_start() -> None:
    names = {
        "signpost.wiring.metrics",
        "signpost.metrics.meter",
        "signpost.metrics.gauges",
        "signpost.metrics.exposition",
    }
    assert imported_by("import signpost.wiring.gateway", {*names, "signpost.entrypoints.http.metrics"}) == set()
