"""What policy leaves to whom, as clients see it at every endpoint: the vault is not there, or there as for anybody."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, override

import pytest

from signpost.adapters.alarm import alarm
from signpost.adapters.memory import MemoryBreakers, MemoryContentStore, MemoryRevisionRows, MemoryTextStore
from signpost.calling.components import COMPLETE_SUFFIX
from signpost.content.callers import Caller
from signpost.content.model import CatalogueChange, ChangeEvent
from signpost.contract import BreakerState, Component, HostedFunction
from signpost.errors import Unavailable
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import PROXY_WORKFLOW, JsonObject, Principal
from signpost.schema.validation import Validators
from signpost.workflow.definition_reader import parse_published_definition
from signpost.workflow.engine.capability_focus import restrict_capabilities
from signpost.workflow.engine.engine import Engine, NewInstance
from signpost.workflow.engine.links import build_links
from signpost.workflow.engine.permissions import may_cancel
from signpost.workflow.proxy_default import document_of
from signpost.workflow.running.answers import may_read
from signpost.workflow.running.function_run import FunctionRun, build_function_run
from signpost.workflow.running.serialization import head_text, instance_of
from tests.support.guest_gateway import (
    LEGACY,
    PAGES,
    PATHS,
    TENANT,
    YARD,
    YARD_FUNCTIONS,
    GuestGateway,
    GuestRequest,
    build_completion_params,
    list_guest_requests,
)
from tests.support.memory_gateway import MODERN

ENGINE = Engine(Validators(alarm))

GUESTS = ["role:guest"]
EVERYTHING_IN_THE_VAULT = [
    "vault::*", "prompt:*vault", "iii://vault/*", "workflow:break_in", "capability:vault.*", "connection:vault_api",
]  # fmt: skip
AS_LISTED = [
    "skill:vault.open", "skill:vault.build", "skill:whisper", "ask_vault", "open-vault", "vault://*", "iii://vault/manual",
    "workflow:Break In", "vault.read", "vault_api",
]  # fmt: skip
AS_AT_THE_BRIDGE = [
    "vault__*", "prompt:ask_vault", "prompt:open-vault", "iii://v*", "break_in", "vault.*", "connection:vault*",
]  # fmt: skip
RULES: Mapping[str, Mapping[str, Any]] = {
    "denied": {"no-vault": {"kind": "deny", "who": GUESTS, "what": EVERYTHING_IN_THE_VAULT}},
    "denied as lists name it": {"no-vault": {"kind": "deny", "who": GUESTS, "what": AS_LISTED}},
    "denied as the bridge names it": {"no-vault": {"kind": "deny", "who": GUESTS, "what": AS_AT_THE_BRIDGE}},
    "denied though allowed": {
        "a": {"kind": "allow", "who": ["*"], "what": ["*"]},
        "no-vault": {"kind": "deny", "who": ["subject:gue*"], "what": ["*vault*", "break_in", "skill:whisper"]},
    },
    "not allowed": {
        "default": "deny",
        "yard": {
            "kind": "allow",
            "who": GUESTS,
            "what": ["yard*", "prompt:greet*", "iii://yard/*", "tour", "yard.look", "yard_api", "signpost://*"],
        },
    },
    "restricted": {"no-vault": {"kind": "mcp_restriction", "what": EVERYTHING_IN_THE_VAULT}},
}


class UnavailableContentStore(MemoryContentStore):
    @override
    def versions(self, tenant: str) -> tuple[int, int, str | None, str | None]:
        raise Unavailable("The table does not answer.")


def rule(kind: str, *what: str) -> Mapping[str, Any]:
    return {"kind": kind, "who": ["*"], "what": list(what)}


def policy_events(world: GuestGateway) -> Sequence[ChangeEvent]:
    content = world.gateway.adapters.content
    assert isinstance(content, MemoryContentStore)
    return [event for event in content.events if event.type == "policies::on-change"]


def replace_stored_rules(world: GuestGateway, text: str) -> None:
    adapters = world.gateway.adapters
    digest = adapters.definitions.keep(TENANT, text)
    before = adapters.content.catalogue(TENANT)
    assert before is not None
    adapters.content.apply(TENANT, [CatalogueChange(before, before, digest)])
    world.gateway.clock.advance(REVALIDATION_INTERVAL)


A_RUN = re.compile(r"wf_[A-Za-z0-9]+")


def without_ids(answer: str) -> str:
    """Of runs, which are made up anew each time."""
    return A_RUN.sub("wf_", answer)


@pytest.mark.invariant(70)
@pytest.mark.parametrize("version", [MODERN, LEGACY])
@pytest.mark.parametrize("rules", RULES)
def test_s23_s24_a_denied_item_is_unlisted_and_answered_like_an_absent_one(rules: str, version: str) -> None:
    denied = GuestGateway(with_vault=True, policies=RULES[rules], version=version, with_run=True)
    without = GuestGateway(with_vault=False, version=version)
    for asked in list_guest_requests(version):
        assert without_ids(denied.send(asked)) == without_ids(without.send(asked)), asked
    assert {message["call"]["function"].partition("::")[0] for message in denied.received_messages} <= {"yard"}


@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_each_request_shows_an_item_that_is_not_denied(version: str) -> None:
    """Or nothing would be shown by its not being there."""
    allowed = GuestGateway(with_vault=True, policies=RULES["denied"], version=version, with_run=True)
    allowed.log_in_as("owner", "staff")
    without = GuestGateway(with_vault=False, version=version)
    for asked in list_guest_requests(version):
        assert without_ids(allowed.send(asked)) != without_ids(without.send(asked)), asked


@pytest.mark.parametrize("tools", ["core::template_render", "core::*", "skill:template_render"])
def test_the_shipped_document_of_a_denied_function_is_denied_with_it(tools: str) -> None:
    world = GuestGateway(with_vault=False, policies={"no": {"kind": "deny", "who": GUESTS, "what": [tools]}})
    hosted = HostedFunction("core::template_render", name="template_render", doc="core/template_render")
    assert world.directory.place(None, YARD, [hosted]) == []
    shipped = Caller(None, Principal("operator", TENANT, "signpost:operator"), world.gateway.clock.now() + 20)
    payload: JsonObject = {"id": "core/template_render", "skill": "# Fill in a template\n\nHow to.\n"}
    functions = world.gateway.composition.documents.functions
    assert isinstance(functions.call("skills::register", payload, shipped), dict)
    world.gateway.clock.advance(REVALIDATION_INTERVAL)
    document = "iii://core/template_render"
    read = world.request("resources/read", {"uri": document})
    unknown = world.request("resources/read", {"uri": "iii://core/template_rendez"})
    assert (read["error"]["code"], unknown["error"]["code"]) == (-32602, -32602), (read, unknown)
    assert document not in world.list_names("resources/list", "resources", name="uri")
    world.log_in_as("owner", "staff")
    assert world.request("resources/read", {"uri": document})["result"]["contents"][0]["uri"] == document
    assert document in world.list_names("resources/list", "resources", name="uri")


def test_a_document_of_several_functions_is_denied_with_the_last_of_them() -> None:
    for denied, is_read in (["vault::open"], True), (["vault::open", "yard::door"], False):
        world = GuestGateway(with_vault=True, policies={"no": {"kind": "deny", "who": GUESTS, "what": denied}})
        assert world.directory.place(TENANT, YARD, [HostedFunction("yard::door", doc="yard/opening")]) == []
        world.gateway.clock.advance(REVALIDATION_INTERVAL)
        assert ("result" in world.request("resources/read", {"uri": "iii://yard/opening"})) is is_read


def test_portable_names_are_computed_from_allowed_items_only() -> None:
    denied, without = GuestGateway(with_vault=True, policies=RULES["denied"]), GuestGateway(with_vault=False)
    answers = [
        world.gateway.send(
            path="/mcp/flat",
            query={"names": "portable"},
            headers={"authorization": f"Bearer {world.key}", "content-type": "application/json"},
            body=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        )
        for world in (denied, without)
    ]
    assert answers[0].text == answers[1].text
    assert "skill_echo" in answers[0].text


def test_a_denied_capability_is_no_transition_of_a_started_instance() -> None:
    denied, without = GuestGateway(with_vault=True, policies=RULES["denied"]), GuestGateway(with_vault=False)
    said: list[list[str]] = []
    for world in (denied, without):
        started = world.call("workflow.start")["result"]["structuredContent"]
        known = {"workflowId": started["workflowId"], "expectedVersion": started["version"]}
        answers = [
            started,
            world.call("workflow.get", workflowId=started["workflowId"]),
            world.call("workflow.submit", **known, transition="vault.read", arguments={}),
            world.call("workflow.submit", **known, transition="yard.look", arguments={}),
        ]
        said.append([without_ids(json.dumps(answer)) for answer in answers])
    assert said[0] == said[1]
    assert '"INVALID_TRANSITION"' in said[0][2]


def test_a_principal_without_capabilities_finds_no_proxy_workflow() -> None:
    rule = {"kind": "deny", "who": ["*"], "what": ["capability:*", "skill:*"]}
    denied = GuestGateway(with_vault=True, policies={"no": rule})
    error = denied.call("workflow.start")["result"]["structuredContent"]["error"]
    assert error["code"] == "NOT_FOUND"
    assert error["message"].startswith("There is no workflow proxy_default ")


AS_A_CAPABILITY = ["vault.open", "capability:vault.open", "capability:vault.*"]


@pytest.mark.invariant(70)
@pytest.mark.parametrize("name", AS_A_CAPABILITY)
@pytest.mark.parametrize("kind", ["deny", "mcp_restriction"])
def test_a_callable_skill_is_denied_by_its_name_as_a_capability(name: str, kind: str) -> None:
    who = {"who": GUESTS} if kind == "deny" else {}
    denied = GuestGateway(with_vault=True, policies={"no": {"kind": kind, "what": [name], **who}})
    found = denied.call("gateway.search", query="vault", limit=200)["result"]["structuredContent"]["results"]
    assert "vault.open" not in [entry["item"]["id"] for entry in found]
    described = denied.call("gateway.describe", id="vault.open")
    started = denied.call("workflow.start", definitionId="proxy_default", input={"capability": "vault.open"})
    for answer in (described, started):
        assert answer["result"]["structuredContent"]["error"]["code"] == "NOT_FOUND"
    assert "error" in denied.call("skill:vault.open", "/mcp/flat")
    assert "error" in denied.call("vault__open", "/mcp/functions")
    assert denied.received_messages == []


@pytest.mark.parametrize("name", AS_A_CAPABILITY)
def test_a_callable_skill_is_allowed_by_its_name_as_a_capability(name: str) -> None:
    allowed = GuestGateway(with_vault=True, policies={"default": "deny", "a": rule("allow", name)})
    started = allowed.call("workflow.start", definitionId="proxy_default", input={"capability": "vault.open"})
    assert started["result"]["structuredContent"]["definitionId"] == "proxy_default"
    assert [message["call"]["function"] for message in allowed.received_messages] == ["vault::open"]


SLOW = "vault::build"


def start_long_call(world: GuestGateway) -> Any:
    """A run of a call that takes longer than a client waits."""
    return world.call("vault__build", "/mcp/functions")["result"]["structuredContent"]


def get_instance(world: GuestGateway, run: Any) -> Any:
    return world.call("workflow.get", workflowId=run["workflowId"])["result"]["structuredContent"]


def transitions(stand: Any) -> Sequence[str]:
    return [link["args"]["transition"] for link in stand["links"] if link["rel"] == "transition"]


@pytest.mark.invariant(70)
def test_completion_returns_no_value_of_a_denied_resource() -> None:
    world = GuestGateway(with_vault=True, policies={"no": rule("deny", "vault://pages/1")})
    assert complete_argument(world, PAGES, "n") == {"values": ["2"], "hasMore": False}
    world = GuestGateway(with_vault=True, policies={"default": "deny", "a": rule("allow", "vault::page")})
    assert complete_argument(world, PAGES, "n")["values"] == ["1", "2"]


@pytest.mark.invariant(70)
def test_completion_of_a_fixed_list_returns_no_value_of_a_denied_resource() -> None:
    world = GuestGateway(with_vault=True, policies={"no": rule("deny", "vault://rooms/a b/gold")})
    uri = "vault://rooms/{room}/{metal}"
    metals = Component("template", uri=uri, complete={"metal": ("gold", "silver")})
    assert world.directory.place(TENANT, YARD, [*YARD_FUNCTIONS, HostedFunction("yard::room", component=metals)]) == []
    world.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert complete_argument(world, uri, "metal", room="a b") == {"values": ["silver"], "hasMore": False, "total": 1}
    both = {"values": ["gold", "silver"], "hasMore": False, "total": 2}
    assert complete_argument(world, uri, "metal", room="c") == both
    assert complete_argument(world, uri, "metal") == both


def complete_argument(world: GuestGateway, uri: str, variable: str, **given: str) -> Any:
    asked = {**build_completion_params({"type": "ref/resource", "uri": uri}, variable), "context": {"arguments": given}}
    return world.request("completion/complete", asked)["result"]["completion"]


@pytest.mark.invariant(70)
def test_metrics_name_no_denied_function() -> None:
    world = GuestGateway(with_vault=True, policies=RULES["denied"])
    breakers = MemoryBreakers(world.gateway.functions)
    for function in ("vault::open", f"vault::page{COMPLETE_SUFFIX}", "yard::echo"):
        breakers.open(TENANT, function, BreakerState(world.gateway.clock.now() + 60, 3, "crashed"))
    denied = read_metrics(world)
    assert "vault" not in denied
    assert 'function="yard::echo"' in denied
    assert 'signpost_breakers{state="open"} 1' in denied
    world.log_in_as("owner", "staff")
    assert 'function="vault::open"' in read_metrics(world)
    assert 'signpost_breakers{state="open"} 3' in read_metrics(world)


def read_metrics(world: GuestGateway) -> str:
    return world.gateway.send("GET", "/metrics", headers={"authorization": f"Bearer {world.key}"}).text


@pytest.mark.invariant(50)
def test_a_long_call_is_visible_to_its_caller_and_to_resolvers() -> None:
    world = GuestGateway(with_vault=True)
    run = start_long_call(world)
    world.run_worker()
    assert get_instance(world, run)["context"] == {"lastResult": f"{SLOW} ran"}
    link, _cancel = get_instance(world, run)["links"]
    for stranger in ({"subject": "other"}, {"subject": "other", "scope": "workflow.cancel"}):
        world.log_in_as(**stranger)
        assert get_instance(world, run)["error"]["code"] == "NOT_FOUND"
        for transition in (SLOW, "$cancel"):
            order = {**link["args"], "transition": transition}
            refused = world.call("workflow.submit", **order)["result"]["structuredContent"]
            assert refused["error"]["code"] == "NOT_FOUND"
    world.log_in_as("keeper", scope="workflow.resolve")
    assert "lastResult" in get_instance(world, run)["context"]


def test_equal_subjects_of_two_issuers_are_different_principals() -> None:
    caller, namesake = (Principal("ann", TENANT, issuer) for issuer in ("an issuer", "another one"))
    call = build_function_run(FunctionRun(SLOW, idempotent=False))
    instance = ENGINE.start(call.definition, NewInstance("wf_a", call.digest, {}), caller, 0).instance
    kept = instance_of("wf_a", head_text(instance), "{}", "{}")
    assert [may_read(call.definition, kept, who) for who in (caller, namesake)] == [True, False]
    assert [may_cancel(kept, who) for who in (caller, namesake)] == [True, False]


def test_a_starter_stored_without_an_issuer_can_read_the_instance() -> None:
    caller = Principal("ann", TENANT, "an issuer")
    call = build_function_run(FunctionRun(SLOW, idempotent=False))
    instance = ENGINE.start(call.definition, NewInstance("wf_a", call.digest, {}), caller, 0).instance
    assert may_read(call.definition, replace(instance, starter_issuer=""), caller)


def test_a_denied_capability_that_was_running_is_not_linked_afterwards() -> None:
    """To whom the definition was shown with it, because it was."""
    offered = {name: {"target": "ready", "executor": {"kind": "noop"}} for name in ("yard.look", "vault.read")}
    proxy = parse_published_definition(PROXY_WORKFLOW, document_of(offered))
    shown = restrict_capabilities(proxy, lambda name: name == "yard.look", kept="vault.read")
    guest = Principal("guest", TENANT, "an issuer")
    instance = ENGINE.start(shown, NewInstance("wf_a", "a digest", {}), guest, 0).instance
    assert transitions({"links": build_links(shown, instance, guest, 0)}) == ["yard.look"]


@pytest.mark.invariant(70)
@pytest.mark.parametrize("name", [SLOW, "vault__build", "skill:vault.build", "skill:*", "capability:vault.*"])
def test_a_long_call_of_a_function_denied_by_any_name_cannot_be_repeated(name: str) -> None:
    world = GuestGateway(with_vault=True)
    run = start_long_call(world)
    world.run_worker()
    stand = get_instance(world, run)
    link, _cancel = stand["links"]
    world.publish_policies({"no": rule("deny", name)})
    assert transitions(get_instance(world, run)) == ["$cancel"]
    refused = world.call("workflow.submit", **link["args"])["result"]["structuredContent"]
    assert refused["error"]["code"] == "INVALID_TRANSITION"
    world.run_worker()
    assert [message["call"]["function"] for message in world.received_messages] == [SLOW]


@pytest.mark.parametrize("name", [SLOW, "vault__build", "skill:vault.build", "capability:vault.build"])
def test_a_function_allowed_by_any_name_is_linked_in_its_long_call(name: str) -> None:
    world = GuestGateway(with_vault=True, policies={"default": "deny", "a": rule("allow", name)})
    run = start_long_call(world)
    world.run_worker()
    assert transitions(get_instance(world, run)) == [SLOW, "$cancel"]


def test_a_long_call_in_doubt_is_shown_and_not_retried_once_denied() -> None:
    world = GuestGateway(with_vault=True)
    world.crashing_functions.add(SLOW)
    run = start_long_call(world)
    world.run_worker()
    (retry,) = [link for link in get_instance(world, run)["links"] if link["rel"] == "transition"]
    world.publish_policies({"no": rule("deny", SLOW)})
    stand = get_instance(world, run)
    assert (stand["inDoubt"]["transition"], transitions(stand)) == (SLOW, [])
    refused = world.call("workflow.submit", **retry["args"])["result"]["structuredContent"]
    assert refused["error"]["code"] == "GUARD_REJECTED"
    world.run_worker()
    assert len(world.received_messages) == 1
    world.publish_policies({}, prune=True)
    world.call("workflow.submit", **get_instance(world, run)["links"][-1]["args"])
    world.run_worker()
    assert len(world.received_messages) == 2


def test_the_questions_of_a_long_call_are_not_shown_or_answered_once_denied() -> None:
    world = GuestGateway(with_vault=True)
    world.asking_functions.add(SLOW)
    run = start_long_call(world)
    world.run_worker()
    (answer, _cancel) = [link for link in get_instance(world, run)["links"] if link["rel"] == "transition"]
    answers: Any = {**answer["args"], "arguments": {**answer["args"]["arguments"], "root": {"roots": []}}}
    world.publish_policies({"no": rule("deny", SLOW)})
    stand = get_instance(world, run)
    assert (stand["waitingFor"], "questions" in stand, transitions(stand)) == ("answers", False, ["$cancel"])
    refused = world.call("workflow.submit", **answers)["result"]["structuredContent"]
    assert refused["error"]["code"] == "GUARD_REJECTED"
    world.publish_policies({}, prune=True)
    world.call("workflow.submit", **answers)
    world.run_worker()
    assert len(world.received_messages) == 2
    assert get_instance(world, run)["context"] != {}


def test_a_started_instance_continues_after_its_workflow_is_denied() -> None:
    world = GuestGateway(with_vault=True)
    run = world.call("workflow.start", definitionId="break_in")["result"]["structuredContent"]
    world.publish_policies(RULES["denied"])
    went = world.call("workflow.submit", **run["links"][0]["args"])["result"]["structuredContent"]
    assert (went["state"], went["terminal"]) == ("shut", True)
    error = world.call("workflow.start", definitionId="break_in")["result"]["structuredContent"]["error"]
    assert error["code"] == "NOT_FOUND"


@pytest.mark.invariant(71)
def test_a_nested_call_reaches_only_functions_allowed_to_its_principal() -> None:
    denied, without = GuestGateway(with_vault=True, policies=RULES["denied"]), GuestGateway(with_vault=False)
    for function in ("vault::open", "vault::whisper", "vault::ask", "vault::page::enumerate"):
        assert denied.call_nested(function) == without.call_nested(function)
        assert denied.call_nested(function)["failure"]["code"] == "unknown_function"
    assert denied.call_nested("yard::echo")["result"] == "yard::echo ran"
    denied.log_in_as("owner", "staff")
    assert denied.call_nested("vault::open")["result"] == "vault::open ran"


def test_an_mcp_restriction_does_not_apply_to_nested_calls() -> None:
    world = GuestGateway(with_vault=True, policies=RULES["restricted"])
    assert world.call_nested("vault::open")["result"] == "vault::open ran"


def test_a_section_needs_access_to_its_function_and_its_uri() -> None:
    def is_read(**rules: Any) -> bool:
        world = GuestGateway(with_vault=True, policies=rules)
        return "result" in world.request("resources/read", {"uri": "iii://fn/vault/open"})

    deny: Mapping[str, Any] = {"kind": "deny", "who": ["*"]}
    assert is_read()
    assert not is_read(a={**deny, "what": ["skill:vault.open"]})
    assert not is_read(a={**deny, "what": ["iii://fn/vault/*"]})


def test_a_resource_behind_a_denied_one_with_its_uri_is_visible() -> None:
    """Of two that clients could not tell apart, the one is there that they may use."""
    world = GuestGateway(with_vault=True, policies={"a": rule("deny", "vault::ledger")})
    other = HostedFunction("yard::ledger", component=Component("resource", uri="vault://ledger"))
    assert world.directory.place(TENANT, YARD, [*YARD_FUNCTIONS, other]) == []
    world.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert "vault://ledger" in world.list_names("resources/list", "resources", name="uri")
    assert "result" in world.request("resources/read", {"uri": "vault://ledger"})
    assert [message["call"]["function"] for message in world.received_messages][-1] == "yard::ledger"


def test_a_function_without_a_free_name_hides_no_other_function() -> None:
    """Names of functions are free, also for one that is the id of another."""
    world = GuestGateway(with_vault=True, policies={"a": rule("deny", "skill:nothing")})
    hosted = [HostedFunction("a::take", name="x::y"), HostedFunction("b::y"), HostedFunction("x::y")]
    assert world.directory.place(TENANT, YARD, [*YARD_FUNCTIONS, *hosted]) == []
    world.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert {"skill:x::y", "skill:y"} <= {*world.list_names("tools/list", "tools", "/mcp/flat")}
    assert "x__y" in world.list_names("tools/list", "tools", "/mcp/functions")


def test_s39_a_function_allowed_by_permission_is_unknown_without_it() -> None:
    keepers = {**rule("allow", "vault*"), "who": ["permission:vault"]}
    rules: Mapping[str, Any] = {"default": "deny", "yard": rule("allow", "yard*"), "keepers": keepers}
    world = GuestGateway(with_vault=True, policies=rules)
    assert world.call("skill:vault.open", "/mcp/flat")["error"]["code"] == -32602
    assert world.received_messages == []
    world.log_in_as("guest", "guest", scope="vault")
    assert world.call("skill:vault.open", "/mcp/flat")["result"]["isError"] is False


SHOWN: Mapping[str, Any] = {"show": {"kind": "show", "who": ["permission:vault"], "what": ["skill:whisper"]}}


@pytest.mark.invariant(72)
def test_a_hidden_function_is_listed_only_to_principals_of_a_show_rule() -> None:
    world = GuestGateway(with_vault=True, policies=SHOWN)
    for path, name in (("/mcp/flat", "skill:whisper"), ("/mcp/functions", "vault__whisper")):
        world.log_in_as("guest", "guest")
        assert name not in world.list_names("tools/list", "tools", path)
        world.log_in_as("keeper", scope="vault")
        assert name in world.list_names("tools/list", "tools", path)
        assert world.call(name, path)["result"]["isError"] is False


def test_a_deny_rule_overrides_a_show_rule() -> None:
    world = GuestGateway(with_vault=True, policies={**SHOWN, **RULES["denied"]})
    world.log_in_as("keeper", "guest", scope="vault")
    assert "skill:whisper" not in world.list_names("tools/list", "tools", "/mcp/flat")
    assert world.call("skill:whisper", "/mcp/flat")["error"]["code"] == -32602


def test_the_catalog_marks_a_shown_function_as_not_hidden() -> None:
    world = GuestGateway(with_vault=True, policies=SHOWN)
    world.log_in_as("keeper", scope="vault")
    found = world.call("catalog", "/mcp/flat", query="whisper")["result"]["structuredContent"]["tools"]
    assert [(tool["name"], tool["hidden"]) for tool in found] == [("skill:whisper", False)]


class TestPublishedRules:
    def test_rules_apply_within_two_seconds_and_to_a_start_at_once(self) -> None:
        world = GuestGateway(with_vault=True)
        assert "prompts" in world.request("prompts/list")["result"]
        world.call_registry("publish", {"policies": RULES["denied"]})
        error = world.call("workflow.start", definitionId="break_in")["result"]["structuredContent"]["error"]
        assert error["code"] == "NOT_FOUND"
        world.gateway.clock.advance(REVALIDATION_INTERVAL)
        for path in PATHS:
            assert not any("vault" in name for name in world.list_names("prompts/list", "prompts", path))

    def test_rules_are_added_changed_and_removed_by_name_with_change_events(self) -> None:
        world = GuestGateway(
            with_vault=True, policies={"a": rule("deny", "iii://vault/*"), "b": rule("deny", "vault::*")}
        )
        plan = world.call_registry("plan", {"policies": {"b": rule("deny", "x"), "default": "allow"}, "prune": True})
        assert plan["policies"] == {"added": ["default"], "changed": ["b"], "same": [], "removed": ["a"]}
        world.publish_policies({"b": rule("deny", "x")}, prune=True)
        told = [(event.op, event.key) for event in policy_events(world)]
        assert told == [("register", "a"), ("register", "b"), ("unregister", "a"), ("register", "b")]
        assert "iii://vault/manual" in world.list_names("resources/list", "resources", name="uri")
        world.publish_policies({}, prune=True)
        assert "skill:vault.open" in world.list_names("tools/list", "tools", "/mcp/flat")

    def test_a_publication_without_policies_leaves_the_rules_unchanged(self) -> None:
        world = GuestGateway(with_vault=True, policies=RULES["denied"])
        world.call_registry("publish", {"discovery": {}})
        world.gateway.clock.advance(REVALIDATION_INTERVAL)
        assert "skill:vault.open" not in world.list_names("tools/list", "tools", "/mcp/flat")

    def test_a_rule_applies_to_its_own_tenant_only(self) -> None:
        world = GuestGateway(with_vault=True, policies={"default": "deny"})
        world.key = str(world.gateway.make_key("other"))
        assert world.list_names("resources/list", "resources", name="uri") == ["iii://skills"]
        world.key = str(world.gateway.make_key())
        assert world.list_names("tools/list", "tools", "/mcp/flat") == ["skill__fetch"]

    @pytest.mark.parametrize(
        ("rules", "said"),
        [
            ({"a": {"kind": "forbid"}}, "policy 'a': `kind` must be one of allow, deny, show, mcp_restriction."),
            ({"a": {"kind": "deny", "what": ["x"]}}, "`who` must be a list of 1 to 100 texts."),
            ({"a": {"kind": "deny", "who": ["guest"], "what": ["x"]}}, "`who` must be subject:…, role:…, permission:…"),
            ({"a": {"kind": "deny", "who": ["*"], "what": []}}, "`what` must be a list of 1 to 100 texts."),
            ({"a": {"kind": "mcp_restriction", "who": ["*"], "what": ["x"]}}, "cannot have `who`."),
            ({"a": "deny"}, "A rule must be a mapping of `kind`, `who` and `what`."),
            ({"default": "maybe"}, "`default` must be allow or deny."),
            ({"a b": {"kind": "deny", "who": ["*"], "what": ["x"]}}, "The name of a rule must have 1 to 100 letters"),
            (
                {f"r{n}": rule("deny", "x") for n in range(501)},
                "A tenant can have at most 500 rules, and these are 501.",
            ),
        ],
    )
    def test_an_invalid_rule_is_refused(self, rules: Mapping[str, Any], said: str) -> None:
        world = GuestGateway(with_vault=True)
        assert said in world.read_registry_refusal(rules)


@pytest.mark.invariant(73)
def test_requests_are_refused_while_the_rules_cannot_be_read() -> None:
    world = GuestGateway(with_vault=True, policies=RULES["denied"])
    world.gateway.replace_adapters(definitions=MemoryTextStore())
    for asked in (
        GuestRequest("/mcp/flat", "tools/list", {}),
        GuestRequest("/mcp/functions", "tools/call", {"name": "yard__echo"}),
    ):
        status, _, text = world.send(asked).partition(" ")
        assert (status, "error" in json.loads(text)) == ("503", True)
    assert world.received_messages == []


@pytest.mark.invariant(73)
def test_requests_are_refused_while_the_table_is_unavailable() -> None:
    world = GuestGateway(with_vault=True)
    world.gateway.replace_adapters(revisions=MemoryRevisionRows(UnavailableContentStore(world.gateway.functions)))
    for path in ("/mcp/flat", "/mcp/functions"):
        assert world.send(GuestRequest(path, "tools/list", {})).startswith("503 ")
    assert world.send(GuestRequest("/mcp/functions", "tools/call", {"name": "yard__echo"})).startswith("503 ")
    assert world.received_messages == []


@pytest.mark.invariant(73)
@pytest.mark.parametrize("text", ["{", "[]", '{"a": {"kind": "of a later release"}}', '{"default": "maybe"}'])
def test_unreadable_rules_deny_all_items(text: str) -> None:
    world = GuestGateway(with_vault=True)
    replace_stored_rules(world, text)
    assert world.list_names("tools/list", "tools", "/mcp/flat") == ["skill__fetch"]
    assert world.call("yard__echo", "/mcp/functions")["error"]["code"] == -32602


def test_a_denied_request_is_logged_with_rule_item_and_principal(capsys: pytest.CaptureFixture[str]) -> None:
    world = GuestGateway(with_vault=True, policies=RULES["denied"])
    world.call("skill:vault.open", "/mcp/flat")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (denied,) = [line for line in lines if line.get("message") == "denied"]
    assert (denied["rule"], denied["item"], denied["principal"]) == ("no-vault", "vault::open", "guest")
