"""Who may use what: deny before allow, allow before the default, and which rule says so."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.model import Principal
from signpost.policy import policy_items
from signpost.policy.access import OPEN
from signpost.policy.policy_items import PolicyItem
from signpost.policy.ruled_access import RuledAccessLookup
from signpost.policy.rules import Effect, Policies, PolicyDecision, Rule, decide, find_show_rule, is_match
from signpost.policy.rules_format import LONGEST_TEXT, find_excess, find_faults, parse_policies, to_text

AGENT = Principal("agent-7", "acme", "issuer", frozenset({"guest"}), frozenset({"mail.send"}))
SEARCH = policy_items.function_item("web::search", "skill:web_search")
DENY = Rule("no-web", "deny", ("role:guest",), ("skill:web_*",))
ALLOW = Rule("web", "allow", ("*",), ("web::*",))
RESTRICT = Rule("not-over-mcp", "mcp_restriction", ("*",), ("skill:*",))

names = st.text("ab*:", min_size=1, max_size=6)
who_patterns = st.sampled_from(
    ["*", "role:guest", "role:staff", "subject:agent-*", "permission:mail.*", "permission:x"]
)
kinds = st.sampled_from(["allow", "deny", "mcp_restriction", "show", "unreadable"])
rules = st.lists(
    st.builds(
        Rule,
        st.text("abc", min_size=1, max_size=3),
        kinds,
        st.lists(who_patterns, min_size=1, max_size=2).map(tuple),
        st.lists(names, min_size=1, max_size=2).map(tuple),
    ),
    max_size=5,
    unique_by=lambda rule: rule.id,
)
some_item = st.lists(st.text("ab:", min_size=1, max_size=5), min_size=1, max_size=3).map(tuple)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
effects = st.sampled_from(["allow", "deny"])


def ignore_denial(item: PolicyItem, decision: PolicyDecision) -> None:
    del item, decision


def decide_search(
    *rules: Rule, default: Effect = "allow", principal: Principal = AGENT, over_mcp: bool = True
) -> PolicyDecision:
    return decide(rules, default, principal, SEARCH, over_mcp=over_mcp)


def test_s102_s103_without_rules_every_principal_may_use_every_item() -> None:
    assert decide_search() == PolicyDecision(
        allowed=True, rule=None, reason="no rule applies, and the default is to allow"
    )
    assert decide_search(principal=Principal("somebody", "acme", "issuer")).allowed


def test_deny_rules_override_allow_rules_and_those_override_the_default() -> None:
    assert decide_search(ALLOW, DENY) == PolicyDecision(allowed=False, rule="no-web", reason="a rule denies it")
    assert decide_search(ALLOW, default="deny") == PolicyDecision(allowed=True, rule="web", reason="a rule allows it")
    assert not decide_search(default="deny").allowed


@pytest.mark.parametrize(
    "who",
    [
        "subject:agent-7", "subject:agent-*", "role:guest", "permission:mail.*", "*",
        "identity:issuer#agent-7", "identity:issuer#*", "identity:*#agent-*",
    ],
)  # fmt: skip
def test_a_rule_matches_a_principal_by_identity_subject_role_or_permission(who: str) -> None:
    assert not decide_search(Rule("a", "deny", (who,), ("*",))).allowed


@pytest.mark.parametrize(
    "who",
    [
        "subject:agent", "role:gues", "permission:send", "guest", "tenant:acme", "role:", "identity:agent-7",
        "identity:other#agent-7", "identity:issuer#agent", "identity:#agent-7", "subject:issuer#agent-7",
    ],
)  # fmt: skip
def test_a_rule_matches_no_other_principal(who: str) -> None:
    assert decide_search(Rule("a", "deny", (who,), ("*",))).allowed


def test_an_identity_is_one_of_one_issuer() -> None:
    allow = Rule("operators", "allow", ("identity:https://login.test#ada",), ("*",))
    for issuer, is_allowed in (("https://login.test", True), ("https://other.test", False), ("", False)):
        ada = Principal("ada", "acme", issuer)
        assert decide_search(allow, default="deny", principal=ada).allowed is is_allowed


def test_an_identity_without_its_issuer_is_no_rule() -> None:
    members: Any = {"a": {"kind": "deny", "who": ["identity:ada"], "what": ["*"]}}
    ((name, fault),) = find_faults(members)
    assert (name, "identity:…#…" in fault) == ("a", True)


@pytest.mark.parametrize("name", ["skill:web_search", "web::search", "web__search", "skill:*", "*search", "web::*"])
def test_a_rule_matches_an_item_by_each_of_its_names(name: str) -> None:
    assert not decide_search(Rule("a", "deny", ("*",), (name,))).allowed


def test_s23_a_restriction_holds_for_clients_and_not_for_nested_calls() -> None:
    assert decide_search(RESTRICT) == PolicyDecision(
        allowed=False, rule="not-over-mcp", reason="a rule denies it to MCP clients"
    )
    assert decide_search(RESTRICT, over_mcp=False).allowed
    assert not decide_search(DENY, over_mcp=False).allowed


@pytest.mark.invariant(73)
def test_s101_a_rule_that_cannot_be_read_denies_everything() -> None:
    denied = decide_search(ALLOW, Rule("odd", "unreadable"))
    assert denied == PolicyDecision(allowed=False, rule="odd", reason="a rule that cannot be read denies everything")


def test_a_show_rule_is_no_permission() -> None:
    show = Rule("beta", "show", ("role:guest",), ("skill:web_*",))
    assert find_show_rule([show], AGENT, SEARCH) == show
    assert find_show_rule([show], Principal("x", "acme", "issuer"), SEARCH) is None
    assert not decide_search(show, default="deny").allowed


@pytest.mark.parametrize(
    ("pattern", "name", "does"),
    [
        ("a", "a", True), ("a", "ab", False), ("*", "", True), ("a*", "a", True), ("*a", "ba", True),
        ("a*b*c", "a1b2c", True), ("a*b*c", "acb", False), ("ab*ba", "aba", False), ("a**b", "ab", True),
        ("*a*a*", "a", False), ("A", "a", False), ("a.c", "abc", False), ("", "", True), ("", "a", False),
        ("[a]", "a", False), ("a?", "ab", False),
    ],
)  # fmt: skip
def test_only_a_star_is_a_wildcard(pattern: str, name: str, does: bool) -> None:
    assert is_match(pattern, name) is does


@given(st.lists(st.text("ab", max_size=3), min_size=1, max_size=4), st.data())
def test_a_name_with_texts_in_the_place_of_stars_matches(parts: Sequence[str], data: st.DataObject) -> None:
    filled = [data.draw(st.text("ab", max_size=3)) for _ in parts[1:]]
    name = "".join(part + filler for part, filler in zip(parts, [*filled, ""], strict=True))
    assert is_match("*".join(parts), name)


def test_a_pattern_of_many_stars_does_not_take_long() -> None:
    assert not is_match("*a" * 140 + "*b", "a" * 20_000)


@pytest.mark.invariant(71)
@given(rules, effects, some_item, st.booleans(), st.lists(names, min_size=1, max_size=2), who_patterns)
def test_an_additional_deny_rule_allows_nothing_more(
    some: Sequence[Rule], default: Effect, item: PolicyItem, over_mcp: bool, what: Sequence[str], whom: str
) -> None:  # fmt: skip
    more = Rule("zzzz", "deny", (whom,), tuple(what))
    before = decide(some, default, AGENT, item, over_mcp=over_mcp)
    after = decide([*some, more], default, AGENT, item, over_mcp=over_mcp)
    assert before.allowed or not after.allowed


@given(rules, effects, some_item, st.randoms(use_true_random=False))
def test_the_order_of_rules_decides_nothing(some: list[Rule], default: Effect, item: PolicyItem, random: Any) -> None:
    shuffled = list(some)
    random.shuffle(shuffled)
    assert decide(some, default, AGENT, item) == decide(shuffled, default, AGENT, item)
    assert find_show_rule(some, AGENT, item) == find_show_rule(shuffled, AGENT, item)


@given(rules, effects, st.lists(some_item, max_size=4))
def test_cached_access_agrees_with_the_decisions(
    some: Sequence[Rule], default: Effect, asked: Sequence[PolicyItem]
) -> None:
    noticed: list[PolicyDecision] = []
    accesses = RuledAccessLookup(Policies(default, tuple(some)), lambda _, decision: noticed.append(decision))
    for item in [*asked, *asked]:
        decision, access = decide(some, default, AGENT, item), accesses.of(AGENT)
        assert access.allows(item) is access.admits(item) is decision.allowed
        assert access.shows(item) is (find_show_rule(some, AGENT, item) is not None)
    assert not any(decision.allowed for decision in noticed)


def test_principals_matched_by_the_same_rules_share_one_access() -> None:
    accesses = RuledAccessLookup(Policies(rules=(DENY,)), ignore_denial)
    guests = [Principal(f"agent-{n}", "acme", "issuer", frozenset({"guest"})) for n in range(2)]
    assert accesses.of(guests[0]) is accesses.of(guests[1])
    others = accesses.of(Principal("x", "acme", "issuer"))
    assert (others.is_open, others.allows(SEARCH), OPEN.is_open) == (True, True, True)


def test_policies_are_parsed_as_they_were_written() -> None:
    written: Any = {
        "default": "deny",
        "b": {"kind": "allow", "who": ["*"], "what": ["x"], "description": "All."},
        "a": {"kind": "mcp_restriction", "what": ["y", "z"]},
    }
    assert list(find_faults(written)) == []
    restricted, allowed = Rule("a", "mcp_restriction", ("*",), ("y", "z")), Rule("b", "allow", ("*",), ("x",))
    assert parse_policies(to_text(written)) == Policies("deny", (restricted, allowed))


@pytest.mark.invariant(73)
@given(documents)
def test_any_document_is_parsed_and_an_invalid_one_denies(value: Any) -> None:
    policies = parse_policies(json.dumps(value))
    if value not in ({}, {"default": "allow"}):
        assert not decide(policies.rules, policies.default, AGENT, SEARCH).allowed


def test_policies_have_a_size_limit() -> None:
    assert find_excess({"a": "x"}) is None
    assert "at most 300000 characters" in str(find_excess({"a": "x" * LONGEST_TEXT}))


@pytest.mark.parametrize(
    ("item", "named"),
    [
        (policy_items.function_item("a::b", "skill:b"), ["a::b", "a__b", "skill:b"]),
        (policy_items.function_item("a__b::c"), ["a__b::c"]),
        (policy_items.function_item("plain"), ["plain"]),
        (
            policy_items.workflow_item("deploy", "workflow:Deploy it"),
            ["workflow:deploy", "deploy", "workflow:Deploy it"],
        ),
        (policy_items.catalogue_item("capability", "a.b"), ["capability:a.b", "a.b"]),
        (policy_items.catalogue_item("connection", "connection:api"), ["connection:api", "api"]),
        (policy_items.prompt_item("greet"), ["prompt:greet", "greet"]),
        (policy_items.document_item("a/b"), ["iii://a/b"]),
        (policy_items.section_item("a::b"), ["iii://fn/a/b"]),
        (
            policy_items.resource_item("x://a/%31", policy_items.function_item("a::b")),
            ["a::b", "a__b", "x://a/%31", "x://a/1"],
        ),
    ],
)
def test_an_item_has_all_its_names(item: PolicyItem, named: Sequence[str]) -> None:
    assert list(item) == named
