"""The seven tools of /mcp: what they answer, to whom, and what there is to go on with when something is wrong."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signpost.mcp.results import LONGEST_REPEATED
from signpost.model import JsonObject, Principal
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS, HOME, INSTRUCTIONS, PAGE
from signpost.workflow.engine.argument_schemas import ANY_ARGUMENTS, NO_ARGUMENTS
from tests.support.gateway_workflows import TENANT, GatewayWorkflows
from tests.support.imports import imported_by
from tests.support.manifests import publish
from tests.support.memory_gateway import MemoryGateway

LIST_ISSUES: JsonObject = {
    "type": "object",
    "required": ["repo"],
    "properties": {"repo": {"type": "string"}, "state": {"type": "string"}},
    "additionalProperties": False,
}
MANIFEST: Mapping[str, Any] = {
    "version": 1,
    "connections": {"tracker": {"kind": "rest", "baseUrl": "http://127.0.0.1:9"}},
    "proxy": {
        "expose": [
            {"name": "github.list_issues", "title": "List GitHub issues", "inputSchema": LIST_ISSUES},
            {"name": "github.close_issue", "title": "Close a GitHub issue", "inputSchema": LIST_ISSUES},
            {"name": "clock.now", "title": "What time it is"},
        ]
    },
    "workflows": {
        "deploy_pipeline": {
            "title": "Deploy Pipeline",
            "description": "Lint, test, build, and deploy a service.",
            "tags": ["deploy"],
            "inputSchema": {"type": "object", "required": ["service"], "properties": {"service": {"type": "string"}}},
            "initialState": "ready_to_deploy",
            "states": {
                "ready_to_deploy": {
                    "transitions": {"deploy": {"target": "deployed"}, "abort": {"target": "aborted"}},
                },
                "deployed": {"terminal": True},
                "aborted": {"terminal": True},
            },
        },
        "private_matter": {
            "readers": [{"kind": "role", "role": "hr"}],
            "initialState": "open",
            "states": {"open": {"transitions": {"close": {"target": "closed"}}}, "closed": {"terminal": True}},
        },
    },
}
ANYWHERE: Sequence[JsonObject] = [
    {"rel": "home", "method": "gateway.home", "args": {}},
    {"rel": "search", "method": "gateway.search", "args": {"query": ""}},
]
CALLERS = {
    "agent": Principal("agent-1", TENANT, "t"),
    "hr": Principal("hanna", TENANT, "t", frozenset({"hr"})),
}


class ToolsClient:
    """A gateway with the manifest, and who asks it."""

    def __init__(self) -> None:
        self.gateway = MemoryGateway()
        self.publish(MANIFEST)

    def publish(self, manifest: Mapping[str, Any], tenant: str = TENANT) -> None:
        adapters = self.gateway.adapters
        publish(adapters.content, adapters.values, adapters.definitions, tenant, manifest)

    def result(self, tool: str, *, tenant: str = TENANT, **args: Any) -> Any:
        credential = self.gateway.make_token(tenant=tenant, sub="somebody")
        return self.gateway.request("tools/call", {"name": tool, "arguments": args}, credential=credential).json[
            "result"
        ]

    def ask(self, tool: str, **args: Any) -> Any:
        result = self.result(tool, **args)
        assert result["isError"] is False, result
        return result["structuredContent"]

    def fails(self, tool: str, **args: Any) -> Any:
        """With the one form that errors have, in the text as well."""
        result = self.result(tool, **args)
        assert result["isError"] is True
        answered = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == answered
        assert answered.keys() == {"error", "links"}
        assert answered["links"][-2:] == ANYWHERE
        return answered


@pytest.fixture
def client() -> ToolsClient:
    return ToolsClient()


@pytest.fixture
def world() -> GatewayWorkflows:
    world = GatewayWorkflows(CALLERS)
    world.publish_manifest(MANIFEST)
    return world


class TestToolList:
    @pytest.mark.parametrize("manifest", [{"version": 1}, MANIFEST])
    def test_exactly_seven_tools_are_listed(self, client: ToolsClient, manifest: Mapping[str, Any]) -> None:
        client.publish(manifest, tenant="default")
        assert [tool["name"] for tool in client.gateway.request("tools/list").json["result"]["tools"]] == [
            "gateway.home",
            "gateway.search",
            "gateway.describe",
            "workflow.start",
            "workflow.get",
            "workflow.submit",
            "workflow.explain",
        ]

    def test_each_tool_has_a_title_an_input_schema_and_an_output_schema(self) -> None:
        for tool in GATEWAY_TOOLS:
            assert (tool.input_schema.get("additionalProperties") is False) == (tool is not HOME)
            assert tool.output_schema is not None
            assert tool.title

    def test_listing_the_tools_does_not_import_their_runners(self) -> None:
        """It would be felt at every cold start."""
        listing = "signpost.surfaces.gateway.tool_specs"
        running = {"jsonschema", "rapidfuzz", "signpost.search.ranking", "signpost.workflow.definition"}
        assert imported_by("import signpost.wiring.gateway", {listing, *running}) == {listing}

    def test_an_unlisted_tool_can_be_called(self, client: ToolsClient) -> None:
        answer = client.result("skill__fetch", uri="iii://skills")
        assert "There is no tool" not in json.dumps(answer)

    def test_canonical_and_portable_names_can_be_called(self, client: ToolsClient) -> None:
        for name in ("workflow.explain", "workflow_explain"):
            assert client.ask(name, definitionId="deploy_pipeline")["initialState"] == "ready_to_deploy"

    def test_the_instructions_name_the_tools_and_the_members_of_a_step(self) -> None:
        for said in (
            "gateway.home",
            "gateway.search",
            "workflow.start",
            "workflow.submit",
            "expectedVersion",
            "`self`",
            "skills",
            "iii://",
            "resources/read",
            "skill__fetch",
        ):
            assert said in INSTRUCTIONS
        assert INSTRUCTIONS.endswith("Stop when `terminal` is true.")


class TestDiscovery:
    def test_a_search_returns_scores_and_items_with_links(self, client: ToolsClient) -> None:
        (first, *_) = client.ask("gateway.search", query="deploy")["results"]
        assert first["score"] == 17.0
        assert first["item"] == next(
            item for item in client.ask("gateway.home")["items"] if item["id"] == "deploy_pipeline"
        )

    def test_a_search_without_a_query_returns_all_items_by_id(self, client: ToolsClient) -> None:
        results = client.ask("gateway.search")["results"]
        assert [(one["score"], one["item"]["id"]) for one in results] == [
            (1.0, "clock.now"),
            (1.0, "deploy_pipeline"),
            (1.0, "github.close_issue"),
            (1.0, "github.list_issues"),
            (1.0, "private_matter"),
        ]

    def test_kind_and_limit_narrow_a_search(self, client: ToolsClient) -> None:
        results = client.ask("gateway.search", query="", kind="workflow", limit=1)["results"]
        assert [one["item"]["id"] for one in results] == ["deploy_pipeline"]

    @pytest.mark.parametrize(("limit", "found"), [({}, 10), ({"limit": 0}, 10), ({"limit": 10**9}, PAGE)])
    def test_a_search_returns_at_most_one_page(self, client: ToolsClient, limit: Any, found: int) -> None:
        exposed = [{"name": f"c.{number:04}"} for number in range(PAGE + 50)]
        client.publish({"version": 1, "proxy": {"expose": exposed}})
        assert len(client.ask("gateway.search", query="", **limit)["results"]) == found

    def test_a_tenant_can_choose_the_ranking(self, client: ToolsClient) -> None:
        client.publish({**MANIFEST, "discovery": {"ranking": "fused"}})
        (first, *_) = client.ask("gateway.search", query="deploy")["results"]
        assert first["item"]["id"] == "deploy_pipeline"
        assert 0 < first["score"] <= 1

    @pytest.mark.parametrize("tool", ["gateway.home", "gateway.search"])
    def test_an_included_connection_is_listed_without_links(self, client: ToolsClient, tool: str) -> None:
        client.publish({**MANIFEST, "discovery": {"include": ["connections"]}})
        answer = client.ask(tool)
        (item,) = answer["items"] if tool == "gateway.home" else [one["item"] for one in answer["results"]]
        assert (item["kind"], item["title"], item["links"]) == ("connection", "tracker", [])

    def test_a_description_has_the_input_schema_in_its_link(self, client: ToolsClient) -> None:
        workflow = client.ask("gateway.describe", id="deploy_pipeline")
        assert workflow["links"] == [
            {
                "rel": "start",
                "method": "workflow.start",
                "args": {"definitionId": "deploy_pipeline", "input": {}},
                "input_schema": MANIFEST["workflows"]["deploy_pipeline"]["inputSchema"],
            }
        ]
        capability = client.ask("gateway.describe", id="github.list_issues")
        (link,) = capability["links"]
        assert link["args"] == {"definitionId": "proxy_default", "input": {"capability": "github.list_issues"}}
        assert link["input_schema"] == LIST_ISSUES

    @pytest.mark.parametrize(("item", "schema"), [("clock.now", NO_ARGUMENTS), ("private_matter", ANY_ARGUMENTS)])
    def test_the_link_of_an_item_without_a_schema_says_what_it_takes(
        self, client: ToolsClient, item: str, schema: JsonObject
    ) -> None:
        (link,) = client.ask("gateway.describe", id=item)["links"]
        assert link["input_schema"] == schema

    def test_an_unknown_id_is_an_error_with_the_nearest_one(self, client: ToolsClient) -> None:
        answered = client.fails("gateway.describe", id="deploy_pipelin")
        assert answered["error"]["code"] == "NOT_FOUND"
        assert "Did you mean deploy_pipeline?" in answered["error"]["message"]
        assert answered["links"][0] == {
            "rel": "describe",
            "method": "gateway.describe",
            "args": {"id": "deploy_pipeline"},
        }
        assert client.fails("gateway.describe", id="§§§")["links"] == ANYWHERE


class TestErrors:
    @pytest.mark.parametrize(
        ("tool", "args", "says"),
        [
            ("gateway.home", {"cursor": 2}, "cursor"),
            ("gateway.search", {"page": 2}, "page"),
            ("gateway.search", {"query": 7}, "query"),
            ("gateway.search", {"limit": "all"}, "limit"),
            ("gateway.search", {"kind": "skill"}, "kind"),
            ("gateway.describe", {}, "id"),
            ("workflow.start", {"input": []}, "input"),
            ("workflow.get", {}, "workflowId"),
            ("workflow.submit", {"workflowId": "wf_0", "expectedVersion": "1", "transition": "a"}, "expectedVersion"),
            ("workflow.explain", {}, "definitionId"),
        ],
    )
    def test_invalid_arguments_are_named(self, client: ToolsClient, tool: str, args: Any, says: str) -> None:
        error = client.fails(tool, **args)["error"]
        assert error["code"] == "INPUT_SCHEMA_VIOLATION"
        assert says in error["message"]

    def test_a_malformed_submission_links_to_its_workflow(self, client: ToolsClient) -> None:
        links = client.fails("workflow.submit", workflowId="wf_0", transition="deploy")["links"]
        assert links[0] == {"rel": "self", "method": "workflow.get", "args": {"workflowId": "wf_0"}}

    @pytest.mark.parametrize(
        ("tool", "args"),
        [
            ("workflow.get", {"workflowId": "x" * 2_000}),
            ("workflow.submit", {"workflowId": "wf_0", "expectedVersion": 1, "transition": "x" * 2_000}),
            ("workflow.start", {"definitionId": "x" * 500_000}),
        ],
    )
    def test_overlong_names_are_refused_with_a_short_answer(self, client: ToolsClient, tool: str, args: Any) -> None:
        answered = client.fails(tool, **args)
        assert answered["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
        assert len(json.dumps(answered)) < 2_000

    @pytest.mark.parametrize("tool", ["workflow.get", "workflow.submit"])
    def test_an_unknown_workflow_is_an_error(self, client: ToolsClient, tool: str) -> None:
        submitted: Mapping[str, Any] = {"expectedVersion": 1, "transition": "deploy"}
        args = submitted if tool == "workflow.submit" else {}
        assert client.fails(tool, workflowId="wf_0", **args)["error"]["code"] == "NOT_FOUND"

    @pytest.mark.parametrize("tool", ["workflow.start", "workflow.explain"])
    def test_an_unknown_definition_is_an_error_with_the_nearest_one(self, client: ToolsClient, tool: str) -> None:
        answered = client.fails(tool, definitionId="deploy-pipeline")
        assert "Did you mean deploy_pipeline?" in answered["error"]["message"]
        assert answered["links"][0]["args"] == {"id": "deploy_pipeline", "kind": "workflow"}

    def test_starting_a_capability_as_a_workflow_is_refused_with_a_hint(self, client: ToolsClient) -> None:
        answered = client.fails("workflow.start", definitionId="github.list_issues", input={"repo": "o/r"})
        assert "is a capability" in answered["error"]["message"]
        assert answered["links"][0]["args"] == {"id": "github.list_issues", "kind": "capability"}

    def test_invalid_input_is_an_error_that_links_to_the_schema(self, client: ToolsClient) -> None:
        answered = client.fails("workflow.start", definitionId="deploy_pipeline", input={})
        assert answered["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
        assert "service" in answered["error"]["message"]
        assert answered["links"][0]["args"] == {"id": "deploy_pipeline"}

    def test_an_unknown_transition_is_an_error_with_the_nearest_one(self, client: ToolsClient) -> None:
        answered = client.fails("workflow.explain", definitionId="deploy_pipeline", transition="deplyo")
        assert "Did you mean deploy?" in answered["error"]["message"]
        assert answered["links"][0]["args"] == {"definitionId": "deploy_pipeline"}


def test_a_refusal_is_an_answer_with_links(client: ToolsClient) -> None:
    started = client.ask("workflow.start", definitionId="deploy_pipeline", input={"service": "payments"})
    workflow_id = started["workflowId"]
    refused = client.ask("workflow.submit", workflowId=workflow_id, expectedVersion=1, transition="deplyo")
    assert refused["error"]["code"] == "INVALID_TRANSITION"
    assert refused["error"]["message"].endswith("Did you mean deploy?")
    assert [link["rel"] for link in refused["links"]] == ["self", *["transition"] * 3]
    itself, deploy, _, cancel = refused["links"]
    assert cancel["args"]["transition"] == "$cancel"
    assert client.ask(itself["method"], **itself["args"])["state"] == "ready_to_deploy"
    ended = client.ask(deploy["method"], **deploy["args"])
    assert (ended["state"], ended["version"], ended["terminal"], ended["links"]) == ("deployed", 2, True, [])
    late = client.ask("workflow.submit", workflowId=workflow_id, expectedVersion=1, transition="abort")
    assert late["error"]["code"] == "STALE_WORKFLOW_VERSION"


@pytest.mark.invariant(50)
def test_an_instance_of_another_tenant_is_not_found(client: ToolsClient) -> None:
    client.publish(MANIFEST, tenant="other")
    started = client.ask("workflow.start", definitionId="deploy_pipeline", input={"service": "payments"})
    mine: Mapping[str, Any] = {"workflowId": started["workflowId"]}
    step = {**mine, "expectedVersion": 1, "transition": "deploy"}
    assert client.fails("workflow.get", tenant="other", **mine)["error"]["code"] == "NOT_FOUND"
    assert client.fails("workflow.submit", tenant="other", **step)["error"]["code"] == "NOT_FOUND"
    assert client.ask("workflow.get", **mine)["version"] == 1


@pytest.mark.invariant(50)
def test_only_readers_of_a_definition_see_its_instances(world: GatewayWorkflows) -> None:
    started = world.call("workflow.start", {"definitionId": "private_matter"}, "hr")
    step = {"workflowId": started["workflowId"], "expectedVersion": 1, "transition": "close"}
    for tool, args in (("workflow.get", {"workflowId": started["workflowId"]}), ("workflow.submit", step)):
        assert world.call(tool, args, "agent")["error"]["code"] == "NOT_FOUND"
    assert world.call("workflow.submit", step, "hr")["state"] == "closed"


def test_instances_of_a_removed_workflow_continue(client: ToolsClient) -> None:
    started = client.ask("workflow.start", definitionId="deploy_pipeline", input={"service": "payments"})
    client.publish({"version": 1})
    assert client.fails("workflow.start", definitionId="deploy_pipeline", input={"service": "payments"})
    (deploy, _) = started["links"]
    assert client.ask(deploy["method"], **deploy["args"])["state"] == "deployed"


class TestCapabilities:
    def start(self, desk: ToolsClient, **given: Any) -> Any:
        return desk.ask("workflow.start", definitionId="proxy_default", input=given)

    def test_the_start_link_of_a_capability_leads_only_to_it(self, client: ToolsClient) -> None:
        (start,) = client.ask("gateway.describe", id="github.list_issues")["links"]
        started = client.ask(start["method"], **start["args"])
        (link,) = started["links"]
        assert started["state"] == "ready"
        assert link["args"]["transition"] == "github.list_issues"
        assert link["args"]["arguments"] == {}
        assert link["inputSchema"] == LIST_ISSUES

    @pytest.mark.parametrize("given", [{"repo": "o/r"}, {"arguments": {"repo": "o/r"}}])
    def test_given_arguments_are_prefilled_in_the_link(self, client: ToolsClient, given: Mapping[str, Any]) -> None:
        schema: JsonObject = {"type": "object", "required": ["repo", "text"], "properties": {"repo": {}, "text": {}}}
        client.publish({"version": 1, "proxy": {"expose": [{"name": "github.comment", "inputSchema": schema}]}})
        (link,) = self.start(client, capability="github.comment", **given)["links"]
        assert link["args"]["arguments"] == {"repo": "o/r"}
        arguments = {**link["args"]["arguments"], "text": "hi"}
        done = client.ask(link["method"], **{**link["args"], "arguments": arguments})
        assert (done["state"], done["version"], done["context"]) == ("ready", 2, {"lastResult": {}})
        assert [one["args"]["transition"] for one in done["links"]] == ["github.comment", "$cancel"]

    @pytest.mark.parametrize("given", [{"repo": "o/r"}, {"arguments": {"repo": "o/r"}}])
    def test_a_capability_with_complete_arguments_is_executed_at_once(
        self, client: ToolsClient, given: Mapping[str, Any]
    ) -> None:
        done = self.start(client, capability="github.list_issues", **given)
        assert (done["state"], done["version"], done["context"]) == ("ready", 2, {"lastResult": {}})
        (link,) = done["links"]
        assert (link["args"]["transition"], link["args"]["arguments"]) == ("github.list_issues", {"repo": "o/r"})

    def test_an_argument_named_arguments_is_passed_as_one(self, client: ToolsClient) -> None:
        schema = {"type": "object", "properties": {"arguments": {"type": "object"}}}
        client.publish({"version": 1, "proxy": {"expose": [{"name": "shell.run", "inputSchema": schema}]}})
        (link,) = self.start(client, capability="shell.run", arguments={"path": "a"})["links"]
        assert link["args"]["arguments"] == {"arguments": {"path": "a"}}

    def test_another_capability_can_be_called_in_the_same_instance(self, client: ToolsClient) -> None:
        started = self.start(client, capability="github.list_issues")
        step = {"workflowId": started["workflowId"], "expectedVersion": 1, "transition": "clock.now"}
        assert client.ask("workflow.submit", **step)["version"] == 2

    def test_a_start_without_a_capability_links_all_in_order(self, client: ToolsClient) -> None:
        links = client.ask("workflow.start")["links"]
        exposed = ["github.list_issues", "github.close_issue", "clock.now"]
        assert [link["args"]["transition"] for link in links] == exposed

    @pytest.mark.parametrize("capability", ["github.list_issue", 7, ["github.list_issues"], {}])
    def test_an_unknown_capability_is_an_error(self, client: ToolsClient, capability: Any) -> None:
        given = {"capability": capability}
        answered = client.fails("workflow.start", definitionId="proxy_default", input=given)
        assert answered["error"]["code"] == "NOT_FOUND"
        if isinstance(capability, str):
            assert answered["links"][0]["args"] == {"id": "github.list_issues", "kind": "capability"}

    @pytest.mark.parametrize(("wanted", "shown"), [({"a": 1}, '{"a": 1}'), ("x" * 900_000, "x" * 200)])
    def test_an_unknown_capability_is_quoted_as_short_json(self, client: ToolsClient, wanted: Any, shown: str) -> None:
        answer = client.fails("workflow.start", input={"capability": wanted})
        assert answer["error"]["message"].startswith(f"There is no capability {shown} that")

    def test_without_capabilities_there_is_no_proxy_workflow(self, client: ToolsClient) -> None:
        client.publish({"version": 1})
        assert client.fails("workflow.start", definitionId="proxy_default")["error"]["code"] == "NOT_FOUND"


class TestLongAnswers:
    LONG = "x" * LONGEST_REPEATED

    def keeping(self) -> Mapping[str, Any]:
        transitions = {"keep": {"target": "open", "output": {"kept": "$.arguments.text"}}}
        return {
            "version": 1,
            "workflows": {"notes": {"initialState": "open", "states": {"open": {"transitions": transitions}}}},
        }

    def test_a_long_context_is_sent_only_as_structured_content(self, client: ToolsClient) -> None:
        client.publish(self.keeping())
        started = client.ask("workflow.start", definitionId="notes")
        step: Mapping[str, Any] = {"workflowId": started["workflowId"], "expectedVersion": 1, "transition": "keep"}
        result = client.result("workflow.submit", **step, arguments={"text": self.LONG})
        assert result["structuredContent"]["context"] == {"kept": self.LONG}
        short, said = (block["text"] for block in result["content"])
        whole = result["structuredContent"]
        assert json.loads(short) == {name: whole[name] for name in whole if name != "context"}
        assert "context" in said

    def test_a_client_without_structured_content_gets_the_whole_text(self, client: ToolsClient) -> None:
        client.publish(self.keeping())
        started = client.ask("workflow.start", definitionId="notes")
        step = {"workflowId": started["workflowId"], "expectedVersion": 1, "transition": "keep"}
        params: JsonObject = {"name": "workflow.submit", "arguments": {**step, "arguments": {"text": self.LONG}}}
        credential = client.gateway.make_token(tenant=TENANT, sub="somebody")
        answer = client.gateway.request_legacy("tools/call", params, "2025-03-26", credential)
        (block,) = answer.json["result"]["content"]
        assert json.loads(block["text"])["context"] == {"kept": self.LONG}


SLOW: JsonObject = {"type": "object", "properties": {"mail": {"type": "string", "pattern": r"^\S+@\S+\.\S+$"}}}
SLOW_VALUE: JsonObject = {"mail": "@." * 50_000 + " "}
GUARDED_STATES: JsonObject = {
    "a": {
        "transitions": {
            "send": {"target": "b", "inputSchema": SLOW},
            "approve": {"target": "b", "inputSchema": SLOW, "guards": [{"kind": "role", "role": "boss"}]},
        }
    },
    "b": {"terminal": True},
}


@pytest.fixture
def mailing() -> GatewayWorkflows:
    world = GatewayWorkflows({"ann": Principal("ann", TENANT, "t")})
    world.publish("mailing", {"initialState": "a", "states": GUARDED_STATES})
    world.publish("mail", {"initialState": "a", "states": {"a": {}}, "inputSchema": SLOW})
    return world


@pytest.mark.invariant(94)
def test_arguments_of_a_transition_are_validated_within_the_time_limit(mailing: GatewayWorkflows) -> None:
    started = mailing.call("workflow.start", {"definitionId": "mailing", "input": {}}, "ann")
    args = {"workflowId": started["workflowId"], "expectedVersion": 1, "transition": "send", "arguments": SLOW_VALUE}
    error = mailing.call("workflow.submit", args, "ann")["error"]
    assert error["code"] == "INPUT_SCHEMA_VIOLATION"
    assert "takes too long to validate" in error["message"]
    error = mailing.call("workflow.submit", {**args, "transition": "approve"}, "ann")["error"]
    assert error["code"] == "GUARD_REJECTED", "its arguments were validated before the guard on its principal"


@pytest.mark.invariant(94)
def test_the_input_of_a_start_is_validated_within_the_time_limit(mailing: GatewayWorkflows) -> None:
    error = mailing.call("workflow.start", {"definitionId": "mail", "input": SLOW_VALUE}, "ann")["error"]
    assert error["code"] == "INPUT_SCHEMA_VIOLATION"
    assert "takes too long to validate" in error["message"]


@pytest.mark.invariant(92)
def test_a_start_without_a_schema_takes_what_its_link_says() -> None:
    world = GatewayWorkflows({"ann": Principal("ann", TENANT, "t")})
    world.publish("plain", {"initialState": "a", "states": {"a": {}}})
    describe, start = ("gateway.describe", {"id": "plain"}), {"definitionId": "plain", "input": {"n": 1}}
    assert world.call(*describe, "ann")["links"][0]["input_schema"] == ANY_ARGUMENTS
    assert world.call("workflow.start", start, "ann")["state"] == "a"
    world.set_for_tenant("undeclared_arguments", "refuse")
    world.clock.advance(2)
    assert world.call(*describe, "ann")["links"][0]["input_schema"] == NO_ARGUMENTS
    assert world.call("workflow.start", start, "ann")["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    assert world.call("workflow.start", {**start, "input": {}}, "ann")["state"] == "a"


def test_the_input_that_a_parent_gives_to_its_child_needs_no_schema() -> None:
    world = GatewayWorkflows({"ann": Principal("ann", TENANT, "t")})
    world.set_for_tenant("undeclared_arguments", "refuse")
    executor = {"kind": "workflow", "definitionId": "child", "input": {"n": "$.context.n"}}
    go = {"target": "b", "executor": executor, "output": {"said": "$.output.said"}}
    ends = {"b": {"terminal": True}}
    world.publish(
        "parent",
        {"initialState": "a", "initialContext": {"n": 3}, "states": {"a": {"transitions": {"go": go}}, **ends}},
    )
    hop = {"target": "b", "actor": "deterministic", "output": {"said": "$.workflow.input.n"}}
    world.publish("child", {"initialState": "a", "states": {"a": {"transitions": {"hop": hop}}, **ends}})
    refused = world.call("workflow.start", {"definitionId": "child", "input": {"n": 3}}, "ann")
    assert refused["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    started = world.call("workflow.start", {"definitionId": "parent", "input": {}}, "ann")
    (link,) = [link for link in started["links"] if link["rel"] == "transition"]
    answer = world.call("workflow.submit", {**link["args"], "arguments": {}}, "ann")
    assert (answer["state"], answer["context"]["said"]) == ("b", 3), answer


CALLING: JsonObject = {
    "kind": "function",
    "function": "mail::send",
    "command": "deploy --token swordfish",
    "connection": "tracker",
    "arguments": {"headers": {"authorization": "Bearer swordfish"}, "to": "$.arguments.to"},
    "query": {"api_key": "swordfish"},
    "body": {"login": [{"password": "swordfish"}]},
    "env": {"TOKEN": "swordfish"},
}


@pytest.mark.invariant(95)
def test_an_explanation_shows_the_settings_of_an_executor_to_administrators_only() -> None:
    admin = Principal("root", TENANT, "t", permissions=frozenset({"signpost.admin"}))
    world = GatewayWorkflows({"ann": Principal("ann", TENANT, "t"), "root": admin})
    states: JsonObject = {"a": {"transitions": {"go": {"target": "a", "executor": CALLING}}}}
    world.publish("demo", {"initialState": "a", "states": states})
    args = {"definitionId": "demo", "transition": "go"}
    assert world.call("workflow.explain", args, "ann")["executor"] == {
        "kind": "function",
        "function": "mail::send",
        "connection": "tracker",
        "arguments": {"headers": "(hidden)", "to": "(hidden)"},
    }
    shown = world.call("workflow.explain", args, "root")["executor"]
    assert (shown["query"], shown["body"]) == (CALLING["query"], CALLING["body"])
    assert (shown["env"], shown["arguments"]["headers"]) == ("(hidden)", "(hidden)")
    assert "swordfish" not in json.dumps([world.call("gateway.describe", {"id": "demo"}, "ann")])
    started = world.call("workflow.start", {"definitionId": "demo", "input": {}}, "ann")
    assert "swordfish" not in json.dumps(started)


def test_an_explanation_shows_a_plain_command() -> None:
    world = GatewayWorkflows({"ann": Principal("ann", TENANT, "t")})
    executor: JsonObject = {"kind": "cli", "command": "deploy"}
    states: JsonObject = {"a": {"transitions": {"deploy": {"target": "a", "executor": executor}}}}
    world.publish("demo", {"initialState": "a", "states": states})
    explained = world.call("workflow.explain", {"definitionId": "demo", "transition": "deploy"}, "ann")
    assert (explained["executor"], explained["inputSchema"]) == (executor, None)
