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

HERE = GuardInput(
    ValueSources(context={"n": 5}, arguments={}, input={}),
    Principal("carol", "acme", "test", roles=frozenset({"editor"}), permissions=frozenset({"write"})),
    {"scan": Tally(3, frozenset({"a", "b"})), "sign": Tally(1, frozenset({"a"}))},
)
YES = {"kind": "expr", "expr": "$.context.n == 5"}
NO = {"kind": "expr", "expr": "$.context.n == 6"}
UNKNOWN = {"kind": "astrology"}
MISTYPED = {"kind": "expr", "expr": "$.context.n = 5"}


def evidence(*requires: Any, **more: Any) -> Json:
    return {"kind": "evidence", "requires": list(requires), **more}


def combined(kind: str, *guards: Json) -> Json:
    return {"kind": kind, "guards": list(guards)}


@pytest.mark.parametrize(
    "guard",
    [
        {"kind": "permission", "permission": "write"},
        {"kind": "role", "role": "editor"},
        YES,
        {"kind": "jsonpath", "expr": "$.context.n == 5"},
        evidence("scan"),
        evidence("scan", {"kind": "sign"}),
        evidence({"kind": "scan", "count": 3}),
        evidence({"kind": "scan", "count": 2, "distinct": True}),
        combined("all_of"),
        combined("all_of", YES, YES),
        combined("any_of", NO, YES),
        combined("anyOf", UNKNOWN, YES),
        combined("allOf", {"kind": "not", "guard": NO}),
        {"kind": "not", "guard": combined("any_of")},
    ],
)
def test_it_passes(guard: Json) -> None:
    assert passes(guard_of(guard), HERE)


@pytest.mark.parametrize(
    "guard",
    [
        {"kind": "permission", "permission": "read"},
        {"kind": "role", "role": "admin"},
        NO,
        evidence("review"),
        evidence({"kind": "scan", "count": 4}),
        evidence({"kind": "scan", "count": 3, "distinct": True}),
        evidence({"kind": "scan", "count": 3}, distinct=True),
        combined("any_of"),
        combined("all_of", YES, NO),
        {"kind": "not", "guard": YES},
    ],
)
def test_it_does_not_pass(guard: Json) -> None:
    assert not passes(guard_of(guard), HERE)


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
def test_nobody_passes_what_is_not_understood_nor_its_opposite(guard: Json) -> None:
    assert not passes(guard_of(guard), HERE)
    assert not passes(guard_of({"kind": "not", "guard": guard}), HERE)
    assert not passes(guard_of(combined("all_of", guard)), HERE)
    assert not passes(guard_of({"kind": "not", "guard": combined("any_of", NO, guard)}), HERE)


def test_guards_that_are_no_list_let_nobody_in() -> None:
    (guard,) = guards_of({"kind": "role", "role": "editor"})
    assert isinstance(guard, NotUnderstood)
    assert guards_of(None) == ()


def test_guards_within_guards_end_somewhere() -> None:
    guard: Any = YES
    for _ in range(MAX_GUARD_DEPTH + 1):
        guard = combined("all_of", guard)
    assert not passes(guard_of(guard), HERE)


def _written(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members: dict[str, st.SearchStrategy[Any]] = {
        "guards": st.lists(inner, max_size=3),
        "guard": inner,
        "requires": st.lists(inner, max_size=2),
    }
    kinds: dict[str, st.SearchStrategy[Any]] = {"kind": st.sampled_from(KINDS)}
    return st.fixed_dictionaries(kinds, optional=members)


_LEAVES: st.SearchStrategy[Any] = st.none() | st.text(max_size=3) | st.sampled_from([YES, NO, UNKNOWN, MISTYPED])
_WRITTEN = st.recursive(_LEAVES, _written, max_leaves=6)


@given(_WRITTEN)
def test_nothing_that_is_written_breaks_the_reader_and_no_guard_passes_with_its_opposite(written: Json) -> None:
    opposite = guard_of({"kind": "not", "guard": written})
    assert not (passes(guard_of(written), HERE) and passes(opposite, HERE))
