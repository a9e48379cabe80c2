"""The player of cases notices what is wrong: each expectation is held against an answer that misses it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.acceptance import decisions
from tests.acceptance.cases import DEFAULT, Case, Step, load
from tests.acceptance.deployed import Deployment
from tests.acceptance.expectations import EXPECTATIONS, TEXT_RULES, Judge, Seen
from tests.acceptance.player import play
from tests.acceptance.report import lines
from tests.acceptance.values import canonical, includes

ITEMS = {"a": [{"x": 1, "y": "one"}, {"x": 2, "y": "two"}]}
NOWHERE = cast("Deployment", None)
"""For cases that are played in process."""
TEXT = Seen("# one\ntwo\n")

# By name: what is expected, an answer that has it, and one that misses it.
PAIRS: list[tuple[str, Any, Seen, Seen]] = [
    ("ok", True, Seen(None), Seen(error="no")),
    ("ok", False, Seen(error="no"), Seen(None)),
    ("error_contains", ["NO", "way"], Seen(error="No way."), Seen(error="no")),
    ("equals", {"a": True}, Seen({"a": True}), Seen({"a": 1})),
    ("subset", {"a": [{"x": 1}, {}]}, Seen(ITEMS), Seen({"a": [{"x": 1}]})),
    ("keys", {"/a/*": ["y", "x"]}, Seen(ITEMS), Seen({"a": [{"x": 1}]})),
    ("values", {"/a/*/x": [1, 2]}, Seen(ITEMS), Seen({"a": [{"x": 2}, {"x": 1}]})),
    ("matches", {"/a/*/y": "^[a-z]+$"}, Seen(ITEMS), Seen({"a": [{"y": "1"}]})),
    ("has_item", {"/a": {"x": 2}}, Seen(ITEMS), Seen({"a": [{"x": 1}]})),
    ("lacks_item", {"/a": {"x": 3}}, Seen(ITEMS), Seen({"a": [{"x": 3, "y": 1}]})),
    ("count_items", {"/a": {"match": {}, "n": 2}}, Seen(ITEMS), Seen({"a": [{}]})),
    ("any_of_item", {"/a": {"x": 1, "one_of": [{"y": "1"}, {"y": "one"}]}}, Seen(ITEMS), Seen({"a": [{"y": "one"}]})),
    ("item_key_regex", {"/a": [["y", "^o"], ["y", "^t"]]}, Seen(ITEMS), Seen({"a": [{"y": "one"}]})),
    ("each_has", {"/a": ["x"]}, Seen(ITEMS), Seen({"a": [{"y": "one"}]})),
    ("events", [], Seen(), Seen(events=[{"type": "t"}])),
    ("calls", [{"f": 1}], Seen(calls=[{"f": 1}]), Seen(calls=[{"f": 1}, {"f": 1}])),
    ("http_status", 202, Seen(status=202), Seen(status=200)),
    ("rpc_equals", {"a": 1}, Seen({"a": 1}), Seen({"a": 1, "b": 2})),
    ("rpc_has", {"a": 1}, Seen({"a": 1, "b": 2}), Seen({"b": 2})),
    ("rpc_error", [-1, -2], Seen(body={"error": {"code": -2}}), Seen({}, body={"result": {}})),
    ("rpc_refused", ["yard"], Seen(body={"error": {"message": "Yard"}}), Seen(body={"result": {"x": "yard"}})),
    ("rpc_none", True, Seen(body=None), Seen(body={"result": {}})),
    ("rpc_id", 0, Seen(body={"id": 0}), Seen(body={"id": None})),
    ("rpc_has_item", {"/a": {"x": 2}}, Seen(ITEMS), Seen({"a": []})),
    ("rpc_lacks_item", {"/a": {"x": 3}}, Seen(ITEMS), Seen({"a": [{"x": 3}]})),
    ("rpc_values", {"/a/*/x": [2, 1]}, Seen(ITEMS), Seen({"a": [{"x": 1}]})),
    ("rpc_min_items", {"/a": 2}, Seen(ITEMS), Seen({"a": [1]})),
    ("rpc_text", {"/a/0/y": {"contains": ["ne"]}}, Seen(ITEMS), Seen({"a": [{"y": "two"}]})),
    ("rpc_absent", ["/b"], Seen(ITEMS), Seen({"b": None})),
    ("text", {"": {"equals": "# one\ntwo\n"}}, TEXT, Seen("# one")),
    ("text", {"": {"contains": ["one", "two"]}}, TEXT, Seen("one")),
    ("text", {"": {"not_contains": ["three"]}}, TEXT, Seen("three")),
    ("text", {"": {"starts": "# "}}, TEXT, Seen(" # ")),
    ("text", {"": {"line_starts": ["tw"]}}, TEXT, Seen("a two")),
    ("text", {"": {"line_regex": ["^t.o$"]}}, TEXT, Seen("two!")),
    ("text", {"": {"ordered": ["one", "two"]}}, TEXT, Seen("two one")),
    ("text", {"": {"count": {"o": 2}}}, TEXT, Seen("o")),
    ("text", {"": {"json": {"a": 1}}}, Seen('{"a": 1}'), Seen("{")),
]


@pytest.mark.parametrize(("name", "wanted", "has", "misses"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_every_expectation_accepts_and_rejects_an_answer(name: str, wanted: Any, has: Seen, misses: Seen) -> None:
    assert list(Judge().problems({name: wanted}, has)) == []
    (problem,) = Judge().problems({name: wanted}, misses)
    assert problem.startswith(name)


def test_every_expectation_and_text_rule_has_a_pair() -> None:
    assert {name for name, *_ in PAIRS} == set(EXPECTATIONS)
    assert {rule for name, wanted, *_ in PAIRS if name == "text" for rule in wanted[""]} == set(TEXT_RULES)


def test_a_missing_path_and_an_unknown_expectation_are_problems() -> None:
    assert re.search("nothing is at /a/0", "".join(Judge().problems({"values": {"/a/0": 1}}, Seen({"a": []}))))
    assert re.search("nothing is at /a/\\*", "".join(Judge().problems({"values": {"/a/*": 1}}, Seen({"a": 1}))))
    assert list(Judge().problems({"rpc_txt": {}}, Seen())) == ["this runner does not know the expectation rpc_txt"]


@pytest.mark.parametrize("pair", [("/t", "first"), ("first", "/t")], ids=["path first", "name first"])
def test_a_saved_value_is_compared_with_that_of_a_later_step(pair: tuple[str, str]) -> None:
    judge, pairs = Judge(), dict([pair])
    assert list(judge.problems({"save": pairs}, Seen({"t": 1}))) == []
    assert list(judge.problems({"differs": pairs}, Seen({"t": 2}))) == []
    assert len(list(judge.problems({"differs": pairs}, Seen({"t": 1})))) == 1


def test_values_are_compared_as_json() -> None:
    assert canonical((0, 5.0, True)) == "[0, 5, true]"
    assert not includes("text", {})
    assert includes({"a": {"b": 1, "c": 2}}, {"a": {"b": 1.0}})


def test_texts_are_expanded_before_a_case_is_played() -> None:
    assert not [case.id for case in load(DEFAULT) if "$repeat" in repr(case.steps) or "$concat" in repr(case.steps)]


def test_a_case_that_contradicts_a_decision_is_skipped_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    good, other = (case for case in load(DEFAULT) if case.id in ("TTL-01", "TTL-02"))
    contradiction = decisions.Contradiction("decision 7", "the index is sorted otherwise.")
    monkeypatch.setitem(decisions.CONTRADICTED, other.id, contradiction)
    bad = replace(good, id="TTL-x", steps=[replace(good.steps[0], expect={"equals": "something else"})])
    outcomes = play([good, other, bad], NOWHERE, lambda _: None)
    skipped, fell, summed = lines(outcomes)
    assert skipped == f"skipped TTL-02 {other.title}: decision 7: the index is sorted otherwise."
    assert fell.startswith("FAILED TTL-x ")
    assert summed == "1 passed, 1 failed, 1 skipped"


def problems_in_process(given: Sequence[Any], *steps: Step) -> Sequence[str]:
    """What is wrong with a case whose storage is down."""
    case = Case("x", "", [*given, {"storage": "down"}], steps)
    (outcome,) = play([case], NOWHERE, lambda _: None)
    return outcome.problems


def test_a_case_with_broken_storage_can_call_functions_and_mcp() -> None:
    stub = {"stub": "yard::echo", "echo": True, "metadata": {"mcp": {"expose": True}}}
    hidden = {"stub": "yard::shut", "returns": 1}
    config = {"config": {"require_expose": True, "hidden_prefixes": ["a::", "b::"]}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "yard__echo", "arguments": {"a": 1}}}
    called = [{"function_id": "yard::echo", "payload": {"a": 1}}]
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    read = {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}
    assert (
        problems_in_process(
            [stub, hidden, config],
            Step("mcp", call, {"rpc_has": {"isError": False}, "calls": called}),
            Step("mcp", listed, {"rpc_values": {"/tools/*/name": ["yard__echo", "skill__fetch"]}, "calls": []}),
            Step("mcp", read, {"rpc_error": [-32603], "http_status": 503}),
        )
        == []
    )


def test_an_unknown_given_entry_is_a_problem() -> None:
    assert problems_in_process([{"clock": "stopped"}], Step("skills::list", {}, {})) == [
        "this runner does not know what is given by clock"
    ]
