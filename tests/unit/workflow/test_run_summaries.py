"""Summaries of runs: the data that lists show, and the principals to which they show them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.model import WAITING_FOR, Json, JsonObject, Principal
from signpost.workflow.definition import Definition
from signpost.workflow.definition_reader import parse_published_definition
from signpost.workflow.guards import Tally
from signpost.workflow.instance import ApprovalRequest, Cancellation, Claim, Instance, InstanceFault, Job
from signpost.workflow.run_filter import RunFilter, split_query
from signpost.workflow.run_summary import RunSummary, WaitingFor, starter_key
from signpost.workflow.running.answers import may_read
from signpost.workflow.running.function_run import FunctionRun, build_function_run, input_of
from signpost.workflow.running.serialization import LONGEST_READERS
from signpost.workflow.running.summaries import build_summary, may_decide, may_see, summary_of, summary_text

NOW = 1_800_000_000.0
CLERK: JsonObject = {"kind": "role", "role": "clerk"}
SIGNER: JsonObject = {"kind": "permission", "permission": "sign"}
STATES: JsonObject = {
    "open": {"transitions": {"ask": {"target": "asked"}, "close": {"target": "closed"}}},
    "asked": {
        "transitions": {
            "agree": {"target": "closed", "actor": "human", "decision": "approve", "guards": [CLERK]},
            "refuse": {"target": "open", "actor": "human", "decision": "reject", "guards": [SIGNER]},
        }
    },
    "closed": {"terminal": True},
}
ANN = Principal("ann", "acme", "issuer", human=True)
INSTANCE = Instance(
    id="wf_1",
    definition_id="demo",
    digest="d",
    state="open",
    version=3,
    context={"amount": 5, "secret": "a value of the context"},
    input={"region": "a value of the input"},
    started_at=NOW - 60,
    started_by="ann",
    starter_issuer="issuer",
    evidence={"scan": Tally(2, frozenset({"a", "b"}))},
)
REQUEST = ApprovalRequest("hr_1", "office", "ann", NOW - 1, state="asked", shown=("secret",))


def define(*readers: Json, **more: Json) -> Definition:
    return parse_published_definition(
        "demo", {"title": "A demo", "initialState": "open", "states": STATES, "readers": list(readers), **more}
    )


def summarise(instance: Instance = INSTANCE, *readers: Json) -> RunSummary:
    """The summary as it comes back from the table."""
    return summary_of(summary_text(build_summary(define(*readers), instance, NOW)))


def principal(subject: str = "bob", *names: str, human: bool = False) -> Principal:
    return Principal(subject, "acme", "issuer", frozenset(names), frozenset(names), human=human)


def make_claim(**fields: Any) -> Claim:
    return Claim("token", fields.pop("standing", "waiting"), Job("go", {}, ANN), since=NOW, until=NOW + 9, **fields)


LEAVES: Sequence[JsonObject] = (
    CLERK,
    SIGNER,
    {"kind": "expr", "expr": "$.context.amount == 5"},
    {"kind": "expr", "expr": "$.context.amount == 6"},
    {"kind": "expr", "expr": "$.workflow.input.region == 'a value of the input'"},
    {"kind": "expr", "expr": "$.context.amount = 5"},
    {"kind": "evidence", "requires": ["scan"]},
    {"kind": "evidence", "requires": [{"kind": "scan", "count": 9}]},
    {"kind": "unknown"},
)


def combine(kind: str, guards: Sequence[JsonObject]) -> JsonObject:
    return {"kind": kind, "guards": guards}


def negate(guard: JsonObject) -> JsonObject:
    return {"kind": "not", "guard": guard}


def nest(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    combined = st.builds(combine, st.sampled_from(["all_of", "any_of"]), st.lists(inner, max_size=3))
    return combined | st.builds(negate, inner)


GUARDS = st.recursive(st.sampled_from(LEAVES), nest, max_leaves=6)


@pytest.mark.invariant(138)
@pytest.mark.no_cover
@given(st.lists(GUARDS, max_size=3), st.sets(st.sampled_from(["clerk", "sign"])))
def test_a_list_shows_a_run_exactly_to_the_principals_that_may_read_it(
    readers: list[JsonObject], names: set[str]
) -> None:
    reader = principal("bob", *names)
    assert may_see(summarise(INSTANCE, *readers), reader) == may_read(define(*readers), INSTANCE, reader)


def test_readers_that_are_too_long_hide_a_run_from_every_list() -> None:
    role: JsonObject = {"kind": "role", "role": "c" * LONGEST_READERS}
    reader = principal("rita", str(role["role"]))
    assert may_read(define(role), INSTANCE, reader)
    assert not may_see(summarise(INSTANCE, role), reader)


@pytest.mark.invariant(138)
def test_a_long_call_is_listed_for_its_caller_and_for_principals_that_may_resolve_it() -> None:
    call = build_function_run(FunctionRun("yard::build", idempotent=False))
    instance = replace(
        INSTANCE, definition_id="proxy_default", digest=call.digest, state="ready", input=input_of("yard::build", {})
    )
    summary = build_summary(call.definition, instance, NOW)
    assert (summary.title, summary.capability) == ("yard::build", "yard::build")
    assert may_see(summary, principal("ann"))
    assert may_see(summary, replace(principal("bob"), permissions=frozenset({"workflow.resolve"})))
    assert not may_see(summary, principal("bob"))
    assert not may_see(summary, replace(principal("ann"), issuer="another"))


@pytest.mark.invariant(138)
def test_a_summary_has_no_value_of_context_or_input() -> None:
    asked = replace(INSTANCE, state="asked", request=REQUEST)
    text = summary_text(build_summary(define({"kind": "expr", "expr": "$.context.secret == 'x'"}), asked, NOW))
    assert "a value of" not in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("changes", "waiting"),
    [
        ({}, "agent"),
        ({"state": "closed"}, None),
        ({"cancelled": Cancellation("ann", NOW)}, None),
        ({"state": "closed", "entering": True}, "agent"),
        ({"state": "asked"}, "human"),
        ({"state": "asked", "request": REQUEST}, "human"),
        ({"state": "asked", "request": replace(REQUEST, expires_at=NOW)}, "agent"),
        ({"claim": make_claim()}, "executor"),
        ({"claim": make_claim(awaits="retry")}, "retry"),
        ({"claim": make_claim(awaits="workflow", child="wf_2")}, "workflow"),
        ({"claim": make_claim(awaits="chain")}, "chain"),
        ({"claim": make_claim(awaits="answers")}, "answers"),
        ({"claim": make_claim(standing="running")}, "executor"),
        ({"claim": make_claim(standing="in_doubt")}, "in_doubt"),
    ],
)
def test_a_summary_says_what_a_run_waits_for(changes: Any, waiting: str | None) -> None:
    summary = summarise(replace(INSTANCE, **changes))
    assert summary.waiting == waiting
    assert waiting is None or RunFilter(waiting=summary.waiting).score(summary)


@pytest.mark.invariant(114)
def test_an_earlier_release_lists_a_run_that_waits_for_answers() -> None:
    """It fails at a list with a run whose wait it does not know."""
    summary = summarise(replace(INSTANCE, claim=make_claim(awaits="answers")))
    assert json.loads(summary_text(summary))["waiting"] == "agent"
    assert summary_of(summary_text(summary)).waiting == "answers"


def test_the_values_of_waiting_are_listed_once() -> None:
    assert get_args(WaitingFor.__value__) == WAITING_FOR


def test_a_fault_and_an_end_are_in_the_summary() -> None:
    fault = InstanceFault("CHAIN_FAILED", "It broke.", "go", None, NOW)
    summary = summarise(replace(INSTANCE, fault=fault, cancelled=Cancellation("ann", NOW), parent="wf_0"))
    assert (summary.fault, summary.cancelled, summary.parent) == ("CHAIN_FAILED", True, "wf_0")


def test_a_person_may_decide_by_a_transition_whose_guards_on_the_principal_pass() -> None:
    summary = summarise(replace(INSTANCE, state="asked", request=REQUEST))
    assert [decision.transition for decision in summary.decisions] == ["agree", "refuse"]
    assert may_decide(summary, principal("bob", "clerk", human=True))
    assert may_decide(summary, principal("bob", "sign", human=True))
    assert not may_decide(summary, principal("bob", "clerk"))
    assert not may_decide(summary, principal("bob", human=True))
    assert not may_decide(summarise(), principal("bob", "clerk", human=True))


def test_a_summary_fits_into_a_row_whatever_an_author_writes() -> None:
    """It is in three rows of a step, each of which has 400 KB at most."""
    answer: JsonObject = {"target": "closed", "actor": "human", "decision": "approve", "guards": [CLERK] * 50}
    for names in ("\N{ELEPHANT}" * 200, "x" * 40_000):
        states = {**STATES, "asked": {"transitions": {f"{names}{number}": answer for number in range(30)}}}
        definition = parse_published_definition("demo", {"title": "A", "initialState": "open", "states": states})
        asked = replace(INSTANCE, state="asked", request=REQUEST)
        summary = build_summary(definition, asked, NOW)
        assert len(summary_text(summary).encode()) < 200_000
        assert summary.decisions


def test_a_summary_of_a_later_release_is_read_without_its_new_fields() -> None:
    summary = build_summary(define(CLERK), replace(INSTANCE, state="asked", request=REQUEST), NOW)
    stored: dict[str, Any] = {**json.loads(summary_text(summary)), "later": True}
    stored["decisions"][0]["later"] = True
    assert summary_of(json.dumps(stored)) == summary_of(summary_text(summary))


def test_a_summary_is_read_as_it_was_written() -> None:
    asked = replace(INSTANCE, state="asked", request=REQUEST, started_at=0.0, parent="wf_0")
    for instance in (asked, replace(INSTANCE, version=0)):
        summary = build_summary(define(CLERK), instance, 0.0)
        assert summary_of(summary_text(summary)) == summary


def test_two_issuers_have_different_lists_of_one_subject() -> None:
    assert starter_key("a", "ann") != starter_key("b", "ann")
    assert starter_key("a", "ann") == starter_key("a", "ann")


@pytest.mark.parametrize(
    ("chosen", "score"),
    [
        (RunFilter(), 1.0),
        (RunFilter(state="open", definition="demo", waiting="agent", fault=False), 1.0),
        (RunFilter(state="closed"), 0.0),
        (RunFilter(definition="demonstration"), 0.0),
        (RunFilter(waiting="human"), 0.0),
        (RunFilter(fault=True), 0.0),
        (RunFilter(words=("demo", "missing")), 0.5),
        (RunFilter(words=("open",)), 1.0),
        (RunFilter(words=("wf_1",)), 1.0),
        (RunFilter(words=("missing",)), 0.0),
    ],
)
def test_a_filter_chooses_runs_by_fields_and_words(chosen: RunFilter, score: float) -> None:
    assert chosen.score(summarise()) == score


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", ()),
        ("the deploy of billing", ("deploy", "billing")),
        ("wf_2c", ("wf_2c",)),
        ("State: with_finance!", ("state", "with_finance")),
        ("github.list_issues, yard::build.", ("github.list_issues", "yard::build")),
    ],
)
def test_a_query_is_split_into_words_that_keep_ids_whole(query: str, words: tuple[str, ...]) -> None:
    assert split_query(query) == words


def test_a_run_of_a_capability_is_chosen_by_the_capability() -> None:
    call = build_function_run(FunctionRun("yard::build", idempotent=False))
    instance = replace(INSTANCE, definition_id="proxy_default", state="ready", input=input_of("yard::build", {}))
    summary = build_summary(call.definition, instance, NOW)
    assert RunFilter(definition="yard::build").score(summary)
    assert RunFilter(definition="proxy_default").score(summary)
    assert not RunFilter(definition="yard::other").score(summary)
