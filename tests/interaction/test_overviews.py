"""Resources at `signpost://` URIs: workflows, runs, configuration and the deployment, as each caller may see them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from signpost import __version__
from signpost.adapters.memory import MemoryDirectory, MemoryRuntimeSettings
from signpost.calling import runtime_settings
from signpost.content.documents import build_skill
from signpost.content.model import CatalogueChange, SkillChange
from signpost.contract import Component, Executor, HostedFunction
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.mcp.dispatch import LONGEST_ANSWER
from signpost.model import CatalogueItem, Json, JsonObject, Principal
from signpost.policy.rules_format import to_text
from signpost.settings import ENDPOINTS
from tests.support.imports import imported_by
from tests.support.manifests import publish
from tests.support.memory_gateway import MODERN, MemoryGateway

LEGACY = "2025-11-25"
TENANT = "acme"
NOWHERE = "signpost://nothing/here"
WHOLE = ["signpost://deployment", "signpost://workflows", "signpost://runs", "signpost://config"]
PATTERNS = ["signpost://{topic}", "signpost://workflows/{id}", "signpost://runs/{id}", "signpost://config/{key}"]
SECRET = "hunter2-of-the-executor"
INPUT_SCHEMA: JsonObject = {"type": "object", "required": ["service"], "properties": {"service": {"type": "string"}}}
MANIFEST: Mapping[str, Any] = {
    "version": 1,
    "workflows": {
        "deploy it": {
            "title": "Deploy",
            "description": "Builds and deploys a service.",
            "tags": ["deploy"],
            "inputSchema": INPUT_SCHEMA,
            "initialState": "ready",
            "states": {
                "ready": {
                    "transitions": {
                        "deploy": {
                            "title": "Deploy it",
                            "target": "deployed",
                            "actor": "human",
                            "guards": [{"kind": "permission", "permission": "deploys"}],
                            "inputSchema": {"type": "object", "properties": {"note": {"type": "string"}}},
                        },
                        "test": {
                            "target": "ready",
                            "executor": {"kind": "function", "function": "ci::run", "arguments": {"token": SECRET}},
                        },
                    }
                },
                "deployed": {"terminal": True},
            },
        },
        "personal": {
            "readers": [{"kind": "role", "role": "hr"}],
            "initialState": "open",
            "states": {"open": {"transitions": {"close": {"target": "closed"}}}, "closed": {"terminal": True}},
        },
        "retired": {
            "enabled": False,
            "initialState": "open",
            "states": {"open": {"transitions": {"close": {"target": "closed"}}}, "closed": {"terminal": True}},
        },
    },
}
CALLERS: Mapping[str, Principal] = {
    "ada": Principal("ada", TENANT, "issuer"),
    "hugo": Principal("hugo", TENANT, "issuer", roles=frozenset({"hr"})),
    "root": Principal("root", TENANT, "issuer", permissions=frozenset({"signpost.admin"})),
    "otto": Principal("otto", "other", "issuer"),
}


class Reader:
    """A gateway with three workflows, whose callers read overviews."""

    def __init__(self, version: str = MODERN, path: str = "/mcp", **policies: Json) -> None:
        self.version = version
        self.path = path
        self.gateway = MemoryGateway(HIDDEN_PREFIXES="internal::")
        adapters = self.gateway.adapters
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, MANIFEST)
        if policies:
            self.store_rules(policies)

    def store_rules(self, policies: JsonObject) -> None:
        adapters = self.gateway.adapters
        catalogue, digest = adapters.content.catalogue(TENANT), adapters.definitions.keep(TENANT, to_text(policies))
        assert catalogue is not None
        adapters.content.apply(TENANT, [CatalogueChange(catalogue, catalogue, digest)])

    def ask(self, method: str, params: JsonObject | None = None, by: str = "ada") -> Any:
        principal = CALLERS[by]
        token = self.gateway.make_token(
            sub=principal.subject,
            tenant=principal.tenant,
            roles=sorted(principal.roles),
            scope=" ".join(sorted(principal.permissions)),
        )
        if self.version == MODERN:
            return self.gateway.request(method, params, credential=token, path=self.path).json
        return self.gateway.request_legacy(method, params, self.version, token, self.path).json

    def read(self, uri: str, by: str = "ada") -> Any:
        answer = self.ask("resources/read", {"uri": uri}, by)
        assert "result" in answer, answer
        (content,) = answer["result"]["contents"]
        assert (content["uri"], content["mimeType"]) == (uri, "application/json")
        return json.loads(content["text"])

    def is_unknown(self, uri: str, by: str = "ada") -> bool:
        """Whether the URI is answered as any other URI without a resource."""
        error, other = (self.ask("resources/read", {"uri": read}, by).get("error") for read in (uri, NOWHERE))
        return error == {**other, "data": {"uri": uri}}

    def complete(self, pattern: str, argument: str, value: str = "", by: str = "ada") -> Any:
        reference: JsonObject = {"type": "ref/resource", "uri": pattern}
        params: JsonObject = {"ref": reference, "argument": {"name": argument, "value": value}}
        answer = self.ask("completion/complete", params, by)
        return answer["result"]["completion"] if "result" in answer else answer["error"]

    def start(self, definition_id: str, by: str = "ada", **given: Json) -> Any:
        return self.call("workflow.start", by, definitionId=definition_id, input=given)

    def call(self, tool: str, by: str = "ada", **arguments: Json) -> Any:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments}, by)
        return json.loads(answer["result"]["content"][0]["text"])


@pytest.fixture(params=[(MODERN, "/mcp"), (LEGACY, "/mcp"), (MODERN, "/mcp/flat"), (LEGACY, "/mcp/functions")])
def reader(request: pytest.FixtureRequest) -> Reader:
    return Reader(*request.param)


def patterns_of(reader: Reader, by: str = "ada") -> Sequence[str]:
    templates = reader.ask("resources/templates/list", by=by)["result"]["resourceTemplates"]
    overviews = [template for template in templates if template["uriTemplate"].startswith("signpost:")]
    assert {template["mimeType"] for template in overviews} <= {"application/json"}
    return [template["uriTemplate"] for template in overviews]


def test_the_templates_are_listed_and_the_list_of_resources_is_that_of_the_documents(reader: Reader) -> None:
    assert patterns_of(reader) == PATTERNS
    listed = reader.ask("resources/list")["result"]["resources"]
    assert [resource["uri"] for resource in listed] == ["iii://skills"]


def test_the_page_has_every_template() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/resources.md").read_text()
    table = page.partition("<!-- overviews")[2].partition("\n\n- ")[0]
    assert re.findall(r"^\| `(signpost://[^`]+)` \|", table, re.MULTILINE) == PATTERNS
    topics = re.findall(r"`(\w+)`", table.splitlines()[4].split("|")[2])
    assert {f"signpost://{topic}" for topic in topics} == set(WHOLE)


def test_every_instance_that_a_template_completes_can_be_read(reader: Reader) -> None:
    uris = [f"signpost://{topic}" for topic in reader.complete("signpost://{topic}", "topic")["values"]]
    assert uris == WHOLE
    for pattern, name in (("signpost://workflows/{id}", "id"), ("signpost://config/{key}", "key")):
        values = reader.complete(pattern, name)["values"]
        assert values
        uris += [pattern.replace(f"{{{name}}}", value.replace(" ", "%20")) for value in values]
    for uri in uris:
        assert reader.read(uri), uri


def test_a_workflow_is_shown_with_input_states_and_moves_and_without_its_executors(reader: Reader) -> None:
    (listed, personal) = reader.read("signpost://workflows")["workflows"]
    assert listed == {
        "id": "deploy it",
        "title": "Deploy",
        "description": "Builds and deploys a service.",
        "enabled": True,
        "tags": ["deploy"],
        "uri": "signpost://workflows/deploy%20it",
    }
    assert personal["id"] == "personal"
    shown = reader.read(listed["uri"])
    assert {name: shown[name] for name in listed} == listed
    assert shown["inputSchema"] == INPUT_SCHEMA
    explained = reader.call("workflow.explain", definitionId="deploy it")
    assert (shown["initialState"], shown["states"]) == (explained["initialState"], explained["states"])
    assert [move["transition"] for move in shown["transitions"]] == ["deploy", "test"]
    for move in shown["transitions"]:
        whole = reader.call("workflow.explain", definitionId="deploy it", transition=move["transition"])
        assert move == {name: whole[name] for name in whole if name not in ("definitionId", "executor")}
    assert SECRET not in json.dumps(shown)
    assert "ci::run" not in json.dumps(shown)


def test_the_links_of_a_workflow_are_accepted(reader: Reader) -> None:
    start, explain = reader.read("signpost://workflows/deploy%20it")["links"]
    args: Any = {**start["args"], "input": {"service": "web"}}
    started = reader.call(start["method"], **args)
    assert started["state"] == "ready"
    assert reader.call(explain["method"], **explain["args"])["definitionId"] == "deploy it"


@pytest.mark.invariant(126)
def test_a_run_is_shown_exactly_as_workflow_get_shows_it(reader: Reader) -> None:
    run = reader.start("deploy it", service="web")["workflowId"]
    assert reader.read(f"signpost://runs/{run}") == reader.call("workflow.get", workflowId=run)


@pytest.mark.invariant(126)
def test_a_run_that_the_caller_may_not_see_is_answered_as_an_unknown_uri(reader: Reader) -> None:
    hidden = reader.start("personal", by="hugo")["workflowId"]
    assert reader.read(f"signpost://runs/{hidden}", by="hugo")["state"] == "open"
    for uri in (f"signpost://runs/{hidden}", "signpost://runs/wf_1", "signpost://runs/no%20id"):
        assert reader.is_unknown(uri), uri
    seen = reader.start("deploy it", service="web")["workflowId"]
    assert reader.is_unknown(f"signpost://runs/{seen}", by="otto")


def test_the_runs_that_the_caller_has_started_are_listed_and_completed(reader: Reader) -> None:
    first, second = (reader.start("deploy it", service=service)["workflowId"] for service in ("web", "shop"))
    found = reader.call("gateway.search", kind="run", mine=True)["results"]
    assert reader.read("signpost://runs") == {"items": [result["item"] for result in found]}
    assert {result["item"]["id"] for result in found} == {first, second}
    assert sorted(reader.complete("signpost://runs/{id}", "id", "wf_")["values"]) == sorted([first, second])
    assert reader.read("signpost://runs", by="hugo") == {"items": []}
    assert reader.complete("signpost://runs/{id}", "id", by="hugo")["values"] == []


def test_a_disabled_workflow_is_shown_to_administrators_only(reader: Reader) -> None:
    names = {by: reader.complete("signpost://workflows/{id}", "id", by=by)["values"] for by in ("ada", "root")}
    assert names == {"ada": ["deploy it", "personal"], "root": ["deploy it", "personal", "retired"]}
    assert reader.is_unknown("signpost://workflows/retired")
    shown = reader.read("signpost://workflows/retired", by="root")
    assert (shown["enabled"], shown["links"]) == (False, [])
    assert [item["enabled"] for item in reader.read("signpost://workflows", by="root")["workflows"]] == [
        True,
        True,
        False,
    ]


@pytest.mark.invariant(126)
@pytest.mark.parametrize(
    "what", ["workflow:deploy it", "deploy it", "workflow:Deploy", "signpost://workflows/deploy it", "signpost://*"]
)
def test_a_workflow_that_policy_denies_is_answered_as_an_unknown_uri(what: str) -> None:
    reader = Reader(no={"kind": "deny", "who": ["subject:ada"], "what": [what]})
    uri = "signpost://workflows/deploy%20it"
    assert reader.is_unknown(uri)
    assert reader.read(uri, by="hugo")["id"] == "deploy it"
    assert "deploy it" not in reader.complete("signpost://workflows/{id}", "id")["values"]


@pytest.mark.invariant(126)
def test_rules_about_uris_hold_for_overviews() -> None:
    reader = Reader(no={"kind": "mcp_restriction", "what": ["signpost://config*", "signpost://runs/*"]})
    assert patterns_of(reader) == ["signpost://{topic}", "signpost://workflows/{id}"]
    run = reader.start("deploy it", service="web")["workflowId"]
    for uri in ("signpost://config", "signpost://config/tool_timeout_ms", f"signpost://runs/{run}"):
        assert reader.is_unknown(uri), uri
    assert reader.complete("signpost://{topic}", "topic")["values"] == ["deployment", "workflows", "runs"]
    assert reader.complete("signpost://config/{key}", "key")["values"] == []


@pytest.mark.invariant(126)
@pytest.mark.parametrize(
    ("whole", "denied", "left"),
    [
        ("signpost://config", "signpost://config/tool_timeout_ms", ["limits.answer_bytes", "breaker_failures"]),
        ("signpost://config", "signpost://config/limits.*", ["tool_timeout_ms"]),
        ("signpost://workflows", "signpost://workflows/deploy it", ["personal"]),
        ("signpost://runs", "signpost://runs/*", []),
    ],
)
def test_an_entry_that_policy_denies_is_not_in_its_list(whole: str, denied: str, left: Sequence[str]) -> None:
    reader = Reader(no={"kind": "deny", "who": ["subject:ada"], "what": [denied]})
    reader.start("deploy it", service="web")
    names = names_in(reader.read(whole))
    assert names >= {*left}
    assert [name for name in names if reader.is_unknown(f"{whole}/{quote(name)}")] == []


def names_in(overview: Any) -> set[str]:
    entries = [entry for name in ("settings", "limits", "workflows", "items") for entry in overview.get(name, [])]
    return {entry.get("key", entry.get("id")) for entry in entries}


def test_a_denied_uri_is_logged_with_its_rule(capsys: pytest.CaptureFixture[str]) -> None:
    reader = Reader(quiet={"kind": "mcp_restriction", "what": ["signpost://config*"]})
    assert "error" in reader.ask("resources/read", {"uri": "signpost://config"})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    denied = [(line["item"], line["rule"]) for line in lines if line.get("message") == "denied"]
    assert denied == [("signpost://config", "quiet")]


def test_with_default_deny_overviews_need_a_rule_that_allows_them() -> None:
    reader = Reader(default="deny", work={"kind": "allow", "who": ["*"], "what": ["workflow:deploy it"]})
    assert patterns_of(reader) == []
    assert reader.is_unknown("signpost://deployment")
    allowed: JsonObject = {"kind": "allow", "who": ["*"], "what": ["workflow:deploy it", "signpost://*"]}
    reader = Reader(default="deny", work=allowed)
    assert patterns_of(reader) == PATTERNS
    assert [item["id"] for item in reader.read("signpost://workflows")["workflows"]] == ["deploy it"]


def entries_of(configuration: Any) -> Mapping[str, Any]:
    return {entry["key"]: entry for entry in (*configuration["settings"], *configuration["limits"])}


def test_the_configuration_has_values_defaults_and_limits(reader: Reader) -> None:
    settings = MemoryRuntimeSettings(reader.gateway.functions)
    settings.set(None, None, "server_title", "Everywhere")
    settings.set(TENANT, None, "tool_timeout_ms", 5_000)
    settings.set("other", None, "server_name", "theirs")
    configuration = reader.read("signpost://config")
    assert configuration["tenant"] == TENANT
    entries = entries_of(configuration)
    told = {entry["key"]: (entry["value"], entry["default"], entry["isSet"]) for entry in configuration["settings"]}
    assert told["tool_timeout_ms"] == (5_000, 30_000, True)
    assert told["server_title"] == ("Everywhere", "Everywhere", False)
    assert told["server_name"] == ("signpost", "signpost", False)
    assert told["state_timeout_ms"] == (10_000, 10_000, False)
    assert entries["limits.answer_bytes"]["value"] == LONGEST_ANSWER
    for key, entry in entries.items():
        assert reader.read(f"signpost://config/{key}") == entry
    assert reader.is_unknown("signpost://config/tool_timeout")
    assert reader.complete("signpost://config/{key}", "key", "tool_")["values"] == ["tool_timeout_ms"]


@pytest.mark.invariant(127)
def test_a_setting_is_shown_only_if_the_list_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    key = runtime_settings.TextSetting("", "a text", runtime_settings.TEXTS["hidden_prefixes"].pattern, 99, "a key")
    monkeypatch.setattr(runtime_settings, "SETTINGS", {**runtime_settings.SETTINGS, "search_key": key})
    reader = Reader()
    for name in ("search_key", "from_the_future"):
        MemoryRuntimeSettings(reader.gateway.functions).set(TENANT, None, name, SECRET)
        for by in ("ada", "root"):
            assert SECRET not in json.dumps(reader.read("signpost://config", by=by))
            assert reader.is_unknown(f"signpost://config/{name}", by=by)


@pytest.mark.invariant(127)
def test_prefixes_of_hidden_functions_are_shown_to_administrators_only(reader: Reader) -> None:
    assert "internal::" not in json.dumps(reader.read("signpost://config"))
    assert reader.is_unknown("signpost://config/hidden_prefixes")
    assert reader.read("signpost://config/hidden_prefixes", by="root")["value"] == "internal::"


def test_the_deployment_says_what_it_is_and_counts_what_the_caller_can_use(reader: Reader) -> None:
    executor = Executor("arn:tools", "secret:tools", 30_000)
    hosted = [HostedFunction("ci::run"), HostedFunction("ci::quiet", hidden=True), HostedFunction("internal::key")]
    hosted.append(HostedFunction("ci::ask", component=Component("prompt")))
    assert MemoryDirectory(reader.gateway.functions).place(TENANT, executor, hosted) == []
    reader.gateway.adapters.content.apply(TENANT, [SkillChange("a", build_skill("a", "# A", "2026-01-01T00:00:00Z"))])
    shown = reader.read("signpost://deployment")
    assert (shown["name"], shown["version"], shown["product"]) == ("signpost", __version__, "Signpost")
    assert [endpoint["url"] for endpoint in shown["endpoints"]] == [f"https://gateway.test{path}" for path in ENDPOINTS]
    assert shown["protocolVersions"][:2] == [MODERN, LEGACY]
    assert shown["counts"] == {"documents": 1, "prompts": 1, "workflows": 2, "capabilities": 0, "skills": 1}
    assert len(reader.ask("prompts/list")["result"]["prompts"]) == 1
    assert reader.read("signpost://deployment", by="otto")["counts"]["workflows"] == 0


def test_a_long_list_of_workflows_is_cut_and_says_so() -> None:
    reader = Reader()
    items = [CatalogueItem(f"w{n:04}", "workflow", "W", "d" * 2_000, definition="0" * 64) for n in range(3_000)]
    reader.gateway.store_catalogue(TENANT, *items)
    reader.gateway.clock.advance(REVALIDATION_INTERVAL)
    shown = reader.read("signpost://workflows")
    assert 400 < len(shown["workflows"]) < 500
    assert len(shown["workflows"]) + shown["omitted"] == 3_000
    (search,) = shown["links"]
    assert reader.call(search["method"], **search["args"])["results"]
    completed = reader.complete("signpost://workflows/{id}", "id")
    assert (len(completed["values"]), completed["total"], completed["hasMore"]) == (100, 3_000, True)


@pytest.mark.parametrize(
    "uri",
    [
        "signpost://",
        "signpost://workflows/",
        "signpost://workflows/deploy it/x",
        "signpost://deployment/name",
        "signpost:workflows",
        "signpost://Workflows",
        "signpost://workflows/%ff",
        "signpost://config/" + "a" * 3_000,
    ],
)
def test_other_uris_have_no_resource(reader: Reader, uri: str) -> None:
    assert reader.is_unknown(uri)


@pytest.mark.parametrize(("pattern", "argument"), [("signpost://{topic}", "id"), ("signpost://x/{id}", "id")])
def test_an_unknown_template_or_variable_has_no_completions(reader: Reader, pattern: str, argument: str) -> None:
    assert reader.complete(pattern, argument)["code"] == -32602


def test_the_catalog_shows_the_whole_overviews_as_hidden_resources() -> None:
    reader = Reader(path="/mcp/flat")
    shown = reader.call("catalog", type="resources", query="signpost://")["resources"]
    assert [(resource["uri"], resource["hidden"]) for resource in shown] == [(uri, True) for uri in WHOLE]


TEMPLATES = {"signpost.surfaces.overview.overviews", "signpost.wiring.overviews"}
TOPICS = {
    "signpost.surfaces.overview.workflow_overview",
    "signpost.surfaces.overview.configuration_overview",
    "signpost.surfaces.overview.deployment_overview",
    "signpost.surfaces.overview.run_overview",
    "signpost.wiring.overview_limits",
    "signpost.workflow.engine.engine",
}


def test_lists_of_tools_and_resources_import_nothing_of_the_overviews() -> None:
    program = (
        "from tests.support.memory_gateway import MemoryGateway\n"
        "gateway = MemoryGateway()\n"
        "for method in ('tools/list', 'resources/list', 'prompts/list'): gateway.request(method)\n"
        "gateway.request('resources/read', {'uri': 'iii://skills'})\n"
    )
    assert imported_by(program, TEMPLATES | TOPICS) == set()
    program += "gateway.request('resources/templates/list')\n"
    assert imported_by(program, TEMPLATES | TOPICS) == TEMPLATES
    for uri in (*WHOLE, "signpost://runs/wf_1"):
        program += f"gateway.request('resources/read', {{'uri': {uri!r}}})\n"
    assert imported_by(program, TEMPLATES | TOPICS) == TEMPLATES | TOPICS
