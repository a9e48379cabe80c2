"""The checks at publication evaluate guards by the rules of the engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.model import Json, Principal
from signpost.workflow.authoring.lint.guard_solver import evaluate_guards
from signpost.workflow.expressions import parse
from signpost.workflow.guards import AllOf, AnyOf, Expression, Guard, GuardInput, Not, passes
from signpost.workflow.paths import Path, ValueSources

_EXPRESSIONS = [
    f"$.context.n {operator} {constant}"
    for operator in ("==", "!=", "<", ">=", "starts_with", "contains")
    for constant in ("5", "'a'", "true", "null")
]
_GUARDS: st.SearchStrategy[Guard] = st.recursive(
    st.sampled_from(_EXPRESSIONS).map(lambda text: Expression(text, parse(text))),
    lambda guards: st.one_of(
        guards.map(Not), st.lists(guards, max_size=3).map(AllOf), st.lists(guards, max_size=3).map(AnyOf)
    ),
    max_leaves=6,
)
_VALUES: st.SearchStrategy[Json] = st.sampled_from([5, 4.5, 6, "a", "ab", "", True, False, None, [5], {"n": 5}])


@pytest.mark.invariant(78)
@given(_GUARDS, _VALUES)
def test_a_guard_passes_in_the_checks_exactly_where_it_passes_in_the_engine(guard: Guard, value: Json) -> None:
    guard_input = GuardInput(ValueSources({"n": value}, {}, {}), Principal("ada", "acme", "test"))
    assert evaluate_guards([guard], {Path("context", ("n",)): value}) is passes(guard, guard_input)
