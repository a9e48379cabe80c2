"""Functions that lists show to some principals only: by grants that a running function gives, and by what the principal
has."""

import json
from typing import Any

import pytest

from signpost.calling.grants import MOST_GRANTS
from signpost.contract import Component, HostedFunction
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.model import JsonObject
from tests.support.granting_gateway import ANONYMOUS, GATED, TENANT, GrantingGateway, gated_functions


@pytest.fixture
def yard() -> GrantingGateway:
    return GrantingGateway(*gated_functions(GATED))


@pytest.mark.invariant(170)
def test_s010_a_grant_shows_functions_in_every_list_of_one_principal(yard: GrantingGateway) -> None:
    assert not yard.sees("ann")
    assert yard.perform("ann", "grant", name="unlocked")["result"] is None
    yard.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert yard.sees("ann")
    assert not yard.sees("bob")
    yard.forget()
    assert yard.sees("ann"), "another sandbox and another connection"
    assert not yard.sees("bob")
    assert yard.perform("ann", "revoke", name="unlocked")["result"] is True
    yard.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert not yard.sees("ann")


def test_s009_a_cold_gateway_lists_the_same_bytes_for_a_principal(yard: GrantingGateway) -> None:
    yard.perform("ann", "grant", name="unlocked")
    yard.gateway.clock.advance(REVALIDATION_INTERVAL)
    for principal in ("ann", "bob"):
        warm = json.dumps(yard.lists(principal))
        yard.forget()
        assert json.dumps(yard.lists(principal)) == warm


def test_s011_an_anonymous_local_caller_is_a_principal_with_grants_of_its_own() -> None:
    """No other caller is anonymous (decision 12), so no list needs a handle."""
    yard = GrantingGateway(
        *gated_functions(GATED), AUTH_MODE="local", AWS_ENDPOINT_URL="http://127.0.0.1:4566", DEFAULT_TENANT=TENANT
    )
    assert not yard.sees(ANONYMOUS)
    yard.perform(ANONYMOUS, "grant", name="unlocked")
    yard.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert yard.sees(ANONYMOUS)
    assert not yard.sees("bob")


@pytest.mark.invariant(172)
def test_what_lists_leave_out_can_be_called_by_name(yard: GrantingGateway) -> None:
    assert not yard.sees("ann")
    for name, path in (("skill:dig", "/mcp/flat"), ("yard__dig", "/mcp/functions")):
        called = yard.request("ann", "tools/call", {"name": name, "arguments": {}}, path)
        assert called["isError"] is False, called
    assert yard.request("ann", "prompts/get", {"name": "ask"})["messages"]
    for uri in ("yard://map", "yard://plot/7"):
        assert yard.request("ann", "resources/read", {"uri": uri})["contents"]


def test_the_catalog_marks_an_invisible_function_as_hidden(yard: GrantingGateway) -> None:
    def hidden(subject: str) -> Any:
        asked = {"name": "catalog", "arguments": {"type": "tools", "query": "dig"}}
        (entry,) = yard.request(subject, "tools/call", asked, "/mcp/flat")["structuredContent"]["tools"]
        return entry["hidden"]

    yard.perform("ann", "grant", name="unlocked")
    yard.gateway.clock.advance(REVALIDATION_INTERVAL)
    assert (hidden("ann"), hidden("bob")) == (False, True)


@pytest.mark.invariant(170)
def test_an_expired_grant_is_gone_at_its_end_without_another_read(yard: GrantingGateway) -> None:
    yard.perform("ann", "grant", name="unlocked", seconds=10)
    yard.gateway.clock.advance(9)
    assert yard.sees("ann")
    reads = yard.gateway.grants.reads
    yard.gateway.clock.advance(1)
    assert not yard.sees("ann")
    assert yard.gateway.grants.reads == reads


@pytest.mark.invariant(173)
def test_lists_call_no_executor(yard: GrantingGateway) -> None:
    yard.perform("ann", "grant", name="unlocked")
    yard.gateway.clock.advance(REVALIDATION_INTERVAL)
    yard.calls.clear()
    yard.lists("ann")
    yard.lists("bob")
    assert yard.calls == []


@pytest.mark.invariant(173)
def test_grants_are_read_once_in_two_seconds_for_each_principal(yard: GrantingGateway) -> None:
    grants = yard.gateway.grants
    grants.reads = 0
    yard.lists("ann")
    yard.lists("ann")
    assert grants.reads == 1
    yard.lists("bob")
    assert grants.reads == 2
    yard.gateway.clock.advance(REVALIDATION_INTERVAL)
    yard.lists("ann")
    assert grants.reads == 3


@pytest.mark.invariant(173)
@pytest.mark.parametrize(
    "functions",
    [
        [HostedFunction("yard::dig")],
        [HostedFunction("yard::dig", visible_when={"role": "digger"}), HostedFunction("yard::rake", hidden=True)],
    ],
    ids=["no visible_when", "a role alone"],
)
def test_a_tenant_without_functions_that_are_visible_by_a_grant_reads_none(functions: list[HostedFunction]) -> None:
    yard = GrantingGateway(*functions)
    yard.lists("ann")
    yard.gateway.clock.advance(REVALIDATION_INTERVAL)
    yard.lists("ann")
    assert yard.gateway.grants.reads == 0


@pytest.mark.parametrize(
    ("condition", "claims"),
    [
        ({"role": "digger"}, {"roles": ["digger"]}),
        ({"permission": "dig"}, {"scope": "dig rake"}),
        ({"any": [{"role": "boss"}, {"permission": "dig"}]}, {"scope": "dig"}),
        ({"all": [{"role": "digger"}, {"permission": "dig"}]}, {"scope": "dig", "roles": ["digger"]}),
    ],
    ids=str,
)
def test_roles_and_permissions_decide_about_lists(condition: JsonObject, claims: JsonObject) -> None:
    yard = GrantingGateway(*gated_functions(condition))
    assert yard.sees("ann", **claims)
    assert not yard.sees("ann"), "the credential of this request counts, not that of an earlier one"
    assert yard.sees("bob", **claims)


def test_a_hidden_function_stays_hidden_when_its_condition_is_met() -> None:
    yard = GrantingGateway(HostedFunction("yard::dig", hidden=True, visible_when={"role": "digger"}))
    shown = yard.gated_in_lists("ann", roles=["digger"])
    assert not any(shown.values()), shown


def test_a_condition_that_a_reload_adds_hides_a_listed_function() -> None:
    yard = GrantingGateway(HostedFunction("yard::dig", name="dig"))
    assert "skill:dig" in yard.lists("ann")["tools of /mcp/flat"]
    yard.place(HostedFunction("yard::unlock", name="unlock"), *gated_functions(GATED))
    assert not yard.sees("ann")


def test_templates_that_are_not_visible_are_not_asked_for_their_instances() -> None:
    template = Component("template", "yard://plot/{id}", enumerates=True)
    helper = HostedFunction("yard::plot.enumerate", component=Component("helper"))
    yard = GrantingGateway(HostedFunction("yard::plot", component=template, visible_when=GATED), helper)
    yard.calls.clear()
    assert yard.request("ann", "resources/list")["resources"] is not None
    assert yard.calls == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": ""}, "The name of a grant has 1 to 128 letters"),
        ({"name": "no spaces"}, "The name of a grant has 1 to 128 letters"),
        ({"name": 7}, "The name of a grant has 1 to 128 letters"),
        ({}, "The name of a grant has 1 to 128 letters"),
        ({"name": "a", "seconds": 0}, "A grant lasts more than 0 and at most"),
        ({"name": "a", "seconds": True}, "A grant lasts more than 0 and at most"),
        ({"name": "a", "seconds": "10"}, "A grant lasts more than 0 and at most"),
        ({"name": "a", "seconds": 1e12}, "A grant lasts more than 0 and at most"),
    ],
    ids=str,
)
def test_a_malformed_grant_is_refused(yard: GrantingGateway, fields: Any, said: str) -> None:
    failed = yard.perform("ann", "grant", **fields)["failure"]
    assert said in failed["message"]
    assert yard.gateway.grants.of_tenant(TENANT) == []


@pytest.mark.invariant(171)
def test_no_field_of_an_operation_names_another_principal(yard: GrantingGateway) -> None:
    yard.perform("ann", "grant", name="unlocked", subject="bob", tenant="other", principal={"subject": "bob"})
    ((holder),) = yard.gateway.grants.of_tenant(TENANT)
    assert holder.subject == "ann"


def test_a_principal_that_holds_too_many_grants_gets_a_sentence(yard: GrantingGateway) -> None:
    for number in range(MOST_GRANTS):
        assert "result" in yard.perform("ann", "grant", name=f"g{number}")
    failed = yard.perform("ann", "grant", name="one-more")["failure"]
    assert failed["message"] == (
        "The grant one-more was not given: ann holds 50 grants, and no more are kept. Revoke one first, or give "
        "grants that expire."
    )


def test_a_function_asks_whether_its_caller_holds_a_grant(yard: GrantingGateway) -> None:
    assert yard.perform("ann", "has_grant", name="unlocked")["result"] is False
    yard.perform("ann", "grant", name="unlocked", seconds=5)
    assert yard.perform("ann", "has_grant", name="unlocked")["result"] is True
    assert yard.perform("bob", "has_grant", name="unlocked")["result"] is False
    yard.gateway.clock.advance(5)
    assert yard.perform("ann", "has_grant", name="unlocked")["result"] is False
    assert yard.perform("ann", "revoke", name="unlocked")["result"] is False


@pytest.mark.invariant(172)
def test_policy_lists_what_it_shows_and_leaves_out_what_it_denies_whatever_the_grants() -> None:
    yard = GrantingGateway(*gated_functions(GATED))
    yard.perform("ann", "grant", name="unlocked")
    everything = ["yard::dig", "yard::ask", "yard::map", "yard::plot"]
    yard.publish_policies({
        "no": {"kind": "deny", "who": ["subject:ann"], "what": everything},
        "yes": {"kind": "show", "who": ["subject:bob"], "what": everything},
    })  # fmt: skip
    assert not yard.sees("ann")
    assert yard.sees("bob")
    assert not yard.sees("eve")
