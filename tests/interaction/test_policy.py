"""What policy leaves to whom, as clients see it at every endpoint: the vault is not there, or there as for anybody."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, override

import pytest

from signpost.adapters.memory import MemoryBreakers, MemoryContentStore, MemoryRevisionRows, MemoryTextStore
from signpost.calling.components import COMPLETE_SUFFIX
from signpost.content.model import CatalogueChange, ChangeEvent
from signpost.contract import BreakerState, Component, HostedFunction
from signpost.errors import Unavailable
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import PROXY_WORKFLOW, Principal
from signpost.workflow.definition import parse_published_definition
from signpost.workflow.engine.capability_focus import restrict_capabilities
from signpost.workflow.engine.engine import Engine, NewInstance
from signpost.workflow.engine.links import build_links
from signpost.workflow.engine.permissions import may_cancel
from signpost.workflow.proxy_default import document_of
from signpost.workflow.running.answers import may_read
from signpost.workflow.running.long_call_definition import build_long_call
from signpost.workflow.running.serialization import head_text, instance_of
from tests.support.governed import (
    IN_THE_YARD,
    LEGACY,
    PAGES,
    PATHS,
    TENANT,
    YARD,
    Asked,
    Governed,
    completing,
    everything,
)
from tests.support.memory_gateway import MODERN

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
            "what": ["yard*", "prompt:greet*", "iii://yard/*", "tour", "yard.look", "yard_api"],
        },
    },
    "restricted": {"no-vault": {"kind": "mcp_restriction", "what": EVERYTHING_IN_THE_VAULT}},
}


class Unanswering(MemoryContentStore):
    @override
    def versions(self, tenant: str) -> tuple[int, int, str | None, str | None]:
        raise Unavailable("The table does not answer.")


def rule(kind: str, *what: str) -> Mapping[str, Any]:
    return {"kind": kind, "who": ["*"], "what": list(what)}


def events(world: Governed) -> Sequence[ChangeEvent]:
    content = world.gateway.adapters.content
    assert isinstance(content, MemoryContentStore)
    return [event for event in content.events if event.type == "policies::on-change"]


def put_in_the_place_of_its_rules(world: Governed, text: str) -> None:
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
def test_s23_s24_what_is_denied_is_in_no_list_and_answered_as_what_is_not_there(rules: str, version: str) -> None:
    denied = Governed(with_vault=True, policies=RULES[rules], version=version, with_run=True)
    without = Governed(with_vault=False, version=version)
    for asked in everything(version):
        assert without_ids(denied.send(asked)) == without_ids(without.send(asked)), asked
    assert {message["call"]["function"].partition("::")[0] for message in denied.received} <= {"yard"}


@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_what_is_asked_there_shows_a_vault_that_is_not_denied(version: str) -> None:
    """Or nothing would be shown by its not being there."""
    allowed = Governed(with_vault=True, policies=RULES["denied"], version=version, with_run=True)
    allowed.become("owner", "staff")
    without = Governed(with_vault=False, version=version)
    for asked in everything(version):
        assert without_ids(allowed.send(asked)) != without_ids(without.send(asked)), asked


def test_portable_spellings_are_those_of_what_is_left() -> None:
    denied, without = Governed(with_vault=True, policies=RULES["denied"]), Governed(with_vault=False)
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


def test_a_capability_that_is_denied_is_no_transition_of_a_run_that_is_under_way() -> None:
    denied, without = Governed(with_vault=True, policies=RULES["denied"]), Governed(with_vault=False)
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


def test_who_has_nothing_left_of_the_capabilities_finds_no_workflow_of_them() -> None:
    denied = Governed(with_vault=True, policies={"no": {"kind": "deny", "who": ["*"], "what": ["capability:*"]}})
    error = denied.call("workflow.start")["result"]["structuredContent"]["error"]
    assert error["code"] == "NOT_FOUND"
    assert error["message"].startswith("There is no workflow proxy_default ")


SLOW = "vault::build"


def build(world: Governed) -> Any:
    """A run of a call that takes longer than a client waits."""
    return world.call("vault__build", "/mcp/functions")["result"]["structuredContent"]


def looked_at(world: Governed, run: Any) -> Any:
    return world.call("workflow.get", workflowId=run["workflowId"])["result"]["structuredContent"]


def transitions(stand: Any) -> Sequence[str]:
    return [link["args"]["transition"] for link in stand["links"] if link["rel"] == "transition"]


@pytest.mark.invariant(70)
def test_completion_names_no_value_of_an_instance_that_is_denied() -> None:
    world = Governed(with_vault=True, policies={"no": rule("deny", "vault://pages/1")})
    assert completed(world, PAGES, "n") == {"values": ["2"], "hasMore": False}
    world = Governed(with_vault=True, policies={"default": "deny", "a": rule("allow", "vault::page")})
    assert completed(world, PAGES, "n")["values"] == ["1", "2"]


@pytest.mark.invariant(70)
def test_nor_of_a_list_where_the_other_variables_are_said() -> None:
    world = Governed(with_vault=True, policies={"no": rule("deny", "vault://rooms/a b/gold")})
    uri = "vault://rooms/{room}/{metal}"
    metals = Component("template", uri=uri, complete={"metal": ("gold", "silver")})
    assert world.directory.place(TENANT, YARD, [*IN_THE_YARD, HostedFunction("yard::room", component=metals)]) == []
    world.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert completed(world, uri, "metal", room="a b") == {"values": ["silver"], "hasMore": False, "total": 1}
    both = {"values": ["gold", "silver"], "hasMore": False, "total": 2}
    assert completed(world, uri, "metal", room="c") == both
    assert completed(world, uri, "metal") == both


def completed(world: Governed, uri: str, variable: str, **given: str) -> Any:
    asked = {**completing({"type": "ref/resource", "uri": uri}, variable), "context": {"arguments": given}}
    return world.ask("completion/complete", asked)["result"]["completion"]


@pytest.mark.invariant(70)
def test_metrics_name_no_function_that_is_denied() -> None:
    world = Governed(with_vault=True, policies=RULES["denied"])
    breakers = MemoryBreakers(world.gateway.functions)
    for function in ("vault::open", f"vault::page{COMPLETE_SUFFIX}", "yard::echo"):
        breakers.open(TENANT, function, BreakerState(world.gateway.clock.now() + 60, 3, "crashed"))
    denied = measured(world)
    assert "vault" not in denied
    assert 'function="yard::echo"' in denied
    assert 'signpost_breakers{state="open"} 1' in denied
    world.become("owner", "staff")
    assert 'function="vault::open"' in measured(world)
    assert 'signpost_breakers{state="open"} 3' in measured(world)


def measured(world: Governed) -> str:
    return world.gateway.send("GET", "/metrics", headers={"authorization": f"Bearer {world.key}"}).text


@pytest.mark.invariant(50)
def test_a_run_of_a_call_is_there_for_who_called_and_for_who_may_have_to_say_what_came_of_it() -> None:
    world = Governed(with_vault=True)
    run = build(world)
    world.work()
    assert looked_at(world, run)["context"] == {"lastResult": f"{SLOW} ran"}
    (link,) = looked_at(world, run)["links"]
    for stranger in ({"subject": "other"}, {"subject": "other", "scope": "workflow.cancel"}):
        world.become(**stranger)
        assert looked_at(world, run)["error"]["code"] == "NOT_FOUND"
        for transition in (SLOW, "$cancel"):
            order = {**link["args"], "transition": transition}
            refused = world.call("workflow.submit", **order)["result"]["structuredContent"]
            assert refused["error"]["code"] == "NOT_FOUND"
    world.become("keeper", scope="workflow.resolve")
    assert "lastResult" in looked_at(world, run)["context"]


def test_two_issuers_may_call_two_people_the_same() -> None:
    caller, namesake = (Principal("ann", TENANT, issuer) for issuer in ("an issuer", "another one"))
    call = build_long_call(SLOW, idempotent=False)
    instance = Engine().start(call.definition, NewInstance("wf_a", call.digest, {}), caller, 0).instance
    kept = instance_of("wf_a", head_text(instance), "{}", "{}")
    assert [may_read(call.definition, kept, who) for who in (caller, namesake)] == [True, False]
    assert [may_cancel(kept, who) for who in (caller, namesake)] == [True, False]


def test_what_was_not_kept_of_a_starter_is_not_held_against_them() -> None:
    caller = Principal("ann", TENANT, "an issuer")
    call = build_long_call(SLOW, idempotent=False)
    instance = Engine().start(call.definition, NewInstance("wf_a", call.digest, {}), caller, 0).instance
    assert may_read(call.definition, replace(instance, starter_issuer=""), caller)


def test_what_was_under_way_is_not_offered_when_it_is_over() -> None:
    """To whom the definition was shown with it, because it was."""
    offered = {name: {"target": "ready", "executor": {"kind": "noop"}} for name in ("yard.look", "vault.read")}
    proxy = parse_published_definition(PROXY_WORKFLOW, document_of(offered))
    shown = restrict_capabilities(proxy, lambda name: name == "yard.look", kept="vault.read")
    guest = Principal("guest", TENANT, "an issuer")
    instance = Engine().start(shown, NewInstance("wf_a", "a digest", {}), guest, 0).instance
    assert transitions({"links": build_links(shown, instance, guest, 0)}) == ["yard.look"]


@pytest.mark.invariant(70)
@pytest.mark.parametrize("name", [SLOW, "vault__build", "skill:vault.build", "skill:*"])
def test_a_run_of_a_call_is_no_way_past_what_denies_the_function_by_any_of_its_names(name: str) -> None:
    world = Governed(with_vault=True)
    run = build(world)
    world.work()
    stand = looked_at(world, run)
    (link,) = stand["links"]
    world.rule({"no": rule("deny", name)})
    assert transitions(looked_at(world, run)) == []
    refused = world.call("workflow.submit", **link["args"])["result"]["structuredContent"]
    assert refused["error"]["code"] == "INVALID_TRANSITION"
    world.work()
    assert [message["call"]["function"] for message in world.received] == [SLOW]


@pytest.mark.parametrize("name", [SLOW, "vault__build", "skill:vault.build"])
def test_who_may_call_a_function_by_any_of_its_names_may_follow_the_link_of_its_run(name: str) -> None:
    world = Governed(with_vault=True, policies={"default": "deny", "a": rule("allow", name)})
    run = build(world)
    world.work()
    assert transitions(looked_at(world, run)) == [SLOW]


def test_what_is_under_way_is_shown_to_who_may_not_have_it_executed_and_they_cannot_repeat_it() -> None:
    world = Governed(with_vault=True)
    world.crashing.add(SLOW)
    run = build(world)
    world.work()
    (retry,) = [link for link in looked_at(world, run)["links"] if link["rel"] == "transition"]
    world.rule({"no": rule("deny", SLOW)})
    stand = looked_at(world, run)
    assert (stand["inDoubt"]["transition"], transitions(stand)) == (SLOW, [])
    refused = world.call("workflow.submit", **retry["args"])["result"]["structuredContent"]
    assert refused["error"]["code"] == "GUARD_REJECTED"
    world.work()
    assert len(world.received) == 1
    world.rule({}, prune=True)
    world.call("workflow.submit", **looked_at(world, run)["links"][-1]["args"])
    world.work()
    assert len(world.received) == 2


def test_a_run_goes_on_for_who_may_not_start_another_one() -> None:
    world = Governed(with_vault=True)
    run = world.call("workflow.start", definitionId="break_in")["result"]["structuredContent"]
    world.rule(RULES["denied"])
    went = world.call("workflow.submit", **run["links"][0]["args"])["result"]["structuredContent"]
    assert (went["state"], went["terminal"]) == ("shut", True)
    error = world.call("workflow.start", definitionId="break_in")["result"]["structuredContent"]["error"]
    assert error["code"] == "NOT_FOUND"


@pytest.mark.invariant(71)
def test_a_function_calls_for_somebody_what_that_one_may_use_and_nothing_else() -> None:
    denied, without = Governed(with_vault=True, policies=RULES["denied"]), Governed(with_vault=False)
    for function in ("vault::open", "vault::whisper", "vault::ask", "vault::page::enumerate"):
        assert denied.nested(function) == without.nested(function)
        assert denied.nested(function)["failure"]["code"] == "unknown_function"
    assert denied.nested("yard::echo")["result"] == "yard::echo ran"
    denied.become("owner", "staff")
    assert denied.nested("vault::open")["result"] == "vault::open ran"


def test_what_is_restricted_for_clients_functions_may_call() -> None:
    world = Governed(with_vault=True, policies=RULES["restricted"])
    assert world.nested("vault::open")["result"] == "vault::open ran"


def test_a_section_is_read_by_who_may_use_the_function_and_read_it() -> None:
    def is_read(**rules: Any) -> bool:
        world = Governed(with_vault=True, policies=rules)
        return "result" in world.ask("resources/read", {"uri": "iii://fn/vault/open"})

    deny: Mapping[str, Any] = {"kind": "deny", "who": ["*"]}
    assert is_read()
    assert not is_read(a={**deny, "what": ["skill:vault.open"]})
    assert not is_read(a={**deny, "what": ["iii://fn/vault/*"]})


def test_what_stands_behind_something_that_is_denied_is_there() -> None:
    """Of two that clients could not tell apart, the one is there that they may use."""
    world = Governed(with_vault=True, policies={"a": rule("deny", "vault::ledger")})
    other = HostedFunction("yard::ledger", component=Component("resource", uri="vault://ledger"))
    assert world.directory.place(TENANT, YARD, [*IN_THE_YARD, other]) == []
    world.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert "vault://ledger" in world.names("resources/list", "resources", name="uri")
    assert "result" in world.ask("resources/read", {"uri": "vault://ledger"})
    assert [message["call"]["function"] for message in world.received][-1] == "yard::ledger"


def test_a_function_that_has_lost_all_its_names_to_others_stands_in_nobodys_way() -> None:
    """Names of functions are free, also for one that is the id of another."""
    world = Governed(with_vault=True, policies={"a": rule("deny", "skill:nothing")})
    hosted = [HostedFunction("a::take", name="x::y"), HostedFunction("b::y"), HostedFunction("x::y")]
    assert world.directory.place(TENANT, YARD, [*IN_THE_YARD, *hosted]) == []
    world.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert {"skill:x::y", "skill:y"} <= {*world.names("tools/list", "tools", "/mcp/flat")}
    assert "x__y" in world.names("tools/list", "tools", "/mcp/functions")


def test_s39_what_takes_a_permission_is_not_there_for_who_comes_without() -> None:
    keepers = {**rule("allow", "vault*"), "who": ["permission:vault"]}
    rules: Mapping[str, Any] = {"default": "deny", "yard": rule("allow", "yard*"), "keepers": keepers}
    world = Governed(with_vault=True, policies=rules)
    assert world.call("skill:vault.open", "/mcp/flat")["error"]["code"] == -32602
    assert world.received == []
    world.become("guest", "guest", scope="vault")
    assert world.call("skill:vault.open", "/mcp/flat")["result"]["isError"] is False


SHOWN: Mapping[str, Any] = {"show": {"kind": "show", "who": ["permission:vault"], "what": ["skill:whisper"]}}


@pytest.mark.invariant(72)
def test_what_is_hidden_is_listed_to_whom_a_rule_shows_it_and_to_nobody_else() -> None:
    world = Governed(with_vault=True, policies=SHOWN)
    for path, name in (("/mcp/flat", "skill:whisper"), ("/mcp/functions", "vault__whisper")):
        world.become("guest", "guest")
        assert name not in world.names("tools/list", "tools", path)
        world.become("keeper", scope="vault")
        assert name in world.names("tools/list", "tools", path)
        assert world.call(name, path)["result"]["isError"] is False


def test_what_is_shown_may_be_denied_all_the_same() -> None:
    world = Governed(with_vault=True, policies={**SHOWN, **RULES["denied"]})
    world.become("keeper", "guest", scope="vault")
    assert "skill:whisper" not in world.names("tools/list", "tools", "/mcp/flat")
    assert world.call("skill:whisper", "/mcp/flat")["error"]["code"] == -32602


def test_the_catalog_says_that_it_is_not_hidden_any_more() -> None:
    world = Governed(with_vault=True, policies=SHOWN)
    world.become("keeper", scope="vault")
    found = world.call("catalog", "/mcp/flat", query="whisper")["result"]["structuredContent"]["tools"]
    assert [(tool["name"], tool["hidden"]) for tool in found] == [("skill:whisper", False)]


class TestHowRulesComeAndGo:
    def test_they_are_seen_two_seconds_later_at_the_latest_and_by_a_start_at_once(self) -> None:
        world = Governed(with_vault=True)
        assert "prompts" in world.ask("prompts/list")["result"]
        world.ask_registry("publish", {"policies": RULES["denied"]})
        error = world.call("workflow.start", definitionId="break_in")["result"]["structuredContent"]["error"]
        assert error["code"] == "NOT_FOUND"
        world.gateway.clock.advance(REVALIDATION_INTERVAL)
        for path in PATHS:
            assert not any("vault" in name for name in world.names("prompts/list", "prompts", path))

    def test_they_are_added_changed_and_removed_by_name_and_everybody_hears_of_it(self) -> None:
        world = Governed(with_vault=True, policies={"a": rule("deny", "iii://vault/*"), "b": rule("deny", "vault::*")})
        plan = world.ask_registry("plan", {"policies": {"b": rule("deny", "x"), "default": "allow"}, "prune": True})
        assert plan["policies"] == {"added": ["default"], "changed": ["b"], "same": [], "removed": ["a"]}
        world.rule({"b": rule("deny", "x")}, prune=True)
        told = [(event.op, event.key) for event in events(world)]
        assert told == [("register", "a"), ("register", "b"), ("unregister", "a"), ("register", "b")]
        assert "iii://vault/manual" in world.names("resources/list", "resources", name="uri")
        world.rule({}, prune=True)
        assert "skill:vault.open" in world.names("tools/list", "tools", "/mcp/flat")

    def test_what_another_manifest_publishes_leaves_them_as_they_are(self) -> None:
        world = Governed(with_vault=True, policies=RULES["denied"])
        world.ask_registry("publish", {"discovery": {}})
        world.gateway.clock.advance(REVALIDATION_INTERVAL)
        assert "skill:vault.open" not in world.names("tools/list", "tools", "/mcp/flat")

    def test_one_of_one_tenant_is_none_of_another(self) -> None:
        world = Governed(with_vault=True, policies={"default": "deny"})
        world.key = str(world.gateway.make_key("other"))
        assert world.names("resources/list", "resources", name="uri") == ["iii://skills"]
        world.key = str(world.gateway.make_key())
        assert world.names("tools/list", "tools", "/mcp/flat") == ["skill__fetch"]

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
    def test_a_rule_that_nobody_could_go_by_is_refused(self, rules: Mapping[str, Any], said: str) -> None:
        world = Governed(with_vault=True)
        assert said in world.refusal_of_registry(rules)


@pytest.mark.invariant(73)
def test_nothing_is_answered_and_nothing_is_called() -> None:
    world = Governed(with_vault=True, policies=RULES["denied"])
    world.gateway.exchange(definitions=MemoryTextStore())
    for asked in (
        Asked("/mcp/flat", "tools/list", {}),
        Asked("/mcp/functions", "tools/call", {"name": "yard__echo"}),
    ):
        status, _, text = world.send(asked).partition(" ")
        assert (status, "error" in json.loads(text)) == ("503", True)
    assert world.received == []


@pytest.mark.invariant(73)
def test_nor_while_the_table_does_not_answer() -> None:
    world = Governed(with_vault=True)
    world.gateway.exchange(revisions=MemoryRevisionRows(Unanswering(world.gateway.functions)))
    for path in ("/mcp/flat", "/mcp/functions"):
        assert world.send(Asked(path, "tools/list", {})).startswith("503 ")
    assert world.send(Asked("/mcp/functions", "tools/call", {"name": "yard__echo"})).startswith("503 ")
    assert world.received == []


@pytest.mark.invariant(73)
@pytest.mark.parametrize("text", ["{", "[]", '{"a": {"kind": "of a later release"}}', '{"default": "maybe"}'])
def test_what_nobody_understands_denies_everything(text: str) -> None:
    world = Governed(with_vault=True)
    put_in_the_place_of_its_rules(world, text)
    assert world.names("tools/list", "tools", "/mcp/flat") == ["skill__fetch"]
    assert world.call("yard__echo", "/mcp/functions")["error"]["code"] == -32602


def test_the_log_says_which_rule_denied_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    world = Governed(with_vault=True, policies=RULES["denied"])
    world.call("skill:vault.open", "/mcp/flat")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (denied,) = [line for line in lines if line.get("message") == "denied"]
    assert (denied["rule"], denied["item"], denied["principal"]) == ("no-vault", "vault::open", "guest")
