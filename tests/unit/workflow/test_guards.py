"""Who passes a guard, and that nobody passes one that is not understood."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.model import Json, Principal
from signpost.workflow.guards import (
    KINDS,
    MAX_GUARD_DEPTH,
    GuardInput,
    NotUnderstood,
    Tally,
    guard_of,
    guards_of,
    passes,
)
from signpost.workflow.paths import ValueSources

GUARD_INPUT = GuardInput(
    ValueSources(context={"n": 5}, arguments={}, input={}),
    Principal("carol", "acme", "test", roles=frozenset({"editor"}), permissions=frozenset({"write"})),
    {"scan": Tally(3, frozenset({"a", "b"})), "sign": Tally(1, frozenset({"a"}))},
)
PASSING_GUARD = {"kind": "expr", "expr": "$.context.n == 5"}
FAILING_GUARD = {"kind": "expr", "expr": "$.context.n == 6"}
UNKNOWN = {"kind": "astrology"}
MISTYPED = {"kind": "expr", "expr": "$.context.n = 5"}


def evidence(*requires: Any, **more: Any) -> Json:
    return {"kind": "evidence", "requires": list(requires), **more}


def combine_guards(kind: str, *guards: Json) -> Json:
    return {"kind": kind, "guards": list(guards)}


@pytest.mark.parametrize(
    "guard",
    [
        {"kind": "permission", "permission": "write"},
        {"kind": "role", "role": "editor"},
        PASSING_GUARD,
        {"kind": "jsonpath", "expr": "$.context.n == 5"},
        evidence("scan"),
        evidence("scan", {"kind": "sign"}),
        evidence({"kind": "scan", "count": 3}),
        evidence({"kind": "scan", "count": 2, "distinct": True}),
        combine_guards("all_of"),
        combine_guards("all_of", PASSING_GUARD, PASSING_GUARD),
        combine_guards("any_of", FAILING_GUARD, PASSING_GUARD),
        combine_guards("anyOf", UNKNOWN, PASSING_GUARD),
        combine_guards("allOf", {"kind": "not", "guard": FAILING_GUARD}),
        {"kind": "not", "guard": combine_guards("any_of")},
    ],
)
def test_a_guard_passes(guard: Json) -> None:
    assert passes(guard_of(guard), GUARD_INPUT)


@pytest.mark.parametrize(
    "guard",
    [
        {"kind": "permission", "permission": "read"},
        {"kind": "role", "role": "admin"},
        FAILING_GUARD,
        evidence("review"),
        evidence({"kind": "scan", "count": 4}),
        evidence({"kind": "scan", "count": 3, "distinct": True}),
        evidence({"kind": "scan", "count": 3}, distinct=True),
        combine_guards("any_of"),
        combine_guards("all_of", PASSING_GUARD, FAILING_GUARD),
        {"kind": "not", "guard": PASSING_GUARD},
    ],
)
def test_a_guard_does_not_pass(guard: Json) -> None:
    assert not passes(guard_of(guard), GUARD_INPUT)


@pytest.mark.parametrize(
    "guard",
    [
        None,
        "admin",
        {},
        UNKNOWN,
        MISTYPED,
        {"kind": "permission"},
        {"kind": "permission", "permission": 5},
        {"kind": "expr", "expr": None},
        evidence(),
        evidence({"count": 2}),
        evidence({"kind": "scan", "count": 0}),
        evidence({"kind": "scan", "count": True}),
        {"kind": "evidence", "requires": "scan"},
        {"kind": "all_of"},
        {"kind": "not"},
    ],
)
def test_a_guard_that_is_not_understood_and_its_negation_never_pass(guard: Json) -> None:
    assert not passes(guard_of(guard), GUARD_INPUT)
    assert not passes(guard_of({"kind": "not", "guard": guard}), GUARD_INPUT)
    assert not passes(guard_of(combine_guards("all_of", guard)), GUARD_INPUT)
    assert not passes(guard_of({"kind": "not", "guard": combine_guards("any_of", FAILING_GUARD, guard)}), GUARD_INPUT)


def test_guards_that_are_no_list_never_pass() -> None:
    (guard,) = guards_of({"kind": "role", "role": "editor"})
    assert isinstance(guard, NotUnderstood)
    assert guards_of(None) == ()


def test_guards_nested_too_deeply_never_pass() -> None:
    guard: Any = PASSING_GUARD
    for _ in range(MAX_GUARD_DEPTH + 1):
        guard = combine_guards("all_of", guard)
    assert not passes(guard_of(guard), GUARD_INPUT)


def _guard_documents(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members: dict[str, st.SearchStrategy[Any]] = {
        "guards": st.lists(inner, max_size=3),
        "guard": inner,
        "requires": st.lists(inner, max_size=2),
    }
    kinds: dict[str, st.SearchStrategy[Any]] = {"kind": st.sampled_from(KINDS)}
    return st.fixed_dictionaries(kinds, optional=members)


_LEAVES: st.SearchStrategy[Any] = (
    st.none() | st.text(max_size=3) | st.sampled_from([PASSING_GUARD, FAILING_GUARD, UNKNOWN, MISTYPED])
)
_GUARDS = st.recursive(_LEAVES, _guard_documents, max_leaves=6)


@given(_GUARDS)
def test_any_document_is_parsed_and_no_guard_passes_with_its_negation(written: Json) -> None:
    opposite = guard_of({"kind": "not", "guard": written})
    assert not (passes(guard_of(written), GUARD_INPUT) and passes(opposite, GUARD_INPUT))
